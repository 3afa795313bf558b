"""The audit log beside what it cannot do without, by turns in one run: a durable append beside appending the same
bytes to a file with `fdatasync`; verifying a log (segments, checkpoints, the database's own check) beside hashing its
records.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

from remit_governance.audit.log.chain import Chain
from remit_governance.audit.log.database import archives
from remit_governance.audit.log.retention import AuditRules
from remit_governance.audit.maintenance import Maintenance
from remit_governance.audit.proof.head_file import HeadFile
from remit_governance.audit.proof.keys import FileVault
from remit_governance.audit.proof.notary import CheckpointFile, Notary
from remit_governance.audit.proof.sealing import Sealer
from remit_governance.audit.reading.report import examine
from remit_governance.audit.record import AuditEvent, AuditKind, Entry
from remit_governance.audit.store import AuditLog, wall_clock_ms
from remit_governance.values import Intent

APPEND_GOAL, VERIFY_GOAL = 1.6, 0.45
AT_ONCE = 1_000
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=2_000)
    parser.add_argument("--records", type=int, default=1_000_000, help="of the log that is verified")
    parser.add_argument("--rounds", type=int, default=3, help="of verifying")
    parser.add_argument("--folder", type=Path, help="where to work; choose the disk with it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        report = {
            "record_bytes": len(Entry.of(wall_clock_ms(), EVENT).content(1)),
            "append": appended(Path(folder), arguments.appends),
            "verify": verified(Path(folder), arguments.records, arguments.rounds),
        }
    print(json.dumps(report) if arguments.json else table(report))


def appended(folder: Path, count: int) -> dict[str, float]:
    """Microseconds of an append, each durable before the next begins, and with its head signed as a server does it."""
    content = Entry.of(wall_clock_ms(), EVENT).content(1)
    raw, governed = list[float](), list[float]()
    fd = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    data = folder / "heads"
    notary = Notary(CheckpointFile(data / "checkpoints.jsonl"), FileVault(data / "key"), HeadFile(data / "head"))
    notary.prepare()
    sealer = Sealer(notary, wall_clock_ms)
    with AuditLog(folder / "append" / "audit.sqlite3", sealer=sealer, known=notary.last_said) as log:
        for number in range(count + 100):
            begun = time.perf_counter()
            os.write(fd, content)
            os.fdatasync(fd)
            between = time.perf_counter()
            log.append(EVENT)
            ended = time.perf_counter()
            if number >= 100:
                raw.append((between - begun) * 1e6)
                governed.append((ended - between) * 1e6)
    os.close(fd)
    return {
        "count": count,
        **{f"raw_{name}_us": value for name, value in summarized(raw).items()},
        **{f"log_{name}_us": value for name, value in summarized(governed).items()},
        "ratio_median": round(median(governed) / median(raw), 3),
        "ratio_min": round(min(governed) / min(raw), 3),
        "goal": APPEND_GOAL,
    }


def summarized(times: list[float]) -> dict[str, float]:
    return {"median": round(median(times), 1), "min": round(min(times), 1)}


def verified(folder: Path, count: int, rounds: int) -> dict[str, float]:
    """Records a second: the whole examination, and only hashing what it hashes. The best of some rounds of each."""
    path = folder / "verify" / "audit.sqlite3"
    notary = Notary(CheckpointFile(folder / "data" / "checkpoints.jsonl"), FileVault(folder / "data" / "key"))
    written(path, notary, count)
    examined, hashed = list[float](), list[float]()
    for _ in range(rounds):
        begun = time.perf_counter()
        report = examine(path, notary)
        examined.append(time.perf_counter() - begun)
        assert report.good, report.faults
        assert report.agreed, "without checkpoints it would do less"
        hashed.append(sum(hashing(path)))
        total = report.count
    return {
        "records": total,
        "segments": len(archives(path)) + 1,
        "checkpoints": report.agreed,
        "verify_per_s": round(total / min(examined)),
        "hash_per_s": round(total / min(hashed)),
        "ratio": round(min(hashed) / min(examined), 3),
        "goal": VERIFY_GOAL,
    }


def written(path: Path, notary: Notary, count: int) -> None:
    """A log as a server leaves it after as many records: rotated by size, with all its checkpoints."""
    rules = AuditRules(max_bytes=1 << 34)
    small = AuditRules()
    with AuditLog(path) as log, closing(Chain(path, wall_clock_ms())) as chain:
        maintenance = Maintenance(log, notary, rules)
        while log.segment().count < count:
            chain.append([Entry.of(wall_clock_ms(), EVENT)] * AT_ONCE)
            maintenance.checkpoint()
            if chain.used_bytes() > small.segment_bytes:
                chain.close_segment(chain.segment().ordinal, wall_clock_ms())


def hashing(path: Path) -> Iterator[float]:
    """Seconds to hash the records of each segment, once they are in memory."""
    for file in (*(file for _, file in archives(path)), path):
        with closing(sqlite3.connect(file)) as connection:
            connection.text_factory = bytes
            contents = [row[0] for row in connection.execute("SELECT content FROM records ORDER BY number")]
        begun = time.perf_counter()
        head = b"0" * 64
        for content in contents:
            head = hashlib.sha256(head + content).hexdigest().encode()
        yield time.perf_counter() - begun


def table(report: Mapping[str, dict]) -> str:
    append, verify = report["append"], report["verify"]
    met = {True: "met", False: "missed"}
    return "\n".join(
        [
            f"one record of {report['record_bytes']} bytes, microseconds ({append['count']} of each)",
            f"{'':24}{'median':>10}{'min':>10}",
            f"{'append + fdatasync':24}{append['raw_median_us']:10.0f}{append['raw_min_us']:10.0f}",
            f"{'audit log':24}{append['log_median_us']:10.0f}{append['log_min_us']:10.0f}",
            f"{'ratio':24}{append['ratio_median']:10.2f}{append['ratio_min']:10.2f}",
            f"goal: at most {APPEND_GOAL}: {met[append['ratio_median'] <= APPEND_GOAL]}",
            "",
            f"{verify['records']} records in {verify['segments']} segments, {verify['checkpoints']} checkpoints",
            f"{'verified':24}{verify['verify_per_s']:10} a second",
            f"{'only hashed':24}{verify['hash_per_s']:10} a second",
            f"{'ratio':24}{verify['ratio']:10.2f}",
            f"goal: at least {VERIFY_GOAL}: {met[verify['ratio'] >= VERIFY_GOAL]}",
        ]
    )


if __name__ == "__main__":
    main()
