"""Runs a command under Landlock and a seccomp filter, where the kernel gives no namespace. Standard library only.

Its one argument is a descriptor with JSON from `landlock_alone.py` that says what to run. The first process waits and
reports as bwrap does, adopts orphaned processes, and ends all of them before it ends itself. It also sets modes and
times of files for the command, in its scratch folder alone, because Landlock does not restrict those (BOX-13).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections import defaultdict
from typing import Any, NoReturn

from remit_server.sandbox.landlock import kernel

_PR_SET_CHILD_SUBREAPER = 36
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_QUESTION = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_SYMLINK_NOFOLLOW, _EMPTY_PATH = 0x100, 0x1000
_AT_FDCWD = -100
_MAX_PATH = 4096
_LOOK_MS = 500
_MODES = 0o1777
_NOW = (1 << 30) - 1
_OMIT = (1 << 30) - 2

# The numbers of the calls that set modes and times, by the machine's architecture; newer architectures have fewer.
_CALLS: dict[str, dict[int, str]] = {
    "x86_64": {90: "chmod", 91: "fchmod", 268: "fchmodat", 452: "fchmodat2", 280: "utimensat"},
    "aarch64": {52: "fchmod", 53: "fchmodat", 452: "fchmodat2", 88: "utimensat"},
}


class Ended(Exception):
    """The process that started us is dead, or wants us to end."""


def main(words: list[str]) -> int:
    """Runs the command to its end and returns its exit code; if it cannot begin, prints why to the error output."""
    with os.fdopen(int(words[0]), "rb") as source:
        given: dict[str, Any] = json.loads(source.read())
    try:
        signal.signal(signal.SIGTERM, _end)
        kernel.die_with(os.getppid(), signal.SIGTERM)
        kernel.call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        return _attend(given)
    except (kernel.LaunchFailed, OSError) as error:
        sys.stderr.write(f"bwrap: {error}\n")
        return 1
    except Ended:
        return 1
    finally:
        _end_all()


def _end_all() -> None:
    """Kills all descendants of this process and reaps them, because each keeps its pid until then and pids are few."""
    end_below(os.getpid())
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _end(number: int, frame: object) -> NoReturn:
    raise Ended


def _attend(given: dict[str, Any]) -> int:
    status, hold = int(given["status"]), int(given["hold"])
    os.set_inheritable(status, False)
    os.write(status, json.dumps({"child-pid": os.getpid()}).encode() + b"\n")
    os.read(hold, 16)
    os.close(hold)
    ours, theirs = socket.socketpair()
    failures, failed = os.pipe()
    command = os.fork()
    if command == 0:
        ours.close()
        os.close(failures)
        _become(given, theirs, failed)
    theirs.close()
    os.close(failed)
    os.close(int(given["seccomp"]))
    _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
    code = _serve(command, listeners[0] if listeners else None, given["scratch"])
    with os.fdopen(failures, "rb") as reading:
        said = reading.read()
    if said:
        sys.stderr.write(said.decode(errors="replace"))
        return 1
    _end_all()
    os.write(status, json.dumps({"exit-code": code}).encode() + b"\n")
    return code


def _become(given: dict[str, Any], asks: socket.socket, failed: int) -> NoReturn:
    """Puts this process under Landlock and the seccomp filter, and becomes the command."""
    program = given["argv"][0]
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
            signal.signal(ignored, signal.SIG_DFL)
        os.setsid()
        os.close(int(given["status"]))
        kernel.call("prctl", 1, signal.SIGKILL, 0, 0, 0)
        os.chdir(given["cwd"])
        with os.fdopen(int(given["seccomp"]), "rb") as source:
            rules = source.read()
        kernel.drop_privileges()
        kernel.restrict_files(given["files"])
        listener = kernel.filter_calls(rules, listens=True)
        socket.send_fds(asks, [b"l"], [listener])
        os.close(listener)
        asks.close()
        try:
            os.execvpe(program, given["argv"], given["environment"])  # noqa: S606  the sandbox is around us
        except OSError as error:
            raise kernel.LaunchFailed(f"execvp {program}: {error.strerror}") from None
    except (kernel.LaunchFailed, OSError) as error:
        os.write(failed, f"bwrap: {error}\n".encode())
    finally:
        os._exit(1)


def _serve(command: int, listener: int | None, scratch: str) -> int:
    """Waits for the command and returns its exit code; meanwhile answers the calls that the filter hands to us."""
    waiting = select.poll()
    pidfd = os.pidfd_open(command)
    waiting.register(pidfd, select.POLLIN)
    if listener is not None:
        waiting.register(listener, select.POLLIN)
    while True:
        ready = {fd for fd, event in waiting.poll(_LOOK_MS) if event & select.POLLIN}
        if listener is not None and listener in ready:
            with contextlib.suppress(OSError):
                _answer(listener, scratch)
        if pidfd in ready:
            _, ended = os.waitpid(command, 0)
            code = os.waitstatus_to_exitcode(ended)
            return 128 - code if code < 0 else code
        _reap(command)


def _reap(command: int) -> None:
    """Reaps orphaned processes that have ended, but not the command itself."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid != command:
            os.waitpid(found.si_pid, 0)


def _answer(listener: int, scratch: str) -> None:
    """Carries out one call for the process that made it, if the file lies in the scratch folder; else refuses it."""
    asked = bytearray(80)
    fcntl.ioctl(listener, _RECEIVE, asked, True)
    number, pid, _, call, _, _, *arguments = _QUESTION.unpack_from(asked)
    code = 0
    try:
        _carry_out(_CALLS[os.uname().machine][call], pid, arguments, scratch)
    except OSError as error:
        code = error.errno or errno.EPERM
    except (KeyError, ValueError):
        code = errno.EPERM
    fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, -code, 0))


