"""Tries from inside a sandbox which sockets a command reaches: its own, and none of the host's (BOX-11)."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Reached = Literal["ip", "unix", "host"]
"""A word that the trial prints: it talked to itself over IP, or by a UNIX socket; it reached the host's."""

_SOCKET = "remit-trial"
_TRIAL = f"""
import os, socket
def reaches(family, address):
    try:
        socket.socket(family).connect(address)
    except OSError:
        return False
    return True
def reaches_own(family, address):
    try:
        own = socket.socket(family)
        own.bind(address)
        own.listen()
        return reaches(family, own.getsockname())
    except OSError:
        return False
for word, reached in (
    ("ip", reaches_own(socket.AF_INET, ("127.0.0.1", 0))),
    ("unix", reaches_own(socket.AF_UNIX, os.environ["TMPDIR"] + "/own")),
    ("host", reaches(socket.AF_UNIX, "{_SOCKET}")),
    ("end", True),
):
    if reached:
        print(word)
"""


def trial_argv(python: str) -> tuple[str, ...]:
    """The command, run where a socket of the host listens: prints a word for all that it reaches, and `end`."""
    return (python, "-I", "-S", "-B", "-c", _TRIAL)


@contextmanager
def listening_in(workspace: Path) -> Generator[None]:
    """Has a socket of the host listen in a workspace. Raises OSError."""
    folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(_short_name(folder, workspace))
            listening.listen()
            yield
    finally:
        os.close(folder)


def _short_name(folder: int, workspace: Path) -> str:
    """By the folder's descriptor, where there is one by name: the path of a socket may be 108 bytes long at most."""
    by_descriptor = Path(f"/proc/self/fd/{folder}")
    return str((by_descriptor if by_descriptor.is_dir() else workspace) / _SOCKET)
