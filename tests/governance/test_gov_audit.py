"""The audit log: a chain on disk that survives crashes and shows every change (AUD-01)."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from audit_logs import edit, events, second_opinion, written
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.reading.verify import Broken, Verified, verify
from remit_governance.audit.record import AuditEvent, AuditKind, Entry, read_content
from remit_governance.audit.store import AuditLog
from remit_governance.canonical import canonical
from remit_governance.errors import AuditError
from remit_governance.values import Intent


def test_chain_verifies_and_a_second_implementation_agrees(tmp_path: Path) -> None:
    path = written(tmp_path / "deep" / "er" / "audit.sqlite3")
    result = verify(path)
    assert isinstance(result, Verified)
    assert result.count == 30
    assert second_opinion(path)
    assert query_audit(path)[-1].hash == result.head


def test_an_empty_log_verifies(tmp_path: Path) -> None:
    AuditLog(tmp_path / "a").close()
    assert isinstance(verify(tmp_path / "a"), Verified)
    assert verify(tmp_path / "missing").record_number == 1  # type: ignore[union-attr]


def test_reopening_continues_the_chain(tmp_path: Path) -> None:
    for _ in range(3):
        written(tmp_path / "a", 4)
    assert verify(tmp_path / "a").count == 12  # type: ignore[union-attr]


def test_clocks_going_back_break_nothing(tmp_path: Path) -> None:
    times = iter([1000, 900, 2000, 5])
    with AuditLog(tmp_path / "a", clock=lambda: next(times)) as log:
        records = [log.append(event) for event in events(3)]
    assert [r.timestamp for r in records] == [900, 2000, 5]
    assert query_audit(tmp_path / "a") == tuple(records)
    assert isinstance(verify(tmp_path / "a"), Verified)


def test_files_are_the_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with AuditLog(tmp_path / "d" / "a") as log:
            log.append(events(1)[0])
            modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "d").iterdir()}
    finally:
        os.umask(old)
    assert set(modes.values()) == {0o600}
    assert modes.keys() == {"a", "a-wal", "a-shm", "a.lock"}
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700


FILTERS = {
    "everything": (AuditFilter(), 30),
    "session": (AuditFilter(session_id="s1"), 10),
    "tool": (AuditFilter(tool_name="write_file"), 30),
    "no such tool": (AuditFilter(tool_name="x' OR 1=1 --"), 0),
    "kind": (AuditFilter(kind=AuditKind.TOOL_OUTCOME), 15),
    "decision": (AuditFilter(policy_decision="denied"), 10),
    "rule and session": (AuditFilter(policy_rule_name="write-workspace", session_id="s2"), 10),
    "call": (AuditFilter(tool_call_id="c3"), 2),
    "limit": (AuditFilter(limit=7), 7),
    "past": (AuditFilter(until=1), 0),
    "since": (AuditFilter(since=1), 30),
}


@pytest.mark.parametrize("name", FILTERS)
def test_query(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "a")
    wanted, count = FILTERS[name]
    found = query_audit(path, wanted)
    assert len(found) == count
    assert [r.number for r in found] == sorted(r.number for r in found)
    if count:
        assert found[-1].event == events(30)[found[-1].number - 1]
        assert json.dumps(found[-1].json())


def test_query_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="no such file"):
        query_audit(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def flip_a_bit(path: Path, column: str, number: int, at: int) -> None:
    """Flips one bit of one stored column."""
    connection = sqlite3.connect(path)
    (text,) = connection.execute(f"SELECT {column} FROM records WHERE number = ?", (number,)).fetchone()
    data = bytearray(text.encode())
    data[at % len(data)] ^= 0x01
    connection.execute(f"UPDATE records SET {column} = CAST(? AS TEXT) WHERE number = ?", (bytes(data), number))
    connection.commit()
    connection.close()


TAMPERING = {
    "removed": ("DELETE FROM records WHERE number = 7", 7),
    "removed first": ("DELETE FROM records WHERE number = 1", 1),
    "removed and renumbered": (
        "DELETE FROM records WHERE number = 7; UPDATE records SET number = number - 1 WHERE number > 7",
        7,
    ),
    "reordered": (
        (
            "UPDATE records SET number = 99 WHERE number = 4; UPDATE records SET number = 4 WHERE number = 5;"
            "UPDATE records SET number = 5 WHERE number = 99"
        ),
        4,
    ),
    "truncated": ("DELETE FROM records WHERE number > 20", 21),
    "emptied": ("DELETE FROM records", 1),
    "added": ("INSERT INTO records VALUES (31, '{}', 'x')", 31),
    "started moved": ("UPDATE chain SET started = started + 1", 1),
    "count moved": ("UPDATE chain SET count = 31", 31),
    "head moved": ("UPDATE chain SET head = 'x'", 30),
    "no chain row": ("DELETE FROM chain", 1),
    "another table": ("CREATE TABLE more (x)", 1),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END", 1),
    "no records table": ("DROP TABLE records", 1),
    "version": ("PRAGMA user_version = 9", 1),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found_and_named(tmp_path: Path, name: str) -> None:
    """THR-storage-audit-tampering."""
    path = written(tmp_path / "a")
    statement, number = TAMPERING[name]
    edit(path, statement)
    result = verify(path)
    assert isinstance(result, Broken)
    assert result.record_number == number, result.why


@given(st.sampled_from(["content", "hash"]), st.integers(1, 12), st.integers(0, 400))
@settings(max_examples=examples(60), deadline=None)
def test_one_bit_of_any_column_is_found_and_named(
    tmp_path_factory: pytest.TempPathFactory, column: str, number: int, at: int
) -> None:
    """THR-storage-audit-one-byte."""
    path = written(tmp_path_factory.mktemp("audit") / "a", 12)
    flip_a_bit(path, column, number, at)
    result = verify(path)
    assert isinstance(result, Broken)
    assert result.record_number == number


def test_a_flipped_byte_of_the_file_never_goes_unseen_where_records_are(tmp_path: Path) -> None:
    """A changed byte in a record's text names that record; one elsewhere changes no record unseen, and nothing raises."""
    path = written(tmp_path / "a", 12)
    data = path.read_bytes()
    marks = [(data.index(Entry.of(r.timestamp, r.event).content(r.number)), r) for r in query_audit(path)]
    rng = random.Random(5)
    copy = tmp_path / "copy"
    for start, record in marks:
        at = start + rng.randrange(len(Entry.of(record.timestamp, record.event).content(record.number)))
        copy.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        result = verify(copy)
        assert isinstance(result, Broken)
        assert result.record_number == record.number
    for at in [*range(0, 100, 3), *(rng.randrange(len(data)) for _ in range(150))]:
        copy.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        result = verify(copy)
        if isinstance(result, Verified):
            assert query_audit(copy) == query_audit(path)