def _carry_out(name: str, pid: int, arguments: list[int], scratch: str) -> None:
    """Sets the mode or the times of one file. Raises OSError.

    It checks and changes the file through one descriptor, so that a path changed meanwhile makes no difference.
    """
    directory, path, value, flags = _AT_FDCWD, 0, 0, 0
    if name == "chmod":
        path, value = arguments[:2]
    elif name == "fchmod":
        directory, value, flags = arguments[0], arguments[1], _EMPTY_PATH
    elif name == "fchmodat":
        directory, path, value = arguments[:3]
    else:
        directory, path, value, flags = arguments[:4]
    if name == "utimensat" and path == 0:
        flags |= _EMPTY_PATH
    fd = _open_of(pid, _signed(directory), _text_of(pid, path) if path else b"", flags)
    try:
        link = f"/proc/self/fd/{fd}"
        if not os.readlink(link).startswith(f"{scratch}/") and os.readlink(link) != scratch:  # noqa: PTH115
            raise PermissionError(errno.EPERM, "it lies elsewhere")
        if name == "utimensat":
            _set_times(link, _memory_of(pid, value, 32) if value else None)
        else:
            os.chmod(link, value & _MODES)  # noqa: PTH101
    finally:
        os.close(fd)


def _set_times(link: str, told: bytes | None) -> None:
    if told is None:
        os.utime(link)
        return
    status = os.stat(link)  # noqa: PTH116
    words = struct.unpack("qqqq", told)
    wanted = ((words[0], words[1], status.st_atime_ns), (words[2], words[3], status.st_mtime_ns))
    os.utime(link, ns=(_time_of(*wanted[0]), _time_of(*wanted[1])))


def _time_of(seconds: int, nanoseconds: int, before: int) -> int:
    if nanoseconds == _OMIT:
        return before
    return time.time_ns() if nanoseconds == _NOW else seconds * 10**9 + nanoseconds


def _open_of(pid: int, directory: int, path: bytes, flags: int) -> int:
    """Returns a descriptor of the file that a process names, by a path or by its own descriptor. Raises OSError."""
    follow = os.O_NOFOLLOW if flags & _SYMLINK_NOFOLLOW else 0
    if not path:
        if not flags & _EMPTY_PATH:
            raise FileNotFoundError(errno.ENOENT, "no path")
        return os.open(f"/proc/{pid}/fd/{directory}", os.O_PATH | os.O_CLOEXEC)
    if path.startswith(b"/"):
        return os.open(path, os.O_PATH | os.O_CLOEXEC | follow)
    place = f"/proc/{pid}/cwd" if directory == _AT_FDCWD else f"/proc/{pid}/fd/{directory}"
    folder = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC | follow, dir_fd=folder)
    finally:
        os.close(folder)


def _text_of(pid: int, address: int) -> bytes:
    """Returns the null-terminated text at an address of a process. Raises OSError."""
    found = b""
    while b"\0" not in found and len(found) < _MAX_PATH:
        # Read to the end of a page at most, because the next page may not be mapped.
        found += _memory_of(pid, address + len(found), 4096 - (address + len(found)) % 4096)
    return found.partition(b"\0")[0]


def _memory_of(pid: int, address: int, count: int) -> bytes:
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, count, address)
    finally:
        os.close(fd)


def _signed(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def end_below(root: int) -> bool:
    """Kills all descendants of a process, but not the process itself; returns whether there were any.

    Each is stopped before its children are looked for, so that it starts no other meanwhile: a command that starts
    processes as fast as it can would otherwise always be ahead of the search.
    """
    stopped: set[int] = set()
    while _stop_below(root, stopped):
        pass
    _signal(stopped, signal.SIGKILL)
    while living := _living_below(root):
        _signal(living, signal.SIGKILL)
        time.sleep(0.001)
    return bool(stopped)


def _stop_below(root: int, stopped: set[int]) -> bool:
    """Stops the descendants that are not in `stopped` yet, adds them to it, and returns whether there were any."""
    before = len(stopped)
    pending = [root]
    while pending:
        for child in _children_of(pending.pop()):
            if child not in stopped:
                _signal({child}, signal.SIGSTOP)
                stopped.add(child)
            pending.append(child)
    return len(stopped) > before


def _children_of(pid: int) -> list[int]:
    """Returns the living children of a process; on a kernel that does not list children, all living descendants, found
    in the table of processes."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{task}/children", "rb") as listed:  # noqa: PTH123
                found += map(int, listed.read().split())
    except FileNotFoundError:
        if os.path.exists("/proc/self/task") and not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # noqa: PTH110
            return [*_living_below(pid)]
    except OSError:
        pass  # the process has ended meanwhile
    return found


def signal_below(root: int, *, stop: bool) -> None:
    """Pauses all descendants of a process, also those that appear meanwhile, or lets them go on; not the root."""
    told: set[int] = set()
    while new := _living_below(root) - told:
        _signal(new, signal.SIGSTOP if stop else signal.SIGCONT)
        told |= new


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _living_below(root: int) -> set[int]:
    children: dict[int, list[int]] = defaultdict(list)
    dead: set[int] = set()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError):
                fd = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    state, parent = os.read(fd, 4096).rpartition(b")")[2].split()[:2]
                finally:
                    os.close(fd)
                children[int(parent)].append(int(name))
                if state in {b"Z", b"X"}:
                    dead.add(int(name))
    found: set[int] = set()
    pending = [*children[root]]
    while pending:
        pid = pending.pop()
        found.add(pid)
        pending += children[pid]
    return found - dead
