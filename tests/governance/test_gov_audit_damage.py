"""AUD-03: a database damaged anywhere is used on, or set aside whole and said; nothing crashes, nothing is lost in silence."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from audit_logs import Kept, events

RECORDS = 60


def contents(path: Path) -> list[bytes]:
    """All records as they are stored; none where they cannot be read."""
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.Error):
        database.text_factory = bytes
        return [row[0] for row in database.execute("SELECT content FROM records ORDER BY number")]
    return []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    kept = Kept(tmp_path_factory.mktemp("whole") / "logs" / "audit.sqlite3")
    kept.append(RECORDS, checkpoint=True)
    kept.close()
    return kept


def damaged(whole: Kept, folder: Path, seed: int) -> Kept:
    """The log with some random bytes at a random offset, opened again."""
    choose = random.Random(seed)
    path = folder / "audit.sqlite3"
    shutil.copy(whole.path, path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(choose.randrange(size))
        file.write(choose.randbytes(choose.choice((1, 4, 64, 4096))))
        file.truncate(size)
    kept = Kept.__new__(Kept)
    kept.path, kept.rules, kept.now, kept.free = path, whole.rules, whole.now, whole.free
    kept.place, kept.vault, kept.heads = (
        type(whole.place)(whole.place.data),
        whole.vault,
        type(whole.heads)(whole.heads.data),
    )
    kept.open()
    return kept


@pytest.mark.parametrize("batch", range(4))
def test_aud_03_two_hundred_random_damages(whole: Kept, tmp_path: Path, batch: int) -> None:
    before = contents(whole.path)
    for seed in range(batch * 50, batch * 50 + 50):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kept = damaged(whole, folder, seed)
        try:
            kept.maintenance.start()
            kept.log.append(replace(events(1)[0], tool_call_id="came-after"))
        finally:
            kept.close()
        report = kept.examined()
        aside = [path for path in folder.iterdir() if ".set-aside-" in path.name]
        told = [*report.faults, *report.notes, *kept.maintenance.warnings]
        if aside:
            assert any("was set aside" in str(each) for each in told), seed
        elif contents(kept.path)[: len(before)] != before:
            assert told, f"seed {seed}: records differ, and nothing says so"
        # What was recorded before the damage was found lies with the log that was set aside.
        there = b"".join([*contents(kept.path), *(path.read_bytes() for path in folder.iterdir())])
        assert b"came-after" in there, f"seed {seed}: what came after the damage is recorded"
