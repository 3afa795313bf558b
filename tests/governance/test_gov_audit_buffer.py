"""What may wait and what may not: a power cut loses operational records of half a second at most, never a security
event; the end of a process loses neither (003 §Sync/Async Write Strategy; architecture.md, invariant 6)."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from audit_logs import second_opinion
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from remit_governance.audit.buffer import MAX_AGE_S, MAX_WAITING, OPERATIONAL, may_wait
from remit_governance.audit.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditEvent, AuditKind, Entry
from remit_governance.audit.store import AuditLog
from remit_governance.audit.verify import Verified, verify
from remit_governance.errors import AuditError

OPENED = AuditEvent(AuditKind.RUN_STARTED)
DENIED = AuditEvent(AuditKind.DENIED)
READ = AuditEvent(AuditKind.TOOL_OUTCOME, syscall_type="fs.read", policy_decision="allowed")
ALL = AuditFilter(limit=None)


def said(path: Path) -> list[str]:
    return [record.event.input_summary for record in query_audit(path, ALL)]


def test_what_the_seed_lists_is_never_left_waiting() -> None:
    """003 SYNC_EVENTS, and what governance.md §7 adds to them."""
    at_once = {
        *("policy_update", "merge_approved", "merge_rejected", "session_mode_change", "capability_issued"),
        *("approval_required", "approval_resolved", "approval_refused", "denied", "checkpoint", "tool_intent"),
        *("kernel_start", "kernel_shutdown", "sandbox_failed", "state_transition", "tool_outcome"),
        *("network_allowed", "network_denied", "committed"),
        *("audit_chain_break", "audit_storage_warning", "audit_storage_critical", "audit_archive_deleted"),
        "audit_set_aside",
    }
    assert {kind.value for kind in AuditKind} == at_once | {kind.value for kind in OPERATIONAL}
    assert not any(may_wait(AuditEvent(kind)) for kind in AuditKind if kind.value in at_once)
    assert all(may_wait(AuditEvent(kind)) for kind in OPERATIONAL)


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


def test_what_waits_is_written_before_what_comes_after_it(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        for name in "abc":
            log.write(replace(OPENED, input_summary=name))
        assert said(tmp_path / "a") == []
        log.write(replace(DENIED, input_summary="d"))
        assert said(tmp_path / "a") == ["a", "b", "c", "d"]
        log.write(replace(OPENED, input_summary="e"))
    assert said(tmp_path / "a") == ["a", "b", "c", "d", "e"], "closing writes what waits"
    assert isinstance(verify(tmp_path / "a"), Verified)


def test_a_record_keeps_the_time_when_it_happened(tmp_path: Path) -> None:
    times = iter([1, 10, 20, 30])
    with AuditLog(tmp_path / "a", clock=lambda: next(times), max_age_s=600) as log:
        log.write(OPENED)
        log.write(OPENED)
        log.append(DENIED)
    assert [record.timestamp for record in query_audit(tmp_path / "a")] == [10, 20, 30]


def test_nothing_waits_longer_than_half_a_second(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "a") as log:
        for expected in (1, 2):
            begun = time.monotonic()
            log.write(OPENED)
            while len(said(tmp_path / "a")) < expected:
                assert time.monotonic() - begun < 60
                time.sleep(0.01)
            assert time.monotonic() - begun > MAX_AGE_S * 0.5, "it was not written at once"


def test_no_more_than_a_hundred_wait(tmp_path: Path) -> None:
    grown = list[int]()
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        log.grown = grown.append
        for number in range(MAX_WAITING):
            assert said(tmp_path / "a") == [], number
            log.write(OPENED)
        assert len(said(tmp_path / "a")) == MAX_WAITING
    assert grown == [MAX_WAITING]


def test_what_cannot_be_said_is_refused_by_itself(tmp_path: Path) -> None:
    """And not later, in the middle of others."""
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        with pytest.raises(ValueError, match="JSON"):
            log.write(replace(OPENED, duration_ms=float("nan")))
        log.write(OPENED)
    assert len(said(tmp_path / "a")) == 1


def test_a_closed_log_takes_nothing_more(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "a")
    log.close()
    log.close()
    for event in (OPENED, DENIED):
        with pytest.raises(AuditError, match="cannot be written"):
            log.write(event)
    assert said(tmp_path / "a") == []


def test_thr_storage_disk_full_while_buffering(tmp_path: Path) -> None:
    """THR-storage-disk-full: what waits goes on waiting, what comes is refused, nothing is lost, all in order."""
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        log.write(replace(OPENED, input_summary="before"))
        log._chain._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(AuditError, match="free some disk space|full"):
            log.append(replace(DENIED, input_summary="x" * 20_000))
        for number in range(300):
            with pytest.raises(AuditError):
                log.write(replace(OPENED, input_summary=f"{number}" + "y" * 5_000))
        log._chain._connection.execute("PRAGMA max_page_count = 1000000")
        log.append(replace(DENIED, input_summary="after"))
        log.write(replace(OPENED, input_summary="last"))
        assert said(tmp_path / "a") == ["before", "after"], "it waits again"
    assert said(tmp_path / "a") == ["before", "after", "last"]
    assert second_opinion(tmp_path / "a")


def test_threads_keep_their_own_order(tmp_path: Path) -> None:
    def work(name: str) -> None:
        for number in range(40):
            log.write(replace(DENIED if number % 7 == 0 else OPENED, session_id=name, step=number))

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


def test_what_waited_when_its_process_died_is_recorded_when_the_log_is_next_opened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    child = "import os, sys; exec(sys.argv[2]); log.write(READ); print('written', flush=True); os.abort()"
    setup = """
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]), clock=lambda: 7)
READ = AuditEvent(AuditKind.TOOL_INTENT, tool_call_id="c \\udcff", syscall_type="fs.read", policy_decision="allowed")
"""
    with AuditLog(path, max_age_s=600) as living:
        living.write(replace(OPENED, input_summary="mine"))
        subprocess.run([sys.executable, "-c", child, str(path), setup], check=False, stdout=subprocess.PIPE)
        assert said(path) == [], "nobody has opened the log since"
        with AuditLog(path) as log:
            (record,) = query_audit(path)
            assert (record.event.tool_call_id, record.timestamp) == ("c \udcff", 7)
            assert log.settle() == 0, "somebody else has the log open"
        assert len(list(tmp_path.glob("a.waiting.*"))) == 1, "that of the living process is its own"
    assert said(path) == ["", "mine"]
    with AuditLog(path) as log:
        assert log.settle() == 1, "whether the read was done is not known"


def test_thr_storage_foreign_lines_in_a_spool(tmp_path: Path) -> None:
    """What is no record of ours never gets into the chain, and what is stays in order."""
    path = tmp_path / "a"
    AuditLog(path).close()
    good = [Entry.of(at, replace(OPENED, input_summary=f"{at}")).content(0) for at in (1, 2, 3)]
    junk = [b"", b"{}", b"\xff", b'{"kind":"nothing","number":0,"timestamp":1}', b"[" * 100_000]
    lines = [good[0], *junk, good[1], good[1][:-5], good[2]]
    (tmp_path / "a.waiting.00").write_bytes(b"\n".join(lines) + b"\n" + good[0][:40])
    AuditLog(path).close()
    assert said(path) == ["1", "2", "3"]
    assert second_opinion(path)


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a link"])
def test_thr_storage_what_is_no_file_in_a_spools_place_holds_nothing_up(tmp_path: Path, kind: str) -> None:
    """The log cannot be opened then, and says which file it is; a pipe would be read for ever."""
    spool = tmp_path / "a.waiting.00"
    {"a pipe": os.mkfifo, "a folder": Path.mkdir, "a link": lambda at: at.symlink_to("/etc/hostname")}[kind](spool)
    opening = (
        "import sys; from pathlib import Path; from remit_governance.audit.store import AuditLog\n"
        "AuditLog(Path(sys.argv[1]))"
    )
    tried = subprocess.run(
        [sys.executable, "-c", opening, str(tmp_path / "a")], check=False, capture_output=True, text=True, timeout=60
    )
    assert tried.returncode == 1
    assert f"AuditError: the audit log cannot be opened: {tmp_path / 'a'}: " in tried.stderr
    assert str(spool) in tried.stderr


def test_where_nothing_can_be_spooled_nothing_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or a file system without locks: what cannot be kept for later is recorded at once."""

    def full(*asked: object) -> int:
        raise OSError(28, "No space left on device")

    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        log.write(replace(OPENED, input_summary="a"))
        with monkeypatch.context() as broken:
            broken.setattr("os.pwrite", full)
            log.write(replace(OPENED, input_summary="b"))
            assert said(tmp_path / "a") == ["a", "b"]
            broken.setattr("os.pwrite", lambda fd, data, offset: 5)
            log.write(replace(OPENED, input_summary="c"))
            assert said(tmp_path / "a") == ["a", "b", "c"]
        log.write(replace(OPENED, input_summary="d"))
        assert said(tmp_path / "a") == ["a", "b", "c"]
    with AuditLog(tmp_path / "a", max_age_s=600) as log:
        monkeypatch.setattr("fcntl.flock", full)
        log.write(replace(OPENED, input_summary="e"))
        assert said(tmp_path / "a") == ["a", "b", "c", "d", "e"]
        assert not list(tmp_path.glob("a.waiting.*"))


