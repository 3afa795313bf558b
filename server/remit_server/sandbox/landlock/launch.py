"""Builds a sandbox from bwrap(1)'s options, and runs a command in it under Landlock. Standard library only.

`[--layer FOLDER] OPTIONS… -- COMMAND…`. It knows the options that Remit gives, and refuses any other.
The server does not import this file: it is a program of its own, which a user without any privilege can run (BOX-12).

Three processes: the first waits and reports; the second is the first process of a pid namespace, and when it dies, all
others there die; the third becomes the command, and it alone is under Landlock and seccomp, so that it cannot reach the
other two.
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
from typing import NoReturn

from remit_server.sandbox.landlock import kernel

_NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_MOUNT_SETATTR = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "armv7l": 218, "ppc64le": 203, "s390x": 217}
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_BASE, _OLD, _NEW = "/tmp", "/old", "/new"  # noqa: S108  mounted over, in a namespace of our own

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
    # Accepted and ignored, because it is always done: everything is unshared, no capability is kept, and the
    # environment is only what `--setenv` sets.
    "--unshare-all": 0,
    "--unshare-user": 0,
    "--disable-userns": 0,
    "--die-with-parent": 0,
    "--new-session": 0,
    "--clearenv": 0,
    "--cap-drop": 1,
    "--unsetenv": 1,
    # Steps that build what the command sees; they are carried out in the order given.
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


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One option that builds something: its words, the last of which is the place, and the mode and size set for it."""

    name: str
    words: tuple[str, ...]
    mode: int | None = None
    size: str | None = None

    @property
    def place(self) -> str:
        """The path at which the command sees it."""
        return self.words[-1]


@dataclass(slots=True)
class LaunchPlan:
    """The options as parsed: `steps` in their order."""

    command: list[str]
    steps: list[BuildStep] = field(default_factory=list[BuildStep])
    environment: dict[str, str] = field(default_factory=dict[str, str])
    single: dict[str, str] = field(default_factory=dict[str, str])

    def descriptor(self, name: str) -> int | None:
        """Returns the descriptor that an option names, or None if the option is not given."""
        return int(self.single[name]) if name in self.single else None