@pytest.mark.parametrize("length", [0, 1, 50, 100, 1000, 4096, 5000, 9000])
def test_a_torn_file_gives_a_result(tmp_path: Path, length: int) -> None:
    path = written(tmp_path / "a")
    data = path.read_bytes()
    assert length < len(data)
    path.write_bytes(data[:length])
    result = verify(path)
    assert isinstance(result, Broken)
    assert result.why
    path.write_bytes(os.urandom(length + 1))
    assert isinstance(verify(path), Broken)


def test_what_is_no_log_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, and longer than one might think\n" * 100)
    edit(tmp_path / "other", "CREATE TABLE mine (x)")
    (tmp_path / "folder").mkdir()
    for name, fix in (("text", "remit audit verify"), ("other", "remit audit verify"), ("folder", "writable")):
        before = (tmp_path / name).read_bytes() if name != "folder" else b""
        with pytest.raises(AuditError) as caught:
            AuditLog(tmp_path / name)
        assert fix in caught.value.fix
        assert str(tmp_path / name) in caught.value.why
        if before:
            assert (tmp_path / name).read_bytes()[100:] == before[100:]


CHILD = """
import os, sys
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]))
print("ready", flush=True)
for i in range(int(sys.argv[2])):
    record = log.append(AuditEvent(kind=AuditKind.TOOL_INTENT, session_id=sys.argv[3], input_summary="x" * (i % 3000)))
    os.write(1, f"{record.number}\\n".encode())
"""


@pytest.mark.slow
def test_kill_9_leaves_a_chain_that_verifies(tmp_path: Path) -> None:
    """THR-storage-kill-audit: 20 kills, each at a random record; every record that `append` returned for is on disk."""
    path = tmp_path / "a"
    rng = random.Random(11)
    for _ in range(20):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), "100000", "s"], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(rng.randrange(1, 40)):
            line = child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        said = [line, *child.stdout.read().splitlines()]
        child.wait()
        child.stdout.close()
        reported = max((int(x) for x in said if x.strip().isdigit()), default=0)
        result = verify(path)
        assert isinstance(result, Verified), result
        assert result.count >= reported
    assert second_opinion(path)


@pytest.mark.slow
def test_two_processes_keep_one_chain(tmp_path: Path) -> None:
    """THR-storage-two-servers."""
    path = tmp_path / "a"
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(path), "60", f"s{i}"], stdout=subprocess.DEVNULL)
        for i in range(3)
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert verify(path).count == 180  # type: ignore[union-attr]
    assert second_opinion(path)
    assert len({r.event.session_id for r in query_audit(path)}) == 3


