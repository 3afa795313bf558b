"""Sends checkpoints elsewhere (effect): to a file on another disk, or to the system's log, where a program that runs as
the person on this machine cannot change them (AUD-04)."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from remit_governance.errors import AuditError

SYSLOG = "syslog:"
SYSLOG_SOCKETS = (Path("/dev/log"), Path("/var/run/syslog"))
_PRIORITY = 13 * 8 + 5
"""Facility "log audit", severity "notice" (RFC 5424 §6.2.1)."""


def send(line: bytes, target: str) -> None:
    """Sends one signed checkpoint to `syslog:`, to `syslog:SOCKET`, or to the file of this name. Raises AuditError."""
    if target.startswith(SYSLOG):
        _log(line, target.removeprefix(SYSLOG))
    else:
        _append(line, Path(target))


def checkpoint_lines(data: bytes) -> bytes:
    """Returns the checkpoints in a file that they were sent to, one on each line, without the words that a system's log
    puts before each and without lines of other programs."""
    lines = (line[line.find(b'{"count":') :] for line in data.splitlines() if b'{"count":' in line)
    return b"".join(line.strip() + b"\n" for line in lines)


def _append(line: bytes, path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        with open(fd, "r+b") as file:  # noqa: PTH123 a descriptor
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            # End a part of a line that a crash left, so that it stays a line of its own.
            torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
            file.write((b"\n" if torn else b"") + line + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unsent(f"{path}: {(error.strerror or str(error)).lower()}", "name a file that you may write") from error


def _log(line: bytes, named: str) -> None:
    places = (Path(named),) if named else SYSLOG_SOCKETS
    place = next((path for path in places if path.is_socket()), None)
    if place is None:
        raise _unsent(f"there is no socket at {' or '.join(map(str, places))}", "start a system log, or name a file")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.connect(str(place))
            out.send(b"<%d>remit-audit[%d]: %b" % (_PRIORITY, os.getpid(), line))
    except OSError as error:
        raise _unsent(f"{place}: {(error.strerror or str(error)).lower()}", "look at the system's log") from error


def _unsent(why: str, fix: str) -> AuditError:
    return AuditError("the checkpoint cannot be sent elsewhere", why, fix)