class Buffering(RuleBasedStateMachine):
    """The log beside two lists: what is on the disk, and what waits."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "a"
        self.log = AuditLog(self.path, max_age_s=600)
        self.disk: list[str] = []
        self.waiting: list[str] = []
        self.written = 0

    def event(self, like: AuditEvent) -> AuditEvent:
        self.written += 1
        return replace(like, input_summary=str(self.written))

    @rule()
    def operational(self) -> None:
        self.log.write(self.event(OPENED))
        self.waiting.append(str(self.written))
        if len(self.waiting) == MAX_WAITING:
            self.reached_the_disk()

    @rule()
    def many(self) -> None:
        for _ in range(33):
            self.operational()

    @rule()
    def security(self) -> None:
        self.log.write(self.event(DENIED))
        self.waiting.append(str(self.written))
        self.reached_the_disk()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.reached_the_disk()

    @rule()
    def somebody_else_writes(self) -> None:
        with AuditLog(self.path) as other:
            other.append(self.event(DENIED))
        self.disk.append(str(self.written))

    @rule()
    def rotate(self) -> None:
        self.log.close_segment(self.log.segment().ordinal)
        self.reached_the_disk()

    @rule()
    def shut_down(self) -> None:
        self.log.close()
        self.reached_the_disk()
        self.log = AuditLog(self.path, max_age_s=600)

    @rule()
    def crash(self) -> None:
        """What is there is copied as the end of the process leaves it; what waits is recorded by whoever comes next."""
        after = self.folder / f"crash{self.written}"
        after.mkdir(exist_ok=True)
        for file in self.folder.glob("a*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, after / file.name)
        assert said(after / "a") == self.disk
        assert isinstance(verify(after / "a"), Verified)
        spools = {file: file.read_bytes() for file in after.glob("a.waiting.*")}
        for _ in range(2):
            AuditLog(after / "a").close()
            assert said(after / "a") == self.disk + self.waiting
            assert not list(after.glob("a.waiting.*"))
            for file, lines in spools.items():  # as if it had died before they were removed
                file.write_bytes(lines)
        assert second_opinion(after / "a")
        shutil.rmtree(after)

    @rule()
    def power_cut(self) -> None:
        """The spool was never synced: it may be gone, or any part of it."""
        after = self.folder / f"cut{self.written}"
        after.mkdir(exist_ok=True)
        for file in self.folder.glob("a*"):
            if not file.name.endswith("-shm"):
                data = file.read_bytes()
                (after / file.name).write_bytes(data[: len(data) // 2] if ".waiting." in file.name else data)
        AuditLog(after / "a").close()
        assert said(after / "a") == (self.disk + self.waiting)[: len(said(after / "a"))]
        assert len(said(after / "a")) >= len(self.disk)
        assert second_opinion(after / "a")
        shutil.rmtree(after)

    def reached_the_disk(self) -> None:
        self.disk += self.waiting
        self.waiting.clear()

    @invariant()
    def only_that_is_on_the_disk(self) -> None:
        assert said(self.path) == self.disk

    def teardown(self) -> None:
        self.log.close()
        self.reached_the_disk()
        assert said(self.path) == self.disk
        assert second_opinion(self.path)
        shutil.rmtree(self.folder)


Buffering.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestBuffering = Buffering.TestCase


CHILD = """
import os, sys
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 10**9):
    security = number % 5 == 0
    log.write(AuditEvent(AuditKind.DENIED if security else AuditKind.RUN_STARTED, step=number))
    os.write(1, f"{number}\\n".encode())
"""


@pytest.mark.slow
def test_thr_storage_kill_while_buffering(tmp_path: Path) -> None:
    """THR-storage-kill-audit-buffered: 15 kills. Nothing that was acknowledged is lost or there twice, be it a security
    event or one that waited; order holds, and so does the chain."""
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
        AuditLog(path).close()
        with closing(sqlite3.connect(path)) as database:
            sql = "SELECT json_extract(content, '$.step') FROM records ORDER BY number"
            steps = [step for (step,) in database.execute(sql)]
        of_this_run = [step for step in steps if step >= start]
        assert of_this_run == list(range(start, start + len(of_this_run))), "no gap, no change of order"
        assert of_this_run[-1] >= acknowledged
        start = acknowledged + 1_000
    assert second_opinion(path)