def test_threads_share_one_log(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "a") as log:
        threads = [threading.Thread(target=lambda: [log.append(e) for e in events(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Verify while the log is open, from another connection.
        assert verify(tmp_path / "a").count == 80  # type: ignore[union-attr]


def test_a_damaged_write_ahead_log_is_found(tmp_path: Path) -> None:
    """SQLite itself would drop the records after the damage, and the chain would still look whole."""
    log = AuditLog(tmp_path / "a")
    for event in events(20):
        log.append(event)
    # The files after a crash: the database and its write-ahead log, without a checkpoint.
    for name in ("a", "a-wal"):
        shutil.copy(tmp_path / name, tmp_path / f"left{name[1:]}")
    log.close()
    assert verify(tmp_path / "left").count == 20  # type: ignore[union-attr]
    wal = bytearray((tmp_path / "left-wal").read_bytes())
    wal[len(wal) // 2] ^= 0x01
    (tmp_path / "left-wal").write_bytes(wal)
    (tmp_path / "left-shm").unlink(missing_ok=True)
    result = verify(tmp_path / "left")
    assert isinstance(result, Broken)
    assert SAYS.write_ahead_log in result.why
    assert 1 <= result.record_number < 20


LIMITED = """
import resource, signal, sys
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError
log = AuditLog(Path(sys.argv[1]))
log.append(AuditEvent(kind=AuditKind.TOOL_INTENT))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
done = 1
try:
    for _ in range(1000):
        log.append(AuditEvent(kind=AuditKind.TOOL_INTENT, input_summary="x" * 500))
        done += 1
except AuditError as error:
    print(done, error.what, "|", error.fix)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(log.append(AuditEvent(kind=AuditKind.TOOL_INTENT)).number)
"""


def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    """THR-storage-disk-full: the append fails with a reason, the chain stays whole, and goes on when there is room
    again."""
    path = tmp_path / "a"
    run = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    first, last = run.stdout.splitlines()
    assert "the audit log cannot be written | " in first
    assert "space" in first
    assert int(last) == int(first.split()[0]) + 1
    assert verify(path).count == int(last)  # type: ignore[union-attr]


READ_ONLY = """
import os, sys
from pathlib import Path
from remit_governance.audit.store import AuditLog
from remit_governance.audit.reading.verify import verify
from remit_governance.errors import AuditError
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
print(type(verify(Path(sys.argv[1]))).__name__)
try:
    AuditLog(Path(sys.argv[1]))
except AuditError as error:
    print(error.what, "|", error.why, "|", error.fix)
"""


def test_a_read_only_log_refuses_and_can_be_verified(tmp_path: Path) -> None:
    """THR-storage-read-only."""
    path = written(tmp_path / "d" / "a", 3)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    if os.geteuid() == 0:
        for folder in (tmp_path, *tmp_path.parents[:3]):
            folder.chmod(0o755)
    try:
        run = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True, check=True)
    finally:
        path.parent.chmod(0o755)
    verified, refused = run.stdout.splitlines()
    assert verified == "Verified"
    assert refused.startswith("the audit log cannot be opened | ")
    assert "writable" in refused.split(" | ")[2]


TEXT = st.text(max_size=20) | st.text(st.characters(categories=["Cs", "Cc", "Ll"]), max_size=5)


PAIR = re.compile(r"\\ud[89ab]..\\ud[c-f]")
EVENTS = st.builds(
    AuditEvent,
    kind=st.sampled_from(AuditKind),
    session_id=st.none() | TEXT,
    step=st.none() | st.integers(0, 99),
    intent=st.none() | st.sampled_from(Intent),
    duration_ms=st.none() | st.floats(0, 1e6),
    input_summary=TEXT,
    metadata=st.dictionaries(TEXT, TEXT, max_size=2),
)


@given(EVENTS, st.integers(1, 10**9), st.integers(0, 2**53))
def test_a_record_reads_back_as_written(event: AuditEvent, number: int, timestamp: int) -> None:
    content = Entry.of(timestamp, event).content(number)
    read = read_content(content.decode("utf-8"))
    if not PAIR.search(content.decode("utf-8")):  # two surrogates read one way in JSON, but Python has two forms
        assert read == (number, timestamp, event)
    assert read_content(Entry.of(*read[1:]).content(read[0]).decode("utf-8")) == read


@given(EVENTS, st.integers(1, 10**9), st.integers(0, 2**53))
def test_a_record_is_canonical_json(event: AuditEvent, number: int, timestamp: int) -> None:
    """The fast encoder of records gives the same bytes as the general one."""
    fields = {f.name: getattr(event, f.name) for f in dataclasses.fields(event)}
    present = {name: value for name, value in fields.items() if value is not None and value != {}}
    assert Entry.of(timestamp, event).content(number) == canonical(
        {"number": number, "timestamp": timestamp, **present}
    )


def test_every_kind_of_event_can_be_stored(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "a") as log:
        for kind in AuditKind:
            log.append(AuditEvent(kind=kind, input_summary="\ud800 \x00 \U0001f600"))
    assert isinstance(verify(tmp_path / "a"), Verified)
    assert {r.event.kind for r in query_audit(tmp_path / "a")} == set(AuditKind)
