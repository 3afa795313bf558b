"""Which records may wait for the disk: a power cut loses at most half a second of declared intents and plain reads, and
never a security event; the end of a process loses neither (AUD-01)."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from audit_logs import second_opinion
from examples import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from messages import SAYS

from remit_governance.audit.proof.head import MemoryHead, SignedHead, StoredHead
from remit_governance.audit.proof.keys import MemoryVault
from remit_governance.audit.proof.sealing import MemoryPlace, Notary, Sealer
from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import OPERATIONAL, SECURITY, AuditEvent, AuditKind, may_wait
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError

DECLARED = AuditEvent(AuditKind.INTENT_SELECTED)
REFUSED = AuditEvent(AuditKind.APPROVAL_REFUSED)
READ = AuditEvent(AuditKind.TOOL_OUTCOME, syscall_type="fs.read", policy_decision="allowed")
ALL = AuditFilter(limit=None)


def said(path: Path) -> list[str]:
    return [record.event.input_summary for record in query_audit(path, ALL)]


def test_of_all_kinds_only_a_declared_intent_and_how_work_goes_on_may_wait() -> None:
    """AUD-02: no kind that concerns security may wait."""
    assert {kind for kind in AuditKind if may_wait(AuditEvent(kind))} == OPERATIONAL - SECURITY
    assert AuditKind.INTENT_SELECTED in OPERATIONAL


CALLS = {
    "a read that was allowed": (READ, True),
    "a list that a token allowed": (replace(READ, syscall_type="fs.list", policy_decision="allowed_by_token"), True),
    "a write": (replace(READ, syscall_type="fs.write"), False),
    "a command": (replace(READ, syscall_type="process.exec"), False),
    "a read that failed": (replace(READ, deny_reason="no such file"), False),
    "a read that was asked about": (replace(READ, policy_decision="review_required"), False),
    "a read that was denied": (replace(READ, policy_decision="denied"), False),
    "nothing is known": (replace(READ, syscall_type=None), False),
    "something was changed": (replace(READ, metadata={"changed": "a.py"}), False),
}


@pytest.mark.parametrize("kind", [AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME])
@pytest.mark.parametrize("name", CALLS)
def test_of_calls_only_a_plain_read_may_wait(name: str, kind: AuditKind) -> None:
    event, expected = CALLS[name]
    assert may_wait(replace(event, kind=kind)) is expected


class WatchedHead(MemoryHead):
    """Reports when a head is signed, which happens after each durable write and never before one."""

    def __init__(self) -> None:
        super().__init__()
        self.signed = threading.Event()

    def write(self, signed: SignedHead, before: bytes, *, durable: bool) -> bytes:
        self.signed.set()
        return super().write(signed, before, durable=durable)

    @property
    def count(self) -> int:
        head = StoredHead.read(self.data or b"").signed
        return head.head.count if head else 0


def sealed(path: Path, max_age_s: float) -> tuple[AuditLog, WatchedHead]:
    heads = WatchedHead()
    notary = Notary(MemoryPlace(), MemoryVault(), heads)
    notary.prepare()
    return AuditLog(path, max_age_s=max_age_s, sealer=Sealer(notary, lambda: 1)), heads


def test_what_waits_becomes_durable_with_what_comes_after_it(tmp_path: Path) -> None:
    log, heads = sealed(tmp_path / "a", max_age_s=600)
    with log:
        for name in "abc":
            log.write(replace(DECLARED, input_summary=name))
        assert said(tmp_path / "a") == ["a", "b", "c"], "it is in the log at once"
        assert heads.count == 0, "and nothing vouches for what a power cut may take"
        log.write(replace(REFUSED, input_summary="d"))
        assert heads.count == 4
        log.write(replace(DECLARED, input_summary="e"))
        assert heads.count == 4
        log.flush()
        assert heads.count == 5
        log.write(replace(DECLARED, input_summary="f"))
    assert heads.count == 6, "closing makes durable what waits"
    assert said(tmp_path / "a") == list("abcdef")
    assert isinstance(verify(tmp_path / "a"), Verified)


def test_what_waits_becomes_durable_by_itself(tmp_path: Path) -> None:
    log, heads = sealed(tmp_path / "a", max_age_s=0.05)
    with log:
        for expected in (1, 2):
            heads.signed.clear()
            log.write(DECLARED)
            assert heads.signed.wait(60)
            assert heads.count == expected


NO_SYNC = """
import errno, os, pyseccomp, sys
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError
log = AuditLog(Path(sys.argv[1]), max_age_s=600)
broken = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
for call in ("fsync", "fdatasync", "sync_file_range"):
    broken.add_rule(pyseccomp.ERRNO(errno.EIO), call)
