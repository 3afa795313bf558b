"""What a trial of an adapter found, kept for the life of the process while its circumstances stay (BOX-10).

A server opens a runtime for each folder, and each has an adapter of its own: what isolates on this machine is the same
for all of them, and costs two to three real runs to find.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from remit_server.sandbox.limits.cgroup import find_parents
from remit_server.sandbox.ports import Isolation, RuntimeName

_FileIdentity = tuple[str, int, int, int]


class Finding(Protocol):
    """What a trial came to: the isolation, and whatever else the adapter has to know to run commands."""

    @property
    def isolation(self) -> Isolation:
        """What isolates here, or why nothing does."""
        ...


@dataclass(frozen=True, slots=True)
class Circumstances:
    """All that a finding depends on: the same circumstances, the same finding.

    `programs` are told by name, device, inode and time of change; `temporary` is the folder for temporary files with
    its device; `settings` are what the adapter was made with.
    """

    runtime: RuntimeName
    programs: tuple[_FileIdentity, ...]
    kernel: str
    temporary: tuple[str, int]
    user: int
    groups: tuple[str, ...]
    settings: tuple[object, ...]


_Found = TypeVar("_Found", bound=Finding)
_Result = TypeVar("_Result")
_kept: dict[Circumstances, Any] = {}
_until: dict[Circumstances, float] = {}
AGAIN_S = 60.0
"""How long less than there may be is kept: what was in the way may be gone, and each trial costs a run."""


def circumstances(runtime: RuntimeName, programs: tuple[str, ...], path: str, *settings: object) -> Circumstances:
    """Returns those of now, with `programs` looked up along `path`."""
    temporary = tempfile.gettempdir()
    return Circumstances(
        runtime=runtime,
        programs=tuple(_identity(shutil.which(program, path=path) or "") for program in programs),
        kernel=os.uname().release,
        temporary=(temporary, os.stat(temporary).st_dev),  # noqa: PTH116  a name
        user=os.geteuid(),
        groups=tuple(map(str, find_parents())),
        settings=settings,
    )


async def find_once(
    here: Circumstances,
    attempt: Callable[[], Awaitable[_Found]],
    is_all: Callable[[_Found], bool] = lambda _: True,
    now: Callable[[], float] = time.monotonic,
) -> _Found:
    """Returns what was found in these circumstances, else what `attempt` finds now. Only a success is kept: whoever
    installs what was missing need not start the server again. One that `is_all` says no to is kept for a minute."""
    kept: _Found | None = _kept.get(here)
    if kept is not None and now() < _until[here]:
        return kept
    found = await attempt()
    if found.isolation.available:
        _kept[here], _until[here] = found, math.inf if is_all(found) else now() + AGAIN_S
    return found


class Trial(Generic[_Found]):
    """What one adapter finds out by `attempt`: once, and again while nothing isolates."""

    def __init__(self, here: Callable[[], Circumstances], attempt: Callable[[], Awaitable[_Found]]) -> None:
        self._here, self._attempt = here, attempt
        self._found: _Found | None = None

    async def find(self) -> _Found:
        """Returns what was found."""
        if self._found is None or not self._found.isolation.available:
            self._found = await find_once(self._here(), self._attempt)
        return self._found

    def find_now(self) -> _Found:
        """Returns the same to who cannot await it."""
        return _wait_for(self.find)

    def isolation(self) -> Isolation:
        """Returns what isolates here, found out by one real run in this process."""
        return self.find_now().isolation


def forget_findings() -> None:
    """Forgets all of them, as a new process would: the next adapter tries again."""
    _kept.clear()


def _wait_for(work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Runs it to its end in a thread of its own, for the caller's may have a running loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def _identity(program: str) -> _FileIdentity:
    with suppress(OSError):
        status = os.stat(program)  # noqa: PTH116  a name
        return program, status.st_dev, status.st_ino, status.st_mtime_ns
    return program, 0, 0, 0
