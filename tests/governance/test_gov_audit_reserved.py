"""Room made in the write-ahead log costs no record, hides no damage and is nobody's business (governance.md §7)."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import pytest
from audit_logs import events

from remit_governance.audit.keeper import LOOK_FIRST, Keeper
from remit_governance.audit.store import AuditLog
from remit_governance.audit.verify import Broken, verify
from remit_governance.audit.wal import reserve

FRAME = 24 + 2048


def wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def grown(path: Path) -> AuditLog:
    """A log with 20 records, room made after 10 of them."""
    log = AuditLog(path)
    for number, event in enumerate(events(20)):
        if number == 10:
            log.reserve()
        log.append(event)
    return log


def left(path: Path) -> Path:
    """What a crash leaves: the database and its log, not checkpointed."""
    other = path.with_name("left")
    for of in (lambda name: name, wal_of):
        shutil.copy(of(path), of(other))
    return other


def test_records_before_and_after_are_in_one_chain_and_the_file_no_longer_grows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with grown(path) as log:
        size = wal_of(path).stat().st_size
        assert size > 1_000 * FRAME
        for event in events(2_000):
            log.append(event)
        assert wal_of(path).stat().st_size == size
        assert verify(path).count == 2_020  # type: ignore[union-attr]
    assert verify(path).count == 2_020  # type: ignore[union-attr]


def test_what_a_crash_leaves_of_it_is_whole(tmp_path: Path) -> None:
    with grown(tmp_path / "a"):
        crashed = left(tmp_path / "a")
    assert verify(crashed).count == 20  # type: ignore[union-attr]
    with AuditLog(crashed) as log:
        log.append(events(1)[0])
    assert verify(crashed).count == 21  # type: ignore[union-attr]


def test_damage_in_its_middle_is_found(tmp_path: Path) -> None:
    with grown(tmp_path / "a"):
        crashed = left(tmp_path / "a")
    data = bytearray(wal_of(crashed).read_bytes())
    data[32 + 12 * FRAME + 100] ^= 0x01
    wal_of(crashed).write_bytes(data)
    result = verify(crashed)
    assert isinstance(result, Broken)
    assert "write-ahead log" in result.why


def test_nothing_is_written_where_no_log_has_begun_and_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    reserve(tmp_path / "empty", 1_000)
    assert (tmp_path / "empty").read_bytes() == b""
    (tmp_path / "full").write_bytes(b"x" * 100)
    for size in (50, 1_000, 500):
        reserve(tmp_path / "full", size)
    assert (tmp_path / "full").read_bytes() == b"x" * 100 + bytes(900)


def test_room_is_made_while_others_write(tmp_path: Path) -> None:
    """Zeros over another's records would be the end of them."""
    path = tmp_path / "a"
    script = (
        "import sys; from audit_logs import *; log = AuditLog(Path(sys.argv[1])); [log.append(e) for e in events(150)]"
    )
    with AuditLog(path) as log:
        log.append(events(1)[0])
        support = str(Path(__file__).parents[1] / "support")
        argv = [sys.executable, "-c", f"import sys; sys.path.insert(0, {support!r}); {script}", str(path)]
        others = [subprocess.Popen(argv) for _ in range(3)]
        made = count()

        def make_room() -> None:
            while any(other.poll() is None for other in others):
                size = wal_of(path).stat().st_size
                log.reserve()
                next(made)
                assert wal_of(path).stat().st_size >= size

        thread = threading.Thread(target=make_room)
        thread.start()
        assert [other.wait(60) for other in others] == [0, 0, 0]
        thread.join()
        assert next(made) > 1
        assert verify(path).count == 451  # type: ignore[union-attr]
    assert verify(path).count == 451  # type: ignore[union-attr]


def test_the_keeper_makes_room_once_records_come_and_no_sooner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    keeper = Keeper(AuditLog(path))
    keeper.start()
    for event in events(LOOK_FIRST - 1):
        keeper.log.append(event)
    assert wal_of(path).stat().st_size < 100 * FRAME
    for event in events(LOOK_FIRST + 1):
        keeper.log.append(event)
    deadline = time.monotonic() + 10
    while wal_of(path).stat().st_size < 1_000 * FRAME and time.monotonic() < deadline:
        time.sleep(0.01)
    assert wal_of(path).stat().st_size > 1_000 * FRAME
    keeper.close()
    assert keeper.warnings == ()


@pytest.mark.parametrize("room", [0, 100_000])
def test_a_disk_without_room_for_it_costs_nothing_but_time(room: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    keeper = Keeper(AuditLog(path))
    keeper.log.append(events(1)[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal_of(path).stat().st_size + room, hard))
    try:
        keeper.upkeep()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for event in events(100):
        keeper.log.append(event)
    keeper.close()
    assert verify(path).count == 101  # type: ignore[union-attr]
    assert keeper.warnings == ()
