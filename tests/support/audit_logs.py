"""Audit logs to attack: written, kept with checkpoints, edited behind Remit's back, checked by a second implementation."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from remit_governance.audit.log.database import archives
from remit_governance.audit.maintenance import AuditRules, Maintenance
from remit_governance.audit.proof.head import MemoryHead
from remit_governance.audit.proof.keys import MemoryVault
from remit_governance.audit.proof.sealing import MemoryPlace, Notary, Sealer
from remit_governance.audit.reading.report import Report, examine
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.values import Intent

DAY = 86_400_000


def events(count: int) -> list[AuditEvent]:
    return [
        AuditEvent(
            kind=AuditKind.TOOL_INTENT if i % 2 == 0 else AuditKind.TOOL_OUTCOME,
            session_id=f"s{i % 3}",
            turn_id="t",
            step=i // 2,
            tool_call_id=f"c{i // 2}",
            tool_name="write_file",
            intent=Intent.CODE,
            policy_decision="denied" if i % 5 == 0 else "allowed",
            policy_rule_name="write-workspace",
            denied_by="person" if i % 7 == 1 else None,
            input_summary=f"écrire « {i} » \u202e\n",
            exit_code=0,
            duration_ms=1.5,
            metadata={"k": "v"},
        )
        for i in range(count)
    ]


def written(path: Path, count: int = 30) -> Path:
    with AuditLog(path) as log:
        for event in events(count):
            log.append(event)
    return path


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(";".join(statements))
    connection.close()


def second_opinion(path: Path) -> bool:
    """Returns whether the chain holds through all segments, by an obvious implementation of the specification."""
    logs, number, previous = set[str](), 0, ""
    for ordinal, file in enumerate((*(file for _, file in archives(path)), path), 1):
        with closing(sqlite3.connect(file)) as database:
            (chain,) = database.execute("SELECT log, segment, before, previous, started, count, head FROM chain")
            log, segment, before, carried, started, count, head = chain
            logs.add(log)
            if (segment, before, carried) != (ordinal, number, previous):
                return False
            genesis = f"genesis:{started}" + (f":{carried}" if carried else "")
            previous = hashlib.sha256(genesis.encode()).hexdigest()
            hashes = [previous]
            for stored, content, digest in database.execute("SELECT * FROM records ORDER BY number"):
                number += 1
                previous = hashlib.sha256((previous + content).encode()).hexdigest()
                hashes.append(previous)
                if previous != digest or not json.loads(content)["number"] == stored == number:
                    return False
            # The active segment may have grown since its count and head were noted.
            if not before <= count <= number or hashes[count - before] != head or (file != path and count != number):
                return False
    return len(logs) == 1


def recompute(path: Path, change: Callable[[dict[str, object]], None] = lambda record: None, keep: int = 10**9) -> None:
    """Does what an attacker with the database does: changes records, keeps the first `keep`, and makes the chain fit
    again."""
    number, previous = 0, ""
    for file in (*(file for _, file in archives(path)), path):
        with closing(sqlite3.connect(file)) as database, database:
            (started,) = database.execute("SELECT started FROM chain").fetchone()
            before, carried = number, previous
            genesis = f"genesis:{started}" + (f":{carried}" if carried else "")
            previous = hashlib.sha256(genesis.encode()).hexdigest()
            for stored, content in database.execute("SELECT number, content FROM records ORDER BY number").fetchall():
                if number == keep:
                    database.execute("DELETE FROM records WHERE number = ?", (stored,))
                    continue
                number += 1
                record = json.loads(content)
                change(record)
                plain = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                previous = hashlib.sha256((previous + plain).encode()).hexdigest()
                database.execute("UPDATE records SET content = ?, hash = ? WHERE number = ?", (plain, previous, stored))
            end = (before, carried, number, previous)
            database.execute("UPDATE chain SET before = ?, previous = ?, count = ?, head = ?", end)


@dataclass
class Kept:
    """A log with maintenance, whose clock and free disk space are set by hand."""

    path: Path
    rules: AuditRules = field(default_factory=AuditRules)
    place: MemoryPlace = field(default_factory=MemoryPlace)
    vault: MemoryVault = field(default_factory=MemoryVault)
    heads: MemoryHead = field(default_factory=MemoryHead)
    now: int = 20_000 * DAY
    free: int = 1 << 40

    def __post_init__(self) -> None:
        self.open()

    @staticmethod
    def over_four_days(path: Path) -> Kept:
        """Returns a log with three closed segments, each with a checkpoint at its end, and the active one."""
        kept = Kept(path)
        for _ in range(3):
            kept.append(10)
            kept.now += DAY
            kept.maintenance.upkeep()
        kept.append(10)
        return kept

    def open(self) -> None:
        self.notary = Notary(self.place, self.vault, self.heads)
        sealer = Sealer(self.notary, lambda: self.now)
        self.log = AuditLog(self.path, clock=lambda: self.now, sealer=sealer, known=self.notary.last_said)
        self.maintenance = Maintenance(self.log, self.notary, self.rules, free=lambda folder: self.free)

    def append(self, count: int, *, checkpoint: bool = False) -> None:
        for event in events(count):
            self.log.append(event)
        if checkpoint:
            assert self.maintenance.checkpoint() is not None

    def close(self) -> None:
        self.maintenance.close()

    def examined(self) -> Report:
        return examine(self.path, self.notary)

    def lines(self) -> Iterator[dict[str, object]]:
        return map(json.loads, (self.place.data or b"").splitlines())
