"""Keeps what an adapter's trial found, for the life of the process as long as the circumstances stay (BOX-10).

A server opens a runtime for each folder, each with an adapter of its own. What isolates on this machine is the same for
all of them, and finding it takes two to three real runs.
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
from typing import Any, Generic, TypeVar

from remit_server.sandbox.limits.cgroup import find_parents
from remit_server.sandbox.ports import Isolation, RuntimeName

_FileIdentity = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a trial: what the sandbox gives here, or why it cannot isolate. An adapter adds whatever else it
    has to know to run commands."""

    isolation: Isolation


@dataclass(frozen=True, slots=True)
class Circumstances:
    """All that a finding depends on: if the circumstances are equal, so is the finding.

    `programs` are given by name, device, inode and time of change; `temporary` is the folder for temporary files with
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
"""Seconds for which an incomplete finding is kept: the obstacle may go away, but each new trial costs a run."""


def circumstances(runtime: RuntimeName, programs: tuple[str, ...], path: str, *settings: object) -> Circumstances:
    """Returns the present circumstances, with `programs` looked up along `path`."""
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
    """Returns what was found in these circumstances before, else what `attempt` finds now. Only a success is kept, so
    that the server need not be restarted once a missing program is installed. A success for which `is_all` is false is
    kept for a minute."""
    kept: _Found | None = _kept.get(here)
    if kept is not None and now() < _until[here]:
        return kept
    found = await attempt()
    if found.isolation.available:
        _kept[here], _until[here] = found, math.inf if is_all(found) else now() + AGAIN_S
    return found


class Trial(Generic[_Found]):
    """Runs one adapter's `attempt` once, and again each time as long as nothing isolates."""

    def __init__(self, here: Callable[[], Circumstances], attempt: Callable[[], Awaitable[_Found]]) -> None:
        self._here, self._attempt = here, attempt
        self._found: _Found | None = None

    async def find(self) -> _Found:
        """Returns what was found, by a trial if necessary."""
        if self._found is None or not self._found.isolation.available:
            self._found = await find_once(self._here(), self._attempt)
        return self._found

    def find_now(self) -> _Found:
        """Returns the same as `find`, for callers that cannot await; blocks the calling thread."""
        return _wait_for(self.find)

    def isolation(self) -> Isolation:
        """Returns the isolation that was found, by a trial if necessary; blocks the calling thread."""
        return self.find_now().isolation


def forget_findings() -> None:
    """Forgets all findings, so that the next adapter tries again, as in a new process."""
    _kept.clear()


def _wait_for(work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Runs `work` to its end in a thread of its own, because the caller's thread may have a running loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def _identity(program: str) -> _FileIdentity:
    with suppress(OSError):
        status = os.stat(program)  # noqa: PTH116  a name
        return program, status.st_dev, status.st_ino, status.st_mtime_ns
    return program, 0, 0, 0
