"""Programs that this process starts, as Python's audit hooks see them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"}
_listening: list[list[str]] = []
_hooked: list[bool] = []


@contextmanager
def programs_started() -> Iterator[list[str]]:
    """Yields a list of the programs that are started meanwhile, in any thread: each as the event's name and first
    argument."""
    if not _hooked:  # a hook cannot be taken out again
        _hooked.append(True)
        sys.addaudithook(_note)
    mine: list[str] = []
    _listening.append(mine)
    try:
        yield mine
    finally:
        # Compare by identity, because two lists with the same programs are equal.
        _listening[:] = [each for each in _listening if each is not mine]


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event in STARTS:
        for each in _listening:
            each.append(f"{event} {arguments[0] if arguments else ''}")
