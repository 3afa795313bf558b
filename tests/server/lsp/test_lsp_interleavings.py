"""Typing, undo, changes on disk, and the agent's edits with decisions on hunks, in any order (APP-09, FILE-03,
FILE-06)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import interleavings
import pytest
from examples import rounds


@pytest.mark.slow
async def test_FILE_06_no_keystroke_is_lost_and_exactly_what_was_accepted_is_written(tmp_path: Path) -> None:
    await interleavings.play_all(tmp_path, range(100))


@pytest.mark.slow
async def test_FILE_06_in_thousands_of_interleavings(tmp_path: Path) -> None:
    """There are 10,000 in a full run, in several processes, because each process uses only one thread."""
    share = rounds(2_500, 200)
    shares = [range(first, first + share) for first in range(1_000, 1_000 + 4 * share, share)]
    folders = [tmp_path / str(share.start) for share in shares]
    for folder in folders:
        folder.mkdir()
    ended = await asyncio.gather(*map(play, folders, shares))
    assert [said for said in ended if said] == []


async def play(folder: Path, seeds: range) -> str:
    command = (sys.executable, interleavings.__file__, str(folder), str(seeds.start), str(seeds.stop))
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    return said.decode() if process.returncode else ""
