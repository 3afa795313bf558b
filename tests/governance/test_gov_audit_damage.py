"""AUD-03: a database that is damaged anywhere is used on, or set aside whole with a warning; nothing crashes or is lost
silently."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from audit_logs import Kept, events
from messages import SAYS

RECORDS = 60
LOOSE = "CREATE TABLE other AS SELECT * FROM chain; DROP TABLE chain; ALTER TABLE other RENAME TO chain;"
"""Makes a copy of the chain's table without constraints, so that its columns accept any value."""


def contents(path: Path) -> list[bytes]:
    """Returns all records as they are stored, or none if they cannot be read."""
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


def copied(whole: Kept, folder: Path) -> Path:
    path = folder / "audit.sqlite3"
    shutil.copy(whole.path, path)
    return path


def damage(path: Path, seed: int) -> None:
    """Writes some random bytes at a random offset."""
    choose = random.Random(seed)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(choose.randrange(size))
        file.write(choose.randbytes(choose.choice((1, 4, 64, 4096))))
        file.truncate(size)


def opened(path: Path, whole: Kept) -> Kept:
    kept = Kept.__new__(Kept)
    kept.path, kept.rules, kept.now, kept.free = path, whole.rules, whole.now, whole.free
    kept.place, kept.vault, kept.heads = (
        type(whole.place)(whole.place.data),
        whole.vault,
        type(whole.heads)(whole.heads.data),
    )
    kept.open()
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(4))
def test_aud_03_two_hundred_random_damages(whole: Kept, tmp_path: Path, batch: int) -> None:
    before = contents(whole.path)
    for seed in range(batch * 50, batch * 50 + 50):
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = copied(whole, folder)
        damage(path, seed)
        kept = opened(path, whole)
        try:
            kept.maintenance.start()
            kept.log.append(replace(events(1)[0], tool_call_id="came-after"))
        finally:
            kept.close()
        report = kept.examined()
        aside = [path for path in folder.iterdir() if ".set-aside-" in path.name]
        told = [*report.faults, *report.notes, *kept.maintenance.warnings]
        if aside:
            assert any(SAYS.was_set_aside in str(each) for each in told), seed
        elif contents(kept.path)[: len(before)] != before:
            assert told, f"seed {seed}: records differ, and nothing says so"
        # Records from before the damage was found are in the log that was set aside.
        there = b"".join([*contents(kept.path), *(path.read_bytes() for path in folder.iterdir())])
        assert b"came-after" in there, f"seed {seed}: what came after the damage is recorded"


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE records SET number = 9223372036854775807 WHERE number = (SELECT max(number) FROM records)",
        "CREATE TRIGGER never BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'no'); END",
        f"{LOOSE} UPDATE chain SET started = NULL",
        f"{LOOSE} UPDATE chain SET log = 7, segment = 'one'",
    ],
)
def test_aud_03_log_that_takes_no_more_records(whole: Kept, tmp_path: Path, script: str) -> None:
    """The numbers are out of order or the start of the chain is invalid; the log goes on with a warning."""
    path = copied(whole, tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    kept = opened(path, whole)
    try:
        kept.maintenance.start()
        kept.log.append(replace(events(1)[0], tool_call_id="came-after"))
    finally:
        kept.close()
    assert any(SAYS.was_set_aside in each for each in kept.maintenance.warnings)
    assert b"came-after" in b"".join(contents(path))
