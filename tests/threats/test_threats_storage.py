"""The audit log of real runs: killed, out of disk space, damaged and rewritten (FILE-04). Each test runs
`remit audit verify` in a process of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from audit_logs import recompute
from command_line import CommandLine, Done, start_server
from lsp_pipe import PipeClient
from messages import SAYS
from threat_bench import own

from remit_governance.audit.proof.head import HeadFile
from remit_governance.audit.proof.keys import FileVault
from remit_governance.audit.proof.sealing import CheckpointFile, Notary, Sealer
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog

pytestmark = [pytest.mark.slow]

WRITE = ("run-tool", "write_file", '{"path": "new.py", "content": "x"}', "--intent", "CODE", "--json")
READ = ("run-tool", "read_file", '{"path": "a.py"}', "--intent", "READ_FILE", "--json")


@pytest.fixture
def used(remit: CommandLine) -> CommandLine:
    """`remit` after a read and a write."""
    assert remit(*READ).code == 0
    assert remit(*WRITE).code == 0
    return remit


def database(remit: CommandLine) -> Path:
    (found,) = remit.state.rglob("audit.sqlite3")
    return found


def serve(remit: CommandLine) -> PipeClient:
    client = start_server(remit.environment)
    client.initialize(remit.workspace)
    return client


def good(remit: CommandLine) -> bool:
    done = remit("audit", "verify", "--json")
    assert done.json["ok"] is (done.code == 0)
    return done.code == 0


def test_THR_storage_kill_9_among_appends(remit: CommandLine) -> None:
    """THR-storage-kill-append: 8 servers are killed while calls stream in; each write that a server reported is in the
    log."""
    for number, delay in enumerate((0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3)):
        client = serve(remit)
        client.result(client.run(f"{number}-first", own("write_file", path=f"{number}.py", content="x")))
        for more in range(200):
            client.run(f"{number}-{more}", own("read_file", path="a.py"))
        time.sleep(delay)
        client.kill()
        assert good(remit)
    outcomes = remit("audit", "log", "--json", "--tool", "write_file", "--limit", "1000").lines
    assert sum(r["kind"] == AuditKind.TOOL_OUTCOME and "deny_reason" not in r for r in outcomes) == 8


def _refused(done: Done) -> bool:
    errors = [line["error"] for line in done.lines if line.get("error")]
    errors += [e["error"] for e in done.of("tool_result") if e["error"]]
    return done.code != 0 and any(error["code"] in {"audit_broken", "internal"} for error in errors)


def test_THR_storage_full_disk_stops_what_cannot_be_recorded(used: CommandLine, tmp_path: Path) -> None:
    """THR-storage-full-disk: the files of the log may not grow beyond a limit, tried at several sizes."""
    (used.workspace / "new.py").unlink()
    used("audit", "checkpoint")
    wal = database(used).stat().st_size
    refused = 0
    for limit in (0, 4_096, 12_288, wal // 2, wal, wal + 8_192):
        done = used(*WRITE, before=("prlimit", f"--fsize={limit}", "--"))
        written = (used.workspace / "new.py").exists()
        if done.code != 0:
            assert not written, limit
            refused += 1
        (used.workspace / "new.py").unlink(missing_ok=True)
        assert good(used), limit
    assert refused
    assert used(*WRITE).code == 0
    assert good(used)


def test_THR_storage_read_only_disk_stops_what_cannot_be_recorded(used: CommandLine) -> None:
    """THR-storage-read-only."""
    bwrap = shutil.which("bwrap") or pytest.skip("there is no bwrap: apt-get install bubblewrap")
    (used.workspace / "new.py").unlink()
    done = used(*WRITE, before=(bwrap, "--dev-bind", "/", "/", "--ro-bind", str(used.state), str(used.state), "--"))
    assert done.code != 0
    assert not (used.workspace / "new.py").exists()
    assert good(used)


def test_THR_storage_torn_line_of_a_checkpoint(used: CommandLine) -> None:
    """THR-storage-torn-line: a checkpoint's line that a crash cut short is noted, and the next checkpoint is written
    whole."""
    (lines,) = (used.state / "data").rglob("*.jsonl")
    whole = lines.read_bytes()
    lines.write_bytes(whole + whole.splitlines()[-1][:40])
    assert used(*READ).code == 0
    done = used("audit", "verify", "--json")
    assert (done.code, done.json["ok"]) == (0, True)


@pytest.mark.parametrize("length", [0, 1, 100, 4_096, 5_000])
def test_THR_storage_torn_database(length: int, used: CommandLine) -> None:
    """THR-storage-corrupt-database: a log that was cut anywhere never counts as whole, and no call runs unrecorded."""
    for name in ("-wal", "-shm"):
        database(used).with_name(database(used).name + name).unlink(missing_ok=True)
    os.truncate(database(used), length)
    (used.workspace / "new.py").unlink()
    done = used(*WRITE)
    assert (used.workspace / "new.py").exists() is (done.code == 0)
    verified = used("audit", "verify", "--json")
    assert verified.code != 0 or SAYS.an_earlier_log_of in "".join(verified.json["notes"]), length


def test_THR_storage_rubbish_in_the_database(used: CommandLine) -> None:
    data = bytearray(database(used).read_bytes())
    data[len(data) // 3 : len(data) // 3 + 2_000] = os.urandom(2_000)
    database(used).write_bytes(data)
    assert not good(used)
    used(*READ)
    assert not good(used) or SAYS.was_set_aside_as in str(used("audit", "verify", "--json").json["notes"])


def test_OBS_04_a_damaged_page_is_found_at_the_next_start_and_the_next_log_says_so(used: CommandLine) -> None:
    """OBS-04: the damaged file is kept byte for byte, and a record of the new log has its digest."""
    file = database(used)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(file.read_bytes())
    data[(page - 1) * size : (page - 1) * size + 64] = b"\xff" * 64
    file.write_bytes(data)
    used(*READ)
    (old,) = file.parent.glob(f"{file.name}.set-aside-*Z")
    assert old.read_bytes() == bytes(data)
    records = [json.loads(line) for line in used("audit", "log", "--json", "-n", "100").out.splitlines()]
    (said,) = [record for record in records if record["kind"] == "audit_set_aside"]
    assert said["metadata"]["file"] == old.name
    assert said["metadata"]["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_THR_storage_two_servers_on_one_workspace(remit: CommandLine) -> None:
    """THR-storage-two-servers: both write at the same time and one is killed; their records form one chain."""
    clients = [serve(remit), serve(remit)]

    def work(client: PipeClient, name: str) -> None:
        for number in range(30):
            part = own("write_file", path=f"{name}-{number}.py", content="x")
            client.result(client.run(f"{name}-{number}", part, session=name))

    threads = [threading.Thread(target=work, args=(client, f"c{n}")) for n, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clients[0].kill()
    assert good(remit)
    clients[1].result(clients[1].run("last", own("read_file", path="a.py")))
    clients[1].exit()
    assert good(remit)
    log = remit("audit", "log", "--json", "--tool", "write_file", "--limit", "1000").lines
    assert sum(record["kind"] == "tool_outcome" for record in log) == 60
    assert [r["number"] for r in log] == sorted(r["number"] for r in log)


def test_THR_storage_clock_that_goes_back(used: CommandLine) -> None:
    """THR-storage-clock-back: after records of the year 2100 the log goes on and verifies, and nothing is deleted."""
    (lines,) = (used.state / "data").rglob("*.jsonl")
    vault = FileVault(used.state / "data" / "audit-key")
    notary = Notary(CheckpointFile(lines), vault, HeadFile(lines.with_suffix(".head")))
    notary.prepare()

    def clock() -> int:
        return 4_102_444_800_000

    with AuditLog(database(used), clock, sealer=Sealer(notary, clock)) as log:
        log.append(AuditEvent(AuditKind.INTENT_SELECTED))
    (used.workspace / "new.py").unlink()
    assert used(*READ).code == 0
    assert used(*WRITE).code == 0
    assert good(used)
    times = [r["timestamp"] for r in used("audit", "log", "--json", "--limit", "1000").lines]
    assert any(later < earlier for earlier, later in itertools.pairwise(times))


def _sql(statement: str) -> Callable[[Path], None]:
    def act(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    return act


def _reordered(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = dict(connection.execute("SELECT number, content FROM records WHERE number IN (2, 3)").fetchall())
        for number, other in ((2, 3), (3, 2)):
            connection.execute("UPDATE records SET content = ? WHERE number = ?", (rows[other], number))


def _byte(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE records SET content = replace(content, 'read_file', 'read_filf') WHERE number = 3")
        connection.execute("UPDATE records SET content = content || ' ' WHERE number = 3")


REWRITES: dict[str, Callable[[Path], None]] = {
    "THR-storage-byte-changed": _byte,
    "THR-storage-record-removed": _sql("DELETE FROM records WHERE number = 3"),
    "THR-storage-first-record-removed": _sql("DELETE FROM records WHERE number = 1"),
    "THR-storage-records-reordered": _reordered,
    "THR-storage-truncated": _sql("DELETE FROM records WHERE number > 4"),
    "THR-storage-truncated-recomputed": lambda path: recompute(path, keep=4),
    "THR-storage-chain-recomputed": lambda path: recompute(path, lambda r: r.update(policy_decision="allowed")),
}


@pytest.mark.parametrize("name", REWRITES)
def test_THR_storage_a_rewritten_log_is_found(name: str, used: CommandLine) -> None:
    assert good(used)
    REWRITES[name](database(used))
    assert not good(used)
    found = used("audit", "verify", "--json").json
    assert found["record"] is not None
    # Further records do not make the log good again.
    assert used(*READ).code == 0
    assert not good(used)


def test_THR_storage_kill_between_intent_and_outcome_leaves_no_gap(remit: CommandLine) -> None:
    """THR-storage-kill-call: the next start records that the outcome of a call is unknown if its process died."""
    client = serve(remit)
    client.run("1", own("run_command", command="sleep 30"))
    client.event("tool_call")
    time.sleep(0.5)
    client.kill()
    assert remit(*READ).code == 0
    assert good(remit)
    records = remit("audit", "log", "--json", "--tool", "run_command").lines
    assert json.dumps(records).count("tool_outcome") == json.dumps(records).count("tool_intent")