broken.load()
log.write(AuditEvent(AuditKind.INTENT_SELECTED, input_summary="waits"))
for durable in (lambda: log.append(AuditEvent(AuditKind.INTENT_SELECTED, input_summary="refused")), log.flush):
    try:
        durable()
    except AuditError as error:
        print(error, flush=True)
os._exit(0)
"""


def test_thr_storage_a_disk_that_cannot_sync_refuses_what_must_be_durable(tmp_path: Path) -> None:
    """Only records that may wait are accepted then; every other accepted record is on the disk."""
    pytest.importorskip("pyseccomp", reason="libseccomp is not here", exc_type=Exception)
    path = tmp_path / "a"
    child = subprocess.run(
        [sys.executable, "-c", NO_SYNC, str(path)], check=True, capture_output=True, text=True, timeout=60
    )
    assert child.stdout.count(SAYS.the_audit_log_cannot_be) == 2, child.stdout + child.stderr
    assert said(path)[0] == "waits"


def test_a_record_keeps_the_time_when_it_happened(tmp_path: Path) -> None:
    times = iter([1, 10, 20, 30])
    with AuditLog(tmp_path / "a", clock=lambda: next(times), max_age_s=600) as log:
        log.write(DECLARED)
        log.write(DECLARED)
        log.append(REFUSED)
    assert [record.timestamp for record in query_audit(tmp_path / "a")] == [10, 20, 30]


def test_what_cannot_be_said_is_refused_by_itself(tmp_path: Path) -> None:
    """It is refused at once, and not later together with other records."""
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        with pytest.raises(ValueError, match="JSON"):
            log.write(replace(DECLARED, duration_ms=float("nan")))
        log.write(DECLARED)
    assert len(said(tmp_path / "a")) == 1


def test_a_closed_log_takes_nothing_more(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "a")
    log.close()
    log.close()
    for event in (DECLARED, REFUSED):
        with pytest.raises(AuditError, match="cannot be written"):
            log.write(event)
    assert said(tmp_path / "a") == []


def test_thr_storage_disk_full(tmp_path: Path) -> None:
    """THR-storage-disk-full: new records are refused; the recorded ones stay, in order and each once."""
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        log.write(replace(DECLARED, input_summary="before"))
        log._chain._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(AuditError, match="free some disk space|full"):
            log.append(replace(REFUSED, input_summary="x" * 20_000))
        for number in range(300):
            with pytest.raises(AuditError):
                log.write(replace(DECLARED, input_summary=f"{number}" + "y" * 5_000))
        log._chain._connection.execute("PRAGMA max_page_count = 1000000")
        log.append(replace(REFUSED, input_summary="after"))
        log.write(replace(DECLARED, input_summary="last"))
    assert said(tmp_path / "a") == ["before", "after", "last"]
    assert second_opinion(tmp_path / "a")


def test_threads_keep_their_own_order(tmp_path: Path) -> None:
    def work(name: str) -> None:
        for number in range(40):
            log.write(replace(REFUSED if number % 7 == 0 else DECLARED, session_id=name, step=number))

    with AuditLog(tmp_path / "a", max_age_s=0.001) as log:
        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    records = query_audit(tmp_path / "a", ALL)
    for name in "abc":
        assert [r.event.step for r in records if r.event.session_id == name] == list(range(40))
    assert second_opinion(tmp_path / "a")


def test_what_waited_when_its_process_died_is_in_the_log_and_its_call_is_settled(tmp_path: Path) -> None:
    path = tmp_path / "a"
    child = """
