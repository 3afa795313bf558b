"""The audit log, compared with plain SQLite that does the same, alternately in one run.

Append: one record of the same bytes, hashed after the one before it and inserted in one transaction, with the same
`synchronous` mode on both sides; ours also signs its head if it is durable. Verify: the whole examination (chain,
checkpoints, digests of closed segments, the database's own check), compared with reading the same rows from the same
files and hashing them. Query: rare values of each filter among a million records, compared with one plain table with an
index for each field. Files are in the page cache on both sides; both open a connection for each query.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from remit_governance.audit.log.chain import Chain
from remit_governance.audit.log.database import INDEXED, archives, field_of
from remit_governance.audit.maintenance import AuditRules, Maintenance
from remit_governance.audit.proof.head import HeadFile
from remit_governance.audit.proof.keys import FileVault
from remit_governance.audit.proof.sealing import CheckpointFile, Notary, Sealer
from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.reading.report import examine
from remit_governance.audit.record import AuditEvent, AuditKind, Entry
from remit_governance.audit.store import AuditLog, wall_clock_ms
from remit_governance.values import Intent

APPEND_GOAL, VERIFY_GOAL = 1.6, 0.45
AT_ONCE = 1_000
TOOLS = ("read_file", "edit_file", "list_files", "search_text", "run_command")
EVENT = AuditEvent(
    AuditKind.TOOL_INTENT,
    caller="model",
    session_id="cli-1f0a77c2",
    turn_id="1",
    step=3,
    tool_call_id="call-17",
    tool_name="edit_file",
    syscall_type="fs.write",
    intent=Intent.CODE,
    policy_decision="allowed",
    policy_rule_name="write-workspace",
    policy_rule_at="default.yaml:41",
    policy_version="sha256:" + "a" * 64,
    args_digest="sha256:" + "b" * 64,
    input_summary="{'path': 'src/cart.py', 'old_text': 'total = 0.0', 'new_text': 'subtotal = 0.0', 'all': True}",
)


DURABLE, WAITING = replace(EVENT, kind=AuditKind.APPROVAL_REFUSED), replace(EVENT, kind=AuditKind.INTENT_SELECTED)

WANTED = {
    "a session": AuditFilter(session_id="cli-00000003", limit=50),
    "a call": AuditFilter(tool_call_id="call-1000", limit=50),
    "a refusal": AuditFilter(policy_decision="denied", limit=50),
    "a kind that is rare": AuditFilter(kind=AuditKind.APPROVAL_REFUSED, limit=50),
    "a tool in a session": AuditFilter(tool_name="read_file", session_id="cli-00000003", limit=50),
    "what is nowhere": AuditFilter(policy_rule_name="no-such-rule", limit=50),
}


class Rotated(AuditRules):
    """Keeps all records, in segments as large as a server's."""

    @property
    def segment_bytes(self) -> int:
        return AuditRules().segment_bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=2_000)
    parser.add_argument("--records", type=int, default=1_000_000, help="of the log that is verified and queried")
    parser.add_argument("--rounds", type=int, default=3, help="of verifying and of each query")
    parser.add_argument("--folder", type=Path, help="where to work; choose the disk with it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "large" / "audit.sqlite3"
        notary = Notary(CheckpointFile(Path(folder) / "checkpoints.jsonl"), FileVault(Path(folder) / "key"))
        appends = {
            name: appended(Path(folder) / name, event, arguments.appends, mode)
            for name, event, mode in (("durable", DURABLE, "FULL"), ("waiting", WAITING, "NORMAL"))
        }
        written(path, notary, arguments.records)
        report = {
            "record_bytes": len(Entry.of(wall_clock_ms(), EVENT).content(1)),
            "append": appends,
            "verify": verified(path, notary, arguments.rounds),
            "query": queried(path, Path(folder) / "plain", arguments.rounds),
        }
    print(json.dumps(report) if arguments.json else table(report))


class PlainLog:
    """The least that SQLite needs to keep chained records."""

    def __init__(self, path: Path, mode: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for setting in ("page_size = 2048", "journal_mode = WAL", f"synchronous = {mode}"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute("CREATE TABLE records (number INTEGER PRIMARY KEY, content TEXT, hash TEXT)")
        self._number, self._head = 0, "0" * 64

    def append(self, content: bytes) -> None:
        self._number += 1
        self._head = hashlib.sha256(self._head.encode() + content).hexdigest()
        row = (self._number, content.decode(), self._head)
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?)", row)


def appended(folder: Path, event: AuditEvent, count: int, mode: str) -> dict[str, float]:
    """Returns the microseconds of an append on each side, measured alternately."""
    folder.mkdir()
    content = Entry.of(wall_clock_ms(), event).content(1)
    plain, ours = list[float](), list[float]()
    notary = Notary(CheckpointFile(folder / "lines"), FileVault(folder / "key"), HeadFile(folder / "head"))
    notary.prepare()
    other = PlainLog(folder / "plain", mode)
    sealer = Sealer(notary, wall_clock_ms)
    with AuditLog(folder / "logs" / "audit.sqlite3", sealer=sealer, known=notary.last_said) as log:
        for number in range(count + 100):
            begun = time.perf_counter()
            other.append(content)
            between = time.perf_counter()
            log.write(event)
            ended = time.perf_counter()
            if number >= 100:
                plain.append((between - begun) * 1e6)
                ours.append((ended - between) * 1e6)
    return compared(plain, ours)


def compared(plain: list[float], ours: list[float]) -> dict[str, float]:
    figures = {
        f"{who}_{name}": round(of(times), 1)
        for who, times in (("plain", plain), ("ours", ours))
        for name, of in (("median", median), ("min", min), ("mean", lambda t: sum(t) / len(t)))
    }
    return {**figures, "ratio_median": round(figures["ours_median"] / figures["plain_median"], 2)}


def written(path: Path, notary: Notary, count: int) -> None:
    """Makes a log as a server leaves it after this many records: closed by size, with all its checkpoints."""
    with AuditLog(path) as log, closing(Chain(path, wall_clock_ms())) as chain:
        maintenance = Maintenance(log, notary, Rotated(max_bytes=1 << 40, checkpoint_every=AT_ONCE))
        for number in range(0, count, AT_ONCE):
            chain.append([Entry.of(wall_clock_ms(), varied(n)) for n in range(number, number + AT_ONCE)])
            maintenance.upkeep()


def varied(number: int) -> AuditEvent:
    return replace(
        EVENT,
        session_id=f"cli-{number // 200:08x}",
        tool_call_id=f"call-{number // 2}",
        tool_name=TOOLS[number % len(TOOLS)],
        policy_decision="denied" if number % 20_000 == 7 else "allowed",
        kind=AuditKind.APPROVAL_REFUSED if number % 50_000 == 9 else AuditKind.TOOL_INTENT,
    )


def verified(path: Path, notary: Notary, rounds: int) -> dict[str, float]:
    """Returns the records per second of the whole examination, and of reading and hashing the same rows; the best round
    counts."""
    examined, hashed = list[float](), list[float]()
    for _ in range(rounds):
        begun = time.perf_counter()
        report = examine(path, notary)
        between = time.perf_counter()
        assert report.good, report.faults
        assert report.agreed, "without checkpoints it would do less"
        read_and_hash(path)
        examined.append(between - begun)
        hashed.append(time.perf_counter() - between)
    return {
        "records": report.count,
        "segments": len(archives(path)) + 1,
        "checkpoints": report.agreed,
        "verify_per_s": round(report.count / min(examined)),
        "hash_per_s": round(report.count / min(hashed)),
        "ratio": round(min(hashed) / min(examined), 3),
        "goal": VERIFY_GOAL,
    }


def files_of(path: Path) -> tuple[Path, ...]:
    return (*(file for _, file in archives(path)), path)


def read_and_hash(path: Path) -> None:
    head = b"0" * 64
    for file in files_of(path):
        with closing(sqlite3.connect(file)) as connection:
            connection.text_factory = bytes
            for (content,) in connection.execute("SELECT content FROM records ORDER BY number"):
                head = hashlib.sha256(head + content).hexdigest().encode()


def queried(path: Path, plain: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Returns the milliseconds of each query, and of the same query in a plain table; the best of several alternate
    rounds."""
    copied(path, plain)
    found: dict[str, dict[str, float]] = {}
    for name, wanted in WANTED.items():
        ours, theirs = list[float](), list[float]()
        for _ in range(rounds):
            records, took = timed(lambda wanted=wanted: query_audit(path, wanted))
            ours.append(took)
            rows, took = timed(lambda wanted=wanted: asked_plainly(plain, wanted))
            theirs.append(took)
            assert len(records) == len(rows), (name, len(records), len(rows))
        found[name] = {"rows": len(rows), "ours_ms": round(min(ours), 2), "plain_ms": round(min(theirs), 2)}
    return found


def timed(work: Callable[[], list]) -> tuple[list, float]:
    begun = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - begun) * 1e3


def copied(path: Path, plain: Path) -> None:
    """Copies all records into one table with a column and an index for each field."""
    with closing(sqlite3.connect(plain, isolation_level=None)) as connection:
        connection.execute(f"CREATE TABLE records (number INTEGER PRIMARY KEY, content TEXT, {', '.join(INDEXED)})")
        values = ", ".join(field_of(name) for name in INDEXED)
        for file in files_of(path):
            connection.execute("ATTACH ? AS segment", (str(file),))
            connection.execute(f"INSERT INTO records SELECT number, content, {values} FROM segment.records")
            connection.execute("DETACH segment")
        for name in INDEXED:
            connection.execute(f"CREATE INDEX of_{name} ON records ({name})")
        connection.execute("ANALYZE")


def asked_plainly(plain: Path, wanted: AuditFilter) -> list:
    values = {name: str(value) for name in INDEXED if (value := getattr(wanted, name, None)) is not None}
    where = " AND ".join(f"{name} = ?" for name in values)
    sql = f"SELECT number, content FROM records WHERE {where} ORDER BY number DESC LIMIT ?"
    with closing(sqlite3.connect(plain)) as connection:
        return connection.execute(sql, (*values.values(), wanted.limit)).fetchall()


def table(report: Mapping[str, dict]) -> str:
    return "\n".join([*append_lines(report), "", *verify_lines(report["verify"]), "", *query_lines(report["query"])])


def append_lines(report: Mapping[str, dict]) -> Iterator[str]:
    yield f"one record of {report['record_bytes']} bytes, microseconds"
    yield f"{'':32}{'median':>10}{'min':>10}{'mean':>10}"
    for name, figures in report["append"].items():
        for who, label in (("plain", "plain SQLite"), ("ours", "audit log")):
            numbers = "".join(f"{figures[f'{who}_{key}']:10.0f}" for key in ("median", "min", "mean"))
            yield f"{f'{name}: {label}':32}{numbers}"
        ratio = figures["ratio_median"]
        yield f"{f'{name}: ratio':32}{ratio:10.2f}   goal: at most {APPEND_GOAL}: {met(ratio <= APPEND_GOAL)}"


def verify_lines(verify: Mapping[str, float]) -> Iterator[str]:
    yield f"{verify['records']} records in {verify['segments']} segments, {verify['checkpoints']} checkpoints"
    yield f"{'verified':32}{verify['verify_per_s']:10} a second"
    yield f"{'read and hashed':32}{verify['hash_per_s']:10} a second"
    yield f"{'ratio':32}{verify['ratio']:10.2f}   goal: at least {VERIFY_GOAL}: {met(verify['ratio'] >= VERIFY_GOAL)}"


def query_lines(query: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    yield f"{'the last 50, milliseconds':32}{'rows':>10}{'audit log':>12}{'plain table':>12}"
    for name, row in query.items():
        yield f"{name:32}{row['rows']:10}{row['ours_ms']:12.2f}{row['plain_ms']:12.2f}"


def met(good: bool) -> str:
    return "met" if good else "missed"


if __name__ == "__main__":
    main()
