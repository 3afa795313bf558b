"""The standard streams of this process: sees that all of them exist, and claims two of them for a protocol
(LSP-03)."""

from __future__ import annotations

import atexit
import fcntl
import io
import os
import select
import stat
import sys
import termios
import threading
from contextlib import suppress
from typing import NoReturn

_closed: list[str] = []
"""The names of the streams that were closed when the process began."""
unwritten: list[OSError] = []
"""The first error of a write to standard output, such as of a full disk; nothing is written after it."""


def prepare() -> None:
    """Opens the missing streams, and has characters that cannot be printed in the locale escaped."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # what is opened now gets the stream's number, which child processes inherit
            _closed.append(name)
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def piped_in() -> int | None:
    """Returns the descriptor of standard input if it is a pipe, a file or a socket; None for a terminal, or if there is
    nothing to read."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode) else None


def brings_something() -> bool:
    """Returns whether something is piped in. Waits for the first byte, or for the end."""
    descriptor = piped_in()
    if descriptor is None:
        return False
    select.select([descriptor], [], [])
    waiting = bytearray(4)
    fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return any(waiting)


def forget_stdout() -> None:
    """Sends what is still written to standard output nowhere, because nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def claim() -> tuple[int, int]:
    """Take standard input and output for the protocol, so that a stray `print` goes to the log instead.

    The new descriptors are not inherited, so that no child process can read or write the protocol. Raises SetupError
    where one of the two was closed.
    """
    if gone := [name for name in _closed if name != "stderr"]:
        from remit_server.errors import SetupError

        fix = "start it with pipes for standard input and output"
        raise SetupError("no client is connected", f"{' and '.join(gone)} was closed when Remit started", fix)
    in_fd, out_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return in_fd, out_fd


def leave(code: int) -> NoReturn:
    """Ends the process, without waiting for daemon threads.

    The interpreter would end such a thread by unwinding it; if that passes through compiled code of a library, the
    process is aborted (`FATAL: exception not rethrown`).
    """
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    if not any(thread.daemon for thread in others):
        sys.exit(code)
    for thread in others:
        if not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  there is no public name
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it, or it is closed
            stream.flush()
    os._exit(code)
