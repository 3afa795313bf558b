"""Builds a sandbox from bwrap(1)'s options, with Landlock around the command, and becomes it. Standard library only.

`python launch.py [--layer FOLDER] OPTIONS… -- COMMAND…`. It knows the options that Remit gives, and refuses any other.
The server does not import this file: it is a program of its own, which a user without any privilege can run (BOX-12).

Three processes: the first waits and reports, the second is the first of a pid namespace, and with its death all others
die; the third is the command, alone under Landlock and seccomp, so that it reaches neither of the two.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

_NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_MNT_DETACH = 2
# One number on every architecture, as of all calls since Linux 5.0.
_MOUNT_SETATTR, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 442, 444, 445, 446
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "armv7l": 218, "ppc64le": 203, "s390x": 217}
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 24, 38
_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_BASE, _OLD, _NEW = "/tmp", "/old", "/new"  # noqa: S108  mounted over, in a namespace of our own

# landlock(7): rights over files, by the version of the kernel's interface that knows them first.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ALL_SINCE_1 = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_SINCE = ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_SCOPE_ABSTRACT_AND_SIGNALS, _SCOPED_SINCE = 3, 6

# How many words an option takes.
_ARITY = {
    "--uid": 1,
    "--gid": 1,
    "--hostname": 1,
    "--chdir": 1,
    "--setenv": 2,
    "--perms": 1,
    "--size": 1,
    "--layer": 1,
    "--seccomp": 1,
    "--json-status-fd": 1,
    "--block-fd": 1,
    # Done always: everything is unshared, no capability is kept, the environment is what is set.
    "--unshare-all": 0,
    "--unshare-user": 0,
    "--disable-userns": 0,
    "--die-with-parent": 0,
    "--new-session": 0,
    "--clearenv": 0,
    "--cap-drop": 1,
    "--unsetenv": 1,
    # Steps that build what is seen, in their order.
    "--ro-bind": 2,
    "--ro-bind-try": 2,
    "--bind": 2,
    "--symlink": 2,
    "--file": 2,
    "--ro-bind-data": 2,
    "--dir": 1,
    "--tmpfs": 1,
    "--proc": 1,
    "--dev": 1,
    "--remount-ro": 1,
}


class LaunchFailed(Exception):
    """The sandbox cannot be built; the message says why."""


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One option that builds: its words, of which the last is the place, and the mode and size that were set for it."""

    name: str
    words: tuple[str, ...]
    mode: int | None = None
    size: str | None = None

    @property
    def place(self) -> str:
        """Where it is seen inside."""
        return self.words[-1]


@dataclass(slots=True)
class LaunchPlan:
    """The options as parsed: `steps` in their order."""

    command: list[str]
    steps: list[BuildStep] = field(default_factory=list[BuildStep])
    environment: dict[str, str] = field(default_factory=dict[str, str])
    single: dict[str, str] = field(default_factory=dict[str, str])


def parse(words: list[str]) -> LaunchPlan:
    """Returns what is asked for. Raises LaunchFailed for an option that this program does not know."""
    end = words.index("--")
    options, plan = words[:end], LaunchPlan(words[end + 1 :])
    mode: int | None = None
    size: str | None = None
    while options:
        name = options.pop(0)
        if name not in _ARITY:
            raise LaunchFailed(f"there is no option `{name}`")
        given = tuple(options.pop(0) for _ in range(_ARITY[name]))
        if name == "--perms":
            mode = int(given[0], 8)
        elif name == "--size":
            size = given[0]
        elif name == "--setenv":
            plan.environment[given[0]] = given[1]
        elif name in _STEPS:
            plan.steps.append(BuildStep(name, given, mode, size))
            mode = size = None
        elif given:
            plan.single[name] = given[0]
    return plan


