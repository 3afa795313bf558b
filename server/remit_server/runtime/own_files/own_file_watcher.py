"""Notices when files that Remit itself reads change on disk: policy and configuration (POL-11, CFG-05).

Absent: what is in the files, which the caller reads again.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] trio, which is not here, is in its type

from remit_server.own_files import Stamp, stamp_of
from remit_server.runtime.config.layers import places
from remit_server.runtime.own_files.folder_record import trust_file
from remit_server.runtime.settings import Settings

log = logging.getLogger(__name__)

DEBOUNCE_MS = 200
LOOK_ANYWAY_MS = 5_000
"""The files are looked at this often in any case, because not every file system tells of changes."""

MAX_ENTRIES = 1_000


async def own_file_changes(settings: Settings) -> AsyncGenerator[None]:
    """Yields once at the start, and after every change of the person's configuration or the project's, however the
    files are saved, until it is closed. Notices folders that are made later; follows links."""
    roots = (settings.person_policy.parent, settings.project_policy.parent)
    alone = [path for _, files in places(settings.workspace, os.environ) for path in files if path.parent not in roots]
    # The folder of the trust file also holds the audit log, which changes all the time, so it is not watched.
    alone.append(settings.work_items)
    looked_at = [*alone, trust_file(settings.workspace)]
    seen = await asyncio.to_thread(_stamps, roots, looked_at)
    yield
    while True:
        now = seen
        async with aclosing(_stirrings(await asyncio.to_thread(_places, roots, alone))) as stirrings:
            async for _ in stirrings:
                now = await asyncio.to_thread(_stamps, roots, looked_at)
                if now != seen:
                    break
        if now != seen:
            seen = now
            yield


async def _stirrings(places: Iterable[Path]) -> AsyncGenerator[None]:
    """Yields once these folders are watched, then after anything happens in them, and every `LOOK_ANYWAY_MS`."""
    try:
        watching = awatch(
            *places,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            rust_timeout=LOOK_ANYWAY_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        async with aclosing(watching), _begin_watching(watching) as first:
            yield
            await first
            yield
            async for _ in watching:
                yield
    except Exception:  # a system that has no watches left, a folder that is gone by now
        log.warning(
            "the folders of Remit's own files cannot be watched; they are checked from time to time", exc_info=True
        )
        await asyncio.sleep(LOOK_ANYWAY_MS / 1000)
        yield


@asynccontextmanager
async def _begin_watching(watching: AsyncGenerator[object]) -> AsyncGenerator[asyncio.Task[object]]:
    """Yields a task for the first event, whose first step sets the watch up. Earlier changes are not reported."""
    first = asyncio.ensure_future(anext(watching))
    try:
        await asyncio.sleep(0)
        yield first
    finally:
        first.cancel()
        await asyncio.wait((first,))


def _stamps(roots: Iterable[Path], alone: Iterable[Path]) -> frozenset[Stamp]:
    there = (path for root in roots for path in _files(root))
    return frozenset(stamp for path in (*there, *alone) if (stamp := stamp_of(path)) is not None)


def _places(roots: Iterable[Path], alone: Iterable[Path]) -> set[Path]:
    """Returns the folders to watch: those of the files, those that links lead to, and those one above the roots."""
    found = {_existing(place.parent) for path in alone for place in (path, Path(os.path.realpath(path)))}
    for root in roots:
        real = Path(os.path.realpath(root))
        found |= {_existing(root.parent), _existing(real.parent), _existing(real)}
        found |= {_existing(Path(os.path.realpath(path)).parent) for path in _files(root)}
    return found


def _existing(folder: Path) -> Path:
    """Returns the folder, or the nearest one above it that exists."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), Path("/"))


def _files(root: Path) -> Iterator[Path]:
    """Yields what lies in the folder and in the folders directly in it."""
    entries = sorted(_entries(root))
    for path in entries:
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from sorted(_entries(path))


def _entries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
    except OSError:
        return []