import os, sys
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]), clock=lambda: 7, max_age_s=600)
log.write(AuditEvent(AuditKind.TOOL_INTENT, tool_call_id="c \\udcff", syscall_type="fs.read", policy_decision="allowed"))
os.abort()
"""
    with AuditLog(path, max_age_s=600) as living:
        living.write(replace(DECLARED, input_summary="mine"))
        subprocess.run([sys.executable, "-c", child, str(path)], check=False)
        mine, theirs = query_audit(path)
        assert mine.event.input_summary == "mine"
        assert (theirs.event.tool_call_id, theirs.timestamp) == ("c \udcff", 7)
        with AuditLog(path) as log:
            assert log.settle() == 0, "somebody else has the log open"
    with AuditLog(path) as log:
        assert log.settle() == 1, "whether the read was done is not known"


class Waiting(RuleBasedStateMachine):
    """The log, compared with two lists: the records on the disk, and those that wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "a"
        self.wal = self.folder / "a-wal"
        self.log = AuditLog(self.path, max_age_s=600)
        self.disk: list[str] = []
        self.waiting: list[str] = []
        self.written = 0
        self.reached_the_disk()

    def event(self, like: AuditEvent) -> AuditEvent:
        self.written += 1
        return replace(like, input_summary=str(self.written))

    @rule()
    def may_wait(self) -> None:
        self.log.write(self.event(DECLARED))
        self.waiting.append(str(self.written))

    @rule()
    def many(self) -> None:
        for _ in range(33):
            self.may_wait()

    @rule()
    def security(self) -> None:
        self.log.write(self.event(REFUSED))
        self.waiting.append(str(self.written))
        self.reached_the_disk()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.reached_the_disk()

    @rule()
    def somebody_else_writes(self) -> None:
        with AuditLog(self.path) as other:
            other.append(self.event(REFUSED))
        self.waiting.append(str(self.written))
        self.reached_the_disk()

    @rule()
    def rotate(self) -> None:
        self.log.close_segment(self.log.segment().ordinal)
        self.reached_the_disk()

    @rule()
    def shut_down(self) -> None:
        self.log.close()
        self.log = AuditLog(self.path, max_age_s=600)
        self.reached_the_disk()

    def copied(self, name: str) -> Path:
        """Returns a copy of the files as another process would find them."""
        after = self.folder / f"{name}{self.written}"
        shutil.rmtree(after, ignore_errors=True)
        after.mkdir()
        for file in self.folder.glob("a*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, after / file.name)
        return after

    @rule()
    def crash(self) -> None:
        """The end of a process loses no record, and the next process goes on from there."""
        after = self.copied("crash")
        assert said(after / "a") == self.disk + self.waiting
        assert isinstance(verify(after / "a"), Verified)
        with AuditLog(after / "a") as log:
            log.append(replace(REFUSED, input_summary="next"))
        assert said(after / "a") == [*self.disk, *self.waiting, "next"]
        assert second_opinion(after / "a")

    @rule(share=st.floats(0, 1))
    def power_cut(self, share: float) -> None:
        """The write-ahead log was synced up to some point; what follows it may be lost completely or in part."""
        after = self.copied("cut")
        wal = after / "a-wal"
        data = wal.read_bytes()
        wal.write_bytes(data[: self.synced + int((len(data) - self.synced) * share)])
        assert isinstance(verify(after / "a"), Verified)
        AuditLog(after / "a").close()
        left = said(after / "a")
        assert left == (self.disk + self.waiting)[: len(left)]
        assert len(left) >= len(self.disk)
        assert second_opinion(after / "a")

    def reached_the_disk(self) -> None:
        self.disk += self.waiting
        self.waiting.clear()
        self.synced = self.wal.stat().st_size

    @invariant()
    def all_is_in_the_log(self) -> None:
        assert said(self.path) == self.disk + self.waiting

    def teardown(self) -> None:
        self.log.close()
        assert said(self.path) == self.disk + self.waiting
        assert second_opinion(self.path)
        shutil.rmtree(self.folder)


Waiting.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=25, deadline=None)
TestWaiting = Waiting.TestCase


CHILD = """
import os, sys
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 10**9):
    security = number % 5 == 0
    log.write(AuditEvent(AuditKind.APPROVAL_REFUSED if security else AuditKind.INTENT_SELECTED, step=number))
    os.write(1, f"{number}\\n".encode())
"""


@pytest.mark.slow
def test_thr_storage_kill_while_records_wait(tmp_path: Path) -> None:
    """THR-storage-kill-audit-buffered: 15 kills. No acknowledged record is lost or there twice, whether it is a
    security event or one that waited; the order and the chain hold."""
    path = tmp_path / "a"
    luck = random.Random(5)
    start = 0
    for _ in range(15):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(start)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(luck.randrange(1, 60))]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().splitlines()
        child.wait()
        child.stdout.close()
        acknowledged = max(int(line) for line in lines if line.strip())
        assert isinstance(verify(path), Verified)
        with closing(sqlite3.connect(path)) as database:
            sql = "SELECT json_extract(content, '$.step') FROM records ORDER BY number"
            steps = [step for (step,) in database.execute(sql)]
        of_this_run = [step for step in steps if step >= start]
        assert of_this_run == list(range(start, start + len(of_this_run))), "no gap, no change of order"
        assert of_this_run[-1] >= acknowledged
        start = acknowledged + 1_000
    assert second_opinion(path)