class RootBuilder:
    """Mounts what the command will see below `/new`, from what is below `/old`. `writable` is what it may write to."""

    def __init__(self) -> None:
        self.writable: dict[str, None] = {}

    def carry_out(self, step: BuildStep) -> None:
        """Raises OSError and LaunchFailed."""
        _STEPS[step.name](self, step)

    def ro_bind(self, step: BuildStep) -> None:
        """Shows a file or folder, with all that is mounted below, to be read."""
        self._bind(step, _ATTR_RDONLY)

    def ro_bind_try(self, step: BuildStep) -> None:
        """Shows it where it is there."""
        if os.path.exists(_OLD + step.words[0]):  # noqa: PTH110
            self.ro_bind(step)

    def bind(self, step: BuildStep) -> None:
        """Shows a folder, to be written to."""
        self._bind(step, 0)
        self.writable[step.place] = None

    def symlink(self, step: BuildStep) -> None:
        """Makes a link."""
        _make_parents(step.place)
        os.symlink(step.words[0], _NEW + step.place)  # noqa: PTH211

    def folder(self, step: BuildStep) -> None:
        """Makes a folder, where none is there."""
        self._make_folder(step.place, step.mode)

    def tmpfs(self, step: BuildStep) -> None:
        """Mounts an empty folder, to be written to."""
        self._make_folder(step.place)
        options = f"mode={0o755 if step.mode is None else step.mode:o}" + (f",size={step.size}" if step.size else "")
        _mount("tmpfs", _NEW + step.place, "tmpfs", _MS_NOSUID | _MS_NODEV, options)
        self.writable[step.place] = None

    def file(self, step: BuildStep) -> None:
        """Makes a file of what a descriptor gives, which is closed then; or writes it to one that is there."""
        _make_parents(step.place)
        with os.fdopen(int(step.words[0]), "rb") as source:
            data = source.read()
        new = _NEW + step.place
        there = os.path.lexists(new)
        target = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if not there:
                os.fchmod(target, 0o600 if step.mode is None else step.mode)
            while data:
                data = data[os.write(target, data) :]
        finally:
            os.close(target)

    def proc(self, step: BuildStep) -> None:
        """Mounts what tells of the processes of this namespace alone."""
        self._make_folder(step.place)
        _mount("proc", _NEW + step.place, "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)

    def dev(self, step: BuildStep) -> None:
        """Makes a folder of the devices that lead nowhere, and of terminals of its own."""
        self.tmpfs(step)
        for name in ("null", "zero", "full", "random", "urandom", "tty"):
            self._make_file(f"{step.place}/{name}")
            _mount(f"{_OLD}/dev/{name}", f"{_NEW}{step.place}/{name}", None, _MS_BIND)
        for target, name in (("fd", "fd"), ("fd/0", "stdin"), ("fd/1", "stdout"), ("fd/2", "stderr")):
            os.symlink(f"/proc/self/{target}", f"{_NEW}{step.place}/{name}")  # noqa: PTH211
        self._make_folder(f"{step.place}/shm")
        self._make_folder(f"{step.place}/pts")
        own = "newinstance,ptmxmode=0666,mode=620"
        _mount("devpts", f"{_NEW}{step.place}/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, own)
        os.symlink("pts/ptmx", f"{_NEW}{step.place}/ptmx")  # noqa: PTH211

    def remount_ro(self, step: BuildStep) -> None:
        """Has nothing be written there any more; not what else is mounted below."""
        _set_attributes(_NEW + step.place, _ATTR_RDONLY, recursive=False)
        self.writable.pop(step.place, None)

    def _bind(self, step: BuildStep, attributes: int) -> None:
        old, new = _OLD + step.words[0], _NEW + step.place
        if os.path.isdir(old):  # noqa: PTH112
            self._make_folder(step.place)
        else:
            self._make_file(step.place)
        _mount(old, new, None, _MS_BIND | _MS_REC)
        _set_attributes(new, attributes | _ATTR_NOSUID | _ATTR_NODEV, recursive=True)

    def _make_folder(self, place: str, mode: int | None = None) -> None:
        _make_parents(place)
        with contextlib.suppress(FileExistsError):
            os.mkdir(_NEW + place)  # noqa: PTH102
            os.chmod(_NEW + place, 0o755 if mode is None else mode)  # noqa: PTH101

    def _make_file(self, place: str) -> None:
        _make_parents(place)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(_NEW + place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))


_STEPS: dict[str, Callable[[RootBuilder, BuildStep], None]] = {
    "--ro-bind": RootBuilder.ro_bind,
    "--ro-bind-try": RootBuilder.ro_bind_try,
    "--bind": RootBuilder.bind,
    "--symlink": RootBuilder.symlink,
    "--file": RootBuilder.file,
    "--ro-bind-data": RootBuilder.file,
    "--dir": RootBuilder.folder,
    "--tmpfs": RootBuilder.tmpfs,
    "--proc": RootBuilder.proc,
    "--dev": RootBuilder.dev,
    "--remount-ro": RootBuilder.remount_ro,
}


def main(words: list[str]) -> int:
    """Runs the command to its end, and returns its exit code. Says why on its error output where it did not begin."""
    try:
        plan = parse(words)
        _die_with(os.getppid())
        _enter_namespaces(plan)
        if "--layer" in plan.single:
            _mount_layer(plan.single["--layer"])
        return _attend(plan)
    except (LaunchFailed, OSError) as error:
        sys.stderr.write(f"bwrap: {error}\n")
        return 1


def _attend(plan: LaunchPlan) -> int:
    """Starts the first process of the namespace, reports of it, and of the command's end."""
    status = int(plan.single["--json-status-fd"])
    os.set_inheritable(status, False)
    alive, ours = os.pipe()
    failures, theirs = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(ours)
        os.close(failures)
        _be_first(plan, alive, theirs)
    os.close(theirs)
    os.close(alive)
    os.write(status, json.dumps({"child-pid": first}).encode() + b"\n")
    for descriptor in _given(plan):
        os.close(descriptor)
    with os.fdopen(failures, "rb") as reading:
        said = reading.read()
    _, ended = os.waitpid(first, 0)
    if said:
        sys.stderr.write(said.decode(errors="replace"))
        return 1
    code = os.waitstatus_to_exitcode(ended)
    code = 128 - code if code < 0 else code
    os.write(status, json.dumps({"exit-code": code}).encode() + b"\n")
    return code


def _given(plan: LaunchPlan) -> Iterator[int]:
    """Yields the descriptors that only the processes inside need."""
    yield int(plan.single["--seccomp"])
    yield int(plan.single["--block-fd"])
    yield from (int(step.words[0]) for step in plan.steps if step.name in {"--file", "--ro-bind-data"})


def _be_first(plan: LaunchPlan, alive: int, failures: int) -> NoReturn:
    """Builds what the command sees, waits until it may begin, starts it, and ends with it."""
    code = 1
    try:
        _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if select.select([alive], [], [], 0)[0]:
            raise LaunchFailed("who started it is dead")
        os.close(int(plan.single["--json-status-fd"]))
        writable = _build(plan)
        _drop_privileges()
        hold = int(plan.single["--block-fd"])
        if not os.read(hold, 16):
            raise LaunchFailed("it was never let go")
        os.close(hold)
        command = os.fork()
        if command == 0:
            _become(plan, writable, failures)
        os.close(failures)
        os.close(int(plan.single["--seccomp"]))
        code = _reap(command)
    except (LaunchFailed, OSError) as error:
        os.write(failures, f"bwrap: {error}\n".encode())
    finally:
        os._exit(code)


def _reap(command: int) -> int:
    """Returns the exit code of the command, when it has ended; and takes up whoever lost its parent meanwhile."""
    while True:
        pid, ended = os.wait()
        if pid == command:
            code = os.waitstatus_to_exitcode(ended)
            return 128 - code if code < 0 else code


def _become(plan: LaunchPlan, writable: list[str], failures: int) -> NoReturn:
    """Puts this process under Landlock and seccomp, and becomes the command."""
    program = plan.command[0]
    try:
        os.setsid()
        os.chdir(plan.single.get("--chdir", "/"))
        with os.fdopen(int(plan.single["--seccomp"]), "rb") as source:
            rules = source.read()
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and so by what it becomes
            signal.signal(ignored, signal.SIG_DFL)
        restrict_files(writable)
        _filter_calls(rules)
        try:
            os.execvpe(program, plan.command, plan.environment)  # noqa: S606  the sandbox is around us
        except OSError as error:
            raise LaunchFailed(f"execvp {program}: {error.strerror}") from None
    except (LaunchFailed, OSError) as error:
        os.write(failures, f"bwrap: {error}\n".encode())
    finally:
        os._exit(1)


def _enter_namespaces(plan: LaunchPlan) -> None:
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _NEW_NAMESPACES)
    except OSError as error:
        raise LaunchFailed(f"no new namespace: {error.strerror}") from None
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{plan.single['--uid']} {user} 1")
    _write("/proc/self/gid_map", f"{plan.single['--gid']} {group} 1")
    if "--hostname" in plan.single:
        socket.sethostname(plan.single["--hostname"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def _mount_layer(folder: str) -> None:
    """Lays the layer over the workspace, and its empty layers over what stands for folders of the host."""
    parts = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work,userxattr"
    _mount("overlay", f"{folder}/merged", "overlay", 0, parts)
    shown = f"{folder}/shown"
    for name in sorted(os.listdir(shown)) if os.path.isdir(shown) else ():  # noqa: PTH112, PTH208
        lower = f"lowerdir={shown}/{name}/from:{folder}/empty"
        _mount("overlay", f"{shown}/{name}/at", "overlay", 0, lower)


def _build(plan: LaunchPlan) -> list[str]:
    """Makes a new root of what was asked for, and leaves the old one; returns what can be written to."""
    with contextlib.suppress(OSError):  # where it is not ours to set, the filter of calls refuses them all the same
        _write("/proc/sys/user/max_user_namespaces", "0")
    _mount("tmpfs", _BASE, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    os.mkdir(_BASE + _OLD)  # noqa: PTH102
    os.mkdir(_BASE + _NEW)  # noqa: PTH102
    os.chdir(_BASE)
    _pivot(_BASE, _BASE + _OLD)
    _mount("tmpfs", _NEW, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    os.umask(0)
    builder = RootBuilder()
    builder.writable["/"] = None
    for step in plan.steps:
        builder.carry_out(step)
    os.umask(0o022)
    _call("umount2", _OLD.encode(), _MNT_DETACH)
    # A second time: what lay around the new root is gone then, too.
    os.chdir(_NEW)
    _pivot(".", ".")
    _call("umount2", b".", _MNT_DETACH)
    os.chdir("/")
    return list(builder.writable)


def _pivot(new: str, old: str) -> None:
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise LaunchFailed(f"`{os.uname().machine}` is not known here")
    _call("syscall", ctypes.c_long(number), new.encode(), old.encode())
    if old != ".":
        os.chdir("/")


def _drop_privileges() -> None:
    for capability in range(64):
        if _libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    _call("prctl", _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    head = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _call("capset", ctypes.create_string_buffer(head), ctypes.create_string_buffer(bytes(24)))
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def restrict_files(writable: list[str]) -> None:
    """Lets this process and all that it starts read what there is, and write only there; for good (landlock(7)).

    Signals and abstract sockets stay among them, where the kernel has that. Raises OSError and LaunchFailed.
    """
    version = _libc().syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        raise LaunchFailed("the kernel has no Landlock")
    every = _ALL_SINCE_1 | sum(right for since, right in _SINCE if version >= since)
    scoped = _SCOPE_ABSTRACT_AND_SIGNALS if version >= _SCOPED_SINCE else 0
    rules = struct.pack("QQQ", every, 0, scoped)[: 24 if version >= _SCOPED_SINCE else 16 if version >= 4 else 8]
    number = ctypes.c_long(_LANDLOCK_CREATE)
    ruleset = _call("syscall", number, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    try:
        _allow(ruleset, "/", _READING)
        _allow(ruleset, "/dev", every & _OF_FILES & ~_EXECUTE)
        for place in writable:
            _allow(ruleset, place, every)
        _call("syscall", ctypes.c_long(_LANDLOCK_RESTRICT), ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: str, rights: int) -> None:
    fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, fd)
        number = ctypes.c_long(_LANDLOCK_ADD)
        _call("syscall", number, ctypes.c_int(ruleset), ctypes.c_uint(1), rule, ctypes.c_uint(0))
    finally:
        os.close(fd)


def _filter_calls(rules: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_void_p))

    held = ctypes.create_string_buffer(rules, len(rules))
    program = Program(len(rules) // 8, ctypes.addressof(held))
    _call("prctl", _PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0)


def _die_with(parent: int) -> None:
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise LaunchFailed("who started it is dead")


def _make_parents(place: str) -> None:
    os.makedirs(os.path.dirname(_NEW + place), 0o755, exist_ok=True)  # noqa: PTH103, PTH120


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = (source and source.encode(), target.encode(), kind and kind.encode())
    try:
        _call("mount", *words, ctypes.c_ulong(flags), options and options.encode())
    except OSError as error:
        raise LaunchFailed(f"cannot mount `{target.removeprefix(_NEW)}`: {error.strerror}") from None


def _set_attributes(target: str, attributes: int, *, recursive: bool) -> None:
    wanted = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    arguments = (ctypes.c_int(_AT_FDCWD), target.encode(), flags, wanted, ctypes.c_size_t(len(wanted)))
    _call("syscall", ctypes.c_long(_MOUNT_SETATTR), *arguments)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _call(name: str, *arguments: Any) -> int:
    result = int(getattr(_libc(), name)(*arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


_opened: list[Any] = []


def _libc() -> Any:
    if not _opened:
        _opened.append(cast("Any", ctypes.CDLL(None, use_errno=True)))
    return _opened[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