def parse(words: list[str]) -> LaunchPlan:
    """Returns the parsed options. Raises kernel.LaunchFailed for an option that this program does not know."""
    end = words.index("--")
    options, plan = words[:end], LaunchPlan(words[end + 1 :])
    mode: int | None = None
    size: str | None = None
    while options:
        name = options.pop(0)
        if name not in _ARITY:
            raise kernel.LaunchFailed(f"there is no option `{name}`")
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
    """Mounts below `/new` what the command will see, from the host's files below `/old`. `writable` are the places that
    the command may write to."""

    def __init__(self) -> None:
        self.writable: dict[str, None] = {}

    def ro_bind(self, step: BuildStep) -> None:
        """Shows a file or folder read-only, with all that is mounted below it."""
        self._bind(step, _ATTR_RDONLY)

    def ro_bind_try(self, step: BuildStep) -> None:
        """Shows a file or folder read-only, if it exists."""
        if os.path.exists(_OLD + step.words[0]):  # noqa: PTH110
            self.ro_bind(step)

    def bind(self, step: BuildStep) -> None:
        """Shows a folder that the command may write to."""
        self._bind(step, 0)
        self.writable[step.place] = None

    def symlink(self, step: BuildStep) -> None:
        """Makes a link."""
        _make_parents(step.place)
        os.symlink(step.words[0], _NEW + step.place)  # noqa: PTH211

    def folder(self, step: BuildStep) -> None:
        """Makes a folder, unless it exists."""
        self._make_folder(step.place, step.mode)

    def tmpfs(self, step: BuildStep) -> None:
        """Mounts an empty folder that the command may write to."""
        self._make_folder(step.place)
        options = f"mode={0o755 if step.mode is None else step.mode:o}" + (f",size={step.size}" if step.size else "")
        _mount("tmpfs", _NEW + step.place, "tmpfs", _MS_NOSUID | _MS_NODEV, options)
        self.writable[step.place] = None

    def file(self, step: BuildStep) -> None:
        """Makes a file of a descriptor's content, or writes it to a file that exists; then closes the descriptor."""
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
        """Mounts a /proc that shows only the processes of this namespace."""
        self._make_folder(step.place)
        _mount("proc", _NEW + step.place, "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)

    def dev(self, step: BuildStep) -> None:
        """Makes a folder of harmless devices, such as `null`, with terminals of its own."""
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
        """Makes a mount read-only, but not what else is mounted below it."""
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
    """Runs the command to its end and returns its exit code; if it cannot begin, prints why to the error output."""
    try:
        plan = parse(words)
        kernel.die_with(os.getppid(), signal.SIGKILL)
        _enter_namespaces(plan)
        if "--layer" in plan.single:
            _mount_layer(plan.single["--layer"])
        return _attend(plan)
    except (kernel.LaunchFailed, OSError) as error:
        sys.stderr.write(f"bwrap: {error}\n")
        return 1


def _attend(plan: LaunchPlan) -> int:
    """Starts the first process of the namespace; reports its pid and the command's exit code, if a status descriptor is
    given. Returns the exit code, or 1 if the command did not begin."""
    status = plan.descriptor("--json-status-fd")
    if status is not None:
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
    _report(status, {"child-pid": first})
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
    _report(status, {"exit-code": code})
    return code


def _report(status: int | None, what: dict[str, int]) -> None:
    if status is not None:
        os.write(status, json.dumps(what).encode() + b"\n")


def _given(plan: LaunchPlan) -> Iterator[int]:
    """Yields the descriptors that only the processes inside need."""
    for name in ("--seccomp", "--block-fd"):
        descriptor = plan.descriptor(name)
        if descriptor is not None:
            yield descriptor
    yield from (int(step.words[0]) for step in plan.steps if step.name in {"--file", "--ro-bind-data"})


def _be_first(plan: LaunchPlan, alive: int, failures: int) -> NoReturn:
    """Builds what the command sees, waits until the command may begin, starts it, and ends when it ends."""
    code = 1
    try:
        kernel.die_with(0, signal.SIGKILL)
        if select.select([alive], [], [], 0)[0]:
            raise kernel.LaunchFailed("the process that started it is dead")
        status, hold = plan.descriptor("--json-status-fd"), plan.descriptor("--block-fd")
        if status is not None:
            os.close(status)
        writable = _build(plan)
        kernel.drop_privileges()
        if hold is not None:
            if not os.read(hold, 16):
                raise kernel.LaunchFailed("the command was never allowed to begin")
            os.close(hold)
        command = os.fork()
        if command == 0:
            _become(plan, writable, failures)
        os.close(failures)
        os.close(int(plan.single["--seccomp"]))
        code = _reap(command)
    except (kernel.LaunchFailed, OSError) as error:
        os.write(failures, f"bwrap: {error}\n".encode())
    finally:
        os._exit(code)


def _reap(command: int) -> int:
    """Waits for the command and returns its exit code; meanwhile reaps orphaned processes."""
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
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
            signal.signal(ignored, signal.SIG_DFL)
        kernel.restrict_files({"read": ["/"], "use": ["/dev"], "write": writable})
        kernel.filter_calls(rules)
        try:
            os.execvpe(program, plan.command, plan.environment)  # noqa: S606  the sandbox is around us
        except OSError as error:
            raise kernel.LaunchFailed(f"execvp {program}: {error.strerror}") from None
    except (kernel.LaunchFailed, OSError) as error:
        os.write(failures, f"bwrap: {error}\n".encode())
    finally:
        os._exit(1)


def _enter_namespaces(plan: LaunchPlan) -> None:
    user, group = os.geteuid(), os.getegid()
    try:
        kernel.call("unshare", _NEW_NAMESPACES)
    except OSError as error:
        raise kernel.LaunchFailed(f"no new namespace: {error.strerror}") from None
    kernel.write("/proc/self/setgroups", "deny")
    kernel.write("/proc/self/uid_map", f"{plan.single['--uid']} {user} 1")
    kernel.write("/proc/self/gid_map", f"{plan.single['--gid']} {group} 1")
    if "--hostname" in plan.single:
        socket.sethostname(plan.single["--hostname"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def _mount_layer(folder: str) -> None:
    """Mounts the layer's overlays: over the workspace, over each scratch folder, and one without writable parts over
    each folder of the host that has a stand-in."""
    for place in (folder, *_folders_in(f"{folder}/scratch")):
        parts = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work,userxattr"
        _mount("overlay", f"{place}/merged", "overlay", 0, parts)
    for place in _folders_in(f"{folder}/shown"):
        _mount("overlay", f"{place}/at", "overlay", 0, f"lowerdir={place}/from:{folder}/empty")


def _folders_in(folder: str) -> list[str]:
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []  # noqa: PTH112, PTH208


def _build(plan: LaunchPlan) -> list[str]:
    """Builds a new root from the steps of the plan, and leaves the old root; returns the writable places."""
    with contextlib.suppress(OSError):  # if we may not set it, the seccomp filter refuses new namespaces all the same
        kernel.write("/proc/sys/user/max_user_namespaces", "0")
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
        _STEPS[step.name](builder, step)
    os.umask(0o022)
    kernel.call("umount2", _OLD.encode(), _MNT_DETACH)
    # Pivot a second time, so that the temporary root around the new one is gone, too.
    os.chdir(_NEW)
    _pivot(".", ".")
    kernel.call("umount2", b".", _MNT_DETACH)
    os.chdir("/")
    return list(builder.writable)


def _pivot(new: str, old: str) -> None:
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise kernel.LaunchFailed(f"processors of type `{os.uname().machine}` are not supported")
    kernel.call("syscall", ctypes.c_long(number), new.encode(), old.encode())
    if old != ".":
        os.chdir("/")


def _make_parents(place: str) -> None:
    os.makedirs(os.path.dirname(_NEW + place), 0o755, exist_ok=True)  # noqa: PTH103, PTH120


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = (source and source.encode(), target.encode(), kind and kind.encode())
    try:
        kernel.call("mount", *words, ctypes.c_ulong(flags), options and options.encode())
    except OSError as error:
        raise kernel.LaunchFailed(f"cannot mount `{target.removeprefix(_NEW)}`: {error.strerror}") from None


def _set_attributes(target: str, attributes: int, *, recursive: bool) -> None:
    wanted = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    arguments = (ctypes.c_int(_AT_FDCWD), target.encode(), flags, wanted, ctypes.c_size_t(len(wanted)))
    kernel.call("syscall", ctypes.c_long(_MOUNT_SETATTR), *arguments)
