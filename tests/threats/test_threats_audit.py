"""Attacks on an audit log that real commands have written, and damage to it (AUD-01). Each test runs
`remit audit verify` in a process of its own, or looks at what a server does with the log."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from audit_logs import events, recompute
from command_line import CommandLine, start_server
from lsp_pipe import PipeClient
from messages import SAYS
from running_server import POLICY
from threat_bench import own

from remit_governance.audit.proof.head import SLOT, Head, Signer, sign_head
from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.record import AuditKind
from remit_governance.audit.store import AuditLog

pytestmark = [pytest.mark.slow]

WRITE = ("run-tool", "write_file", '{"path": "new.py", "content": "x"}', "--intent", "CODE", "--json")
READ = ("run-tool", "read_file", '{"path": "a.py"}', "--intent", "READ_FILE", "--json")
NAME = "audit.sqlite3"


@dataclass(frozen=True)
class Used:
    """A log that two commands wrote: `early` is a copy of the state after the first one, `late` after the second."""

    remit: CommandLine
    early: Path
    late: Path

    @property
    def database(self) -> Path:
        return self.folder / NAME

    @property
    def folder(self) -> Path:
        (found,) = (path for path in self.remit.state.iterdir() if path.name != "data")
        return found

    @property
    def head(self) -> Path:
        (found,) = self.remit.state.glob("data/checkpoints/*.head")
        return found

    @property
    def lines(self) -> Path:
        (found,) = self.remit.state.glob("data/checkpoints/*.jsonl")
        return found

    @property
    def count(self) -> int:
        with closing(sqlite3.connect(self.database)) as connection:
            return int(connection.execute("SELECT max(number) FROM records").fetchone()[0])

    def put_back(self, path: Path) -> None:
        """Restores a file to what it was after the first command."""
        shutil.copy2(self.early / path.relative_to(self.remit.state), path)

    def verify(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self.remit("audit", "verify", "--json", *words)
        return done.code, done.json

    def said(self) -> str:
        """Returns the whole text that `remit audit verify` prints for a person."""
        return self.remit("audit", "verify").out


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Used:
    base = tmp_path_factory.mktemp("audited")
    (base / "shop").mkdir()
    (base / "shop" / "a.py").write_text("total = 0\n")
    (base / "config").mkdir()
    (base / "config" / "policy.yaml").write_text(POLICY)
    remit = CommandLine.alone(base / "shop", base)
    assert remit(*READ).code == 0
    shutil.copytree(remit.state, base / "early")
    assert remit(*WRITE).code == 0
    shutil.copytree(remit.state, base / "late")
    return Used(remit, base / "early", base / "late")


@pytest.fixture
def used(prepared: Used) -> Used:
    """Yields the state after both commands, restored from the copy because other tests have attacked it."""
    shutil.rmtree(prepared.remit.state)
    shutil.copytree(prepared.late, prepared.remit.state)
    (prepared.remit.workspace / "new.py").unlink(missing_ok=True)
    return prepared


def _sql(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _tail(used: Used) -> None:
    recompute(used.database, keep=used.count - 1)


def _tail_and_checkpoint(used: Used) -> None:
    """Removes all records and all checkpoints that were written after the first command."""
    used.put_back(used.lines)
    with closing(sqlite3.connect(used.early / used.database.relative_to(used.remit.state))) as connection:
        ((early,),) = connection.execute("SELECT max(number) FROM records").fetchall()
    recompute(used.database, keep=early)


def _appended(used: Used) -> None:
    with AuditLog(used.database) as log:
        log.append(events(2)[1])


def _log_only(used: Used) -> None:
    for path in used.folder.glob(f"{NAME}*"):
        path.unlink()


def _everything(used: Used) -> None:
    shutil.rmtree(used.folder)
    shutil.rmtree(used.remit.state / "data" / "checkpoints")


def _head_only(used: Used) -> None:
    used.head.unlink()


def _checkpoints_only(used: Used) -> None:
    used.lines.unlink()


def _tail_and_head(used: Used) -> None:
    _tail(used)
    used.head.unlink()


def _older_log(used: Used) -> None:
    used.put_back(used.database)


def _older_log_and_head(used: Used) -> None:
    used.put_back(used.database)
    used.put_back(used.head)


def _older_head(used: Used) -> None:
    used.put_back(used.head)


def _older_log_and_checkpoints(used: Used) -> None:
    used.put_back(used.database)
    used.put_back(used.lines)


def _head_of_another_key(used: Used) -> None:
    head = Head("0" * 32, 1, "0" * 64, 1, 1, 10**6)
    used.head.write_bytes(sign_head(head, Signer(bytes(32))).line.ljust(SLOT - 1) + b"\n")


def _head_byte(used: Used) -> None:
    data = used.head.read_bytes()
    for at in (0, SLOT):
        digit = data.find(b'"head":"', at) + 8
        data = data[:digit] + (b"a" if data[digit : digit + 1] != b"a" else b"b") + data[digit + 1 :]
    used.head.write_bytes(data)


def _byte(used: Used) -> None:
    _sql(used.database, "UPDATE records SET content = replace(content, 'read_file', 'read_filf') WHERE number = 4")


def _reordered(used: Used) -> None:
    _sql(
        used.database,
        "UPDATE records SET number = -3 WHERE number = 3",
        "UPDATE records SET number = 3 WHERE number = 4",
        "UPDATE records SET number = 4 WHERE number = -3",
    )


ATTACKS: dict[str, tuple[Callable[[Used], None], str]] = {
    "THR-storage-audit-tail-cut": (_tail, "the end was cut off: "),
    "THR-storage-audit-tail-and-checkpoint-cut": (_tail_and_checkpoint, "the end was cut off: the signed head vouches"),
    "THR-storage-audit-record-appended": (_appended, "not vouched for: every server had ended in order"),
    "THR-storage-audit-log-deleted": (_log_only, "is gone"),
    "THR-storage-audit-everything-deleted": (_everything, "or it was deleted together with its signed checkpoints"),
    "THR-storage-audit-head-deleted": (_head_only, "the signed head was removed, though record "),
    "THR-storage-audit-checkpoints-deleted": (_checkpoints_only, "the checkpoint file was removed, though record "),
    "THR-storage-audit-tail-and-head-deleted": (_tail_and_head, "the signed head was removed"),
    "THR-storage-audit-log-put-back": (_older_log, "the end was cut off: a checkpoint vouches"),
    "THR-storage-audit-log-and-head-put-back": (_older_log_and_head, "the end was cut off: a checkpoint vouches"),
    "THR-storage-audit-log-and-checkpoints-put-back": (_older_log_and_checkpoints, "the signed head vouches for"),
    "THR-storage-audit-head-put-back": (_older_head, "the signed head was put back to an earlier one"),
    "THR-storage-audit-head-forged": (_head_of_another_key, "which is not one of ours"),
    "THR-storage-audit-head-changed": (_head_byte, "the signed head has a wrong signature"),
    "THR-storage-audit-byte-changed": (_byte, "record 4 does not match its hash"),
    "THR-storage-audit-reordered": (_reordered, "record 3 does not match its hash"),
}


def test_THR_storage_audit_a_log_that_was_left_alone_is_proven_to_its_end(used: Used) -> None:
    code, found = used.verify()
    assert (code, found["faults"], found["notes"]) == (0, [], [])
    assert found["proven"]["until"] == used.count
    assert found["proven"]["time"].endswith("Z")
    assert f"proven: up to record {used.count} (" in used.said()
    assert SAYS.not_proven_whoever_can_write in used.said()


@pytest.mark.parametrize("name", ATTACKS)
def test_THR_storage_audit_attack(name: str, used: Used) -> None:
    attack, why = ATTACKS[name]
    attack(used)
    code, found = used.verify()
    assert code != 0, found
    assert why in str(found), found


@pytest.mark.parametrize(
    "name",
    [
        "THR-storage-audit-tail-cut",
        "THR-storage-audit-tail-and-checkpoint-cut",
        "THR-storage-audit-record-appended",
        "THR-storage-audit-log-and-checkpoints-put-back",
    ],
)
def test_THR_storage_audit_going_on_makes_no_attack_good(name: str, used: Used) -> None:
    ATTACKS[name][0](used)
    done = used.remit(*READ)
    assert done.code == 0, "it stops no work"
    assert SAYS.the_audit_log_is_not in done.err + done.out
    code, found = used.verify()
    assert code != 0, found


def test_THR_storage_audit_a_log_that_was_deleted_is_told_in_the_next_one(used: Used) -> None:
    count = used.count
    _log_only(used)
    (doctor,) = [line for line in used.remit("doctor", "--json").lines if line["name"] == "audit"]
    assert doctor["good"] is False
    assert f"the audit log that had {count} records is gone" in doctor["detail"]
    assert used.remit(*READ).code == 0
    _, found = used.verify()
    assert f"an earlier log of {count} records is no longer here" in found["notes"]
    assert used.remit("audit", "log", "--json").lines[0]["kind"] in {"audit_chain_break", "kernel_start"}


def test_THR_storage_audit_put_back_with_everything_that_vouches_for_it_shows_elsewhere(
    used: Used, tmp_path: Path
) -> None:
    """If log, checkpoints and head are all replaced by earlier ones, only a checkpoint kept elsewhere can prove it."""
    disk = tmp_path / "other-disk"
    sent = used.remit("audit", "checkpoint", "--to", str(disk), "--json")
    assert (sent.code, sent.json["sent_to"]) == (0, str(disk))
    code, found = used.verify("--against", str(disk))
    assert (code, found["faults"]) == (0, [])
    assert found["proven"]["elsewhere"] > 0
    assert disk.stat().st_mode & 0o777 == 0o600
    for path in (used.database, used.lines, used.head):
        used.put_back(path)
    for end in ("-wal", "-shm"):
        used.database.with_name(NAME + end).unlink(missing_ok=True)
    assert used.verify()[0] == 0, "this is what other disks are for"
    code, found = used.verify("--against", str(disk))
    assert code != 0
    assert "the end was cut off: line 1 of the checkpoints elsewhere vouches for" in found["message"]


def test_THR_storage_audit_a_new_key_does_not_match_what_was_sent_elsewhere(used: Used, tmp_path: Path) -> None:
    disk = tmp_path / "other-disk"
    assert used.remit("audit", "checkpoint", "--to", str(disk)).code == 0
    shutil.rmtree(used.folder)
    shutil.rmtree(used.remit.state / "data")
    assert used.remit(*READ).code == 0
    assert used.verify()[0] == 0, "a log begun anew, with a new key, proves itself"
    code, found = used.verify("--against", str(disk))
    assert code != 0
    assert SAYS.which_is_none_of_ours in str(found["faults"])


def test_checkpoints_go_to_the_systems_log(used: Used, tmp_path: Path) -> None:
    """A system log puts a prefix before each line; `verify --against` still accepts the file that it keeps."""
    place = tmp_path / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
        system.bind(str(place))
        assert used.remit("audit", "checkpoint", "--to", f"syslog:{place}").code == 0
        received = system.recv(4096)
    assert received.startswith(b"<109>remit-audit[")
    kept = tmp_path / "messages"
    kept.write_bytes(b"Nov 23 01:00:00 host cron[1]: hello\nNov 23 01:00:01 host " + received[5:] + b"\n")
    code, found = used.verify("--against", str(kept))
    assert (code, found["faults"]) == (0, [])
    refused = used.remit("audit", "checkpoint", "--to", f"syslog:{tmp_path / 'none'}", "--json")
    assert refused.code != 0
    assert SAYS.there_is_no_socket_at in refused.json["error"]["why"]


def _serve(used: Used) -> PipeClient:
    client = start_server(used.remit.environment)
    client.initialize(used.remit.workspace)
    return client


def _call(client: PipeClient, turn: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return dict(client.result(client.run(turn, own(tool, **arguments))))


def test_THR_storage_audit_a_killed_server_is_told_from_one_that_ended(used: Used) -> None:
    client = _serve(used)
    _call(client, "1", "write_file", path="new.py", content="x")
    client.kill()
    code, found = used.verify()
    assert (code, found["faults"]) == (0, [])
    assert SAYS.has_not_ended_it_runs in str(found["notes"])
    assert used.remit(*READ).code == 0
    code, found = used.verify()
    assert (code, found["faults"]) == (0, [])
    assert "a server did not end in order" in str(found["notes"])


def test_THR_storage_audit_two_servers_sign_one_head(used: Used) -> None:
    clients = [_serve(used), _serve(used)]
    for number in range(4):
        for client in clients:
            _call(client, f"{number}", "write_file", path="new.py", content=str(number))
    code, found = used.verify()
    assert (code, found["faults"]) == (0, [])
    for client in clients:
        client.exit()
    code, found = used.verify()
    assert (code, found["faults"], found["notes"]) == (0, [], [])
    assert found["proven"]["until"] == used.count


# Damage


def _files(used: Used) -> list[Path]:
    return sorted(path for path in used.folder.iterdir() if path.name.startswith(NAME))


def _rubbish(used: Used, at: float, length: int) -> None:
    data = bytearray(used.database.read_bytes())
    start = int(len(data) * at)
    data[start : start + length] = hashlib.shake_256(b"noise").digest(length)
    used.database.write_bytes(data)


def _a_folder(used: Used) -> None:
    used.database.unlink()
    used.database.mkdir()
    (used.database / "kept").write_text("x")


def _not_a_database(used: Used) -> None:
    used.database.write_text("not a database, and longer than one might think\n" * 100)


def _another_schema(used: Used) -> None:
    used.database.unlink()
    _sql(used.database, "CREATE TABLE mine (x)")


def _fifo(used: Used) -> None:
    used.database.unlink()
    os.mkfifo(used.database)


def _lock_folder(used: Used) -> None:
    used.database.with_name(f"{NAME}.lock").unlink()
    used.database.with_name(f"{NAME}.lock").mkdir()


def _dead_link(used: Used) -> None:
    used.database.unlink()
    used.database.symlink_to(used.database)


DAMAGES: dict[str, Callable[[Used], None]] = {
    "THR-storage-corrupt-truncated": lambda used: os.truncate(used.database, 5_000),
    "THR-storage-corrupt-one-byte-left": lambda used: os.truncate(used.database, 1),
    "THR-storage-corrupt-header": lambda used: _rubbish(used, 0, 100),
    "THR-storage-corrupt-first-page": lambda used: _rubbish(used, 0.004, 1_500),
    "THR-storage-corrupt-middle-page": lambda used: _rubbish(used, 0.3, 6_000),
    "THR-storage-corrupt-all-but-header": lambda used: _rubbish(used, 0.005, 40_000),
    "THR-storage-corrupt-noise": lambda used: used.database.write_bytes(hashlib.shake_256(b"n").digest(30_000)),
    "THR-storage-corrupt-not-a-database": _not_a_database,
    "THR-storage-corrupt-another-schema": _another_schema,
    "THR-storage-corrupt-folder": _a_folder,
    "THR-storage-corrupt-pipe": _fifo,
    "THR-storage-corrupt-link-to-itself": _dead_link,
    "THR-storage-corrupt-folder-in-the-locks-place": _lock_folder,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_THR_storage_corrupt_log_is_set_aside_and_stops_no_work(name: str, used: Used) -> None:
    for end in ("-wal", "-shm"):
        used.database.with_name(NAME + end).unlink(missing_ok=True)
    before = used.count
    DAMAGES[name](used)
    damaged = used.database.read_bytes() if used.database.is_file() else None
    done = used.remit(*WRITE)
    assert done.code == 0, done.out + done.err
    assert (used.remit.workspace / "new.py").exists()
    assert "was set aside as audit.sqlite3.set-aside-" in done.out + done.err
    aside = [path for path in _files(used) if ".set-aside-" in path.name]
    assert aside
    if damaged is not None:
        assert damaged in [path.read_bytes() for path in aside if path.is_file()], "nothing of it was changed"
    code, found = used.verify()
    assert (code, found["faults"]) == (0, []), found
    (note,) = [note for note in found["notes"] if "was set aside as" in note]
    assert f"of {before} records when it was last vouched for" in note
    first = query_audit(used.database)[0]
    assert (first.number, first.event.kind) == (1, AuditKind.AUDIT_SET_ASIDE)
    assert first.event.metadata["count"] == str(before)


def test_THR_storage_corrupt_log_that_was_set_aside_is_told_by_doctor_and_watched(used: Used) -> None:
    _not_a_database(used)
    assert used.remit(*READ).code == 0
    doctor = [line for line in used.remit("doctor", "--json").lines if line["name"] == "audit"]
    assert SAYS.was_set_aside_as in doctor[0]["detail"]
    assert "which is there" in doctor[0]["detail"]
    (aside,) = [path for path in _files(used) if ".set-aside-" in path.name]
    aside.write_text("another")
    assert "which has changed since" in str(used.verify()[1]["notes"])
    aside.unlink()
    assert "which is no longer there" in str(used.verify()[1]["notes"])


def test_THR_storage_corrupt_empty_database_is_told(used: Used) -> None:
    before = used.count
    for end in ("-wal", "-shm"):
        used.database.with_name(NAME + end).unlink(missing_ok=True)
    os.truncate(used.database, 0)
    assert used.remit(*WRITE).code == 0
    code, found = used.verify()
    assert code == 0
    assert f"an earlier log of {before} records is no longer here" in found["notes"]


def test_THR_storage_corrupt_database_under_a_running_server(used: Used) -> None:
    """The log is damaged and then deleted while a server uses it: each call is still recorded, in a log that
    verifies."""
    client = _serve(used)
    assert _call(client, "1", "write_file", path="new.py", content="1")["status"] == "completed"
    _sql(used.database, "DROP TABLE records")
    assert _call(client, "2", "write_file", path="new.py", content="2")["status"] == "completed"
    status = client.result(client.request("remit/status", {}))
    assert SAYS.was_set_aside_as in status["audit_problem"]
    for path in used.folder.glob(f"{NAME}*"):
        if ".set-aside-" not in path.name:
            path.unlink()
    assert _call(client, "3", "write_file", path="new.py", content="3")["status"] == "completed"
    assert (used.remit.workspace / "new.py").read_text() == "3"
    client.exit()
    code, found = used.verify()
    assert (code, found["faults"]) == (0, []), found
    assert SAYS.was_removed_from_its_place in str(found["notes"])


def test_THR_storage_corrupt_log_of_two_servers(used: Used) -> None:
    """Two servers use one damaged log: both go on, and the first to notice the damage sets the log aside for both."""
    clients = [_serve(used), _serve(used)]
    for number, client in enumerate(clients):
        _call(client, f"a{number}", "write_file", path="new.py", content="1")
    with used.database.open("r+b") as file:
        file.write(os.urandom(used.database.stat().st_size))
    for number, client in enumerate([*clients, *clients]):
        result = _call(client, f"b{number}", "write_file", path="new.py", content=str(number))
        assert result["status"] == "completed"
    for client in clients:
        client.exit()
    assert used.remit(*READ).code == 0
    code, found = used.verify()
    assert (code, found["faults"]) == (0, []), found
    assert SAYS.was_set_aside_as in str(found["notes"])


def test_THR_storage_where_nothing_can_be_written_nothing_runs(used: Used) -> None:
    """If the log is damaged and the disk is read-only, the log stays where it is and no call runs."""
    bwrap = shutil.which("bwrap") or pytest.skip("there is no bwrap: apt-get install bubblewrap")
    _not_a_database(used)
    state = str(used.remit.state)
    done = used.remit(*WRITE, before=(bwrap, "--dev-bind", "/", "/", "--ro-bind", state, state, "--"))
    assert done.code != 0
    assert not (used.remit.workspace / "new.py").exists()
    assert not [path for path in _files(used) if ".set-aside-" in path.name]
