"""What the latest records of a log say of the log itself (effect: reads): which servers have not ended, what was found
wrong, which log was set aside before (AUD-04)."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from remit_governance.audit.log.database import digest_of
from remit_governance.audit.log.servers import Said, ended_servers, open_servers, records_about_log
from remit_governance.audit.log.unfinished_calls import NOT_IN_ORDER
from remit_governance.audit.proof.checkpoint_file import Evidence, Fault
from remit_governance.audit.record import AuditKind, read_content

SET_ASIDE = re.compile(r"[\w.-]+\.set-aside-\d{8}T\d{6}Z(-\d+)?")
"""The names that logs are set aside with; what somebody wrote into a record may be any other."""


def said_of_itself(connection: sqlite3.Connection, path: Path) -> Evidence:
    """The parts of the evidence that the log's own records give. Raises sqlite3.Error, ValueError."""
    records = records_about_log(connection)
    opened = open_servers(records)
    notes = [*_set_aside(records, path), *_breaks(records), *_servers(records, opened)]
    ended, forged = ended_servers(records), tuple(_forged(records))
    return Evidence("", 0, 0, {}, open_servers=opened, ended_servers=ended, forged=forged, notes=tuple(notes))


def time_at(connection: sqlite3.Connection, number: int) -> int:
    """When a record was made, in milliseconds since the epoch; 0 where there is none. Raises ValueError."""
    row = connection.execute("SELECT content FROM records WHERE number = ?", (number,)).fetchone()
    return read_content(row[0])[1] if row else 0


def _forged(records: Iterable[Said]) -> Iterable[Fault]:
    for number, event in records:
        first = event.metadata.get("first", "")
        if event.kind is AuditKind.AUDIT_CHAIN_BREAK and first.isdecimal():
            yield Fault(f"{event.output_summary} (record {number} says so)", int(first))


def _breaks(records: Iterable[Said]) -> Iterable[str]:
    for number, event in records:
        if event.kind is AuditKind.AUDIT_CHAIN_BREAK and "first" not in event.metadata:
            yield f"record {number} says what was found when the log was opened or used: {event.output_summary}"


def _set_aside(records: Iterable[Said], path: Path) -> Iterable[str]:
    for number, event in records:
        if event.kind is AuditKind.AUDIT_SET_ASIDE:
            name, digest = event.metadata.get("file", ""), event.metadata.get("digest")
            file = path.with_name(name) if SET_ASIDE.fullmatch(name) else None
            state = "is there"
            if file is None or not os.path.lexists(file):
                state = "is no longer there"
            elif digest and digest_of(file) != digest:
                state = "has changed since"
            count = event.metadata.get("count")
            held = f", of {count} records when it was last vouched for," if count else ""
            what = f"an earlier log of this workspace{held} was set aside as {name}, which {state}"
            yield f"record {number} says that {what}: {event.output_summary}"


def _servers(records: Sequence[Said], opened: tuple[int, ...]) -> Iterable[str]:
    ended = [n for n, event in records if event.output_summary == NOT_IN_ORDER and event.metadata.get("server")]
    if ended:
        many = f"{len(ended)} servers" if len(ended) > 1 else "a server"
        yield f"{many} did not end in order (record {ended[-1]} says so last): killed, or the end was cut off"
    ours = {number for number, event in records if event.metadata.get("process") == str(os.getpid())}
    for number in opened:
        if number in ours:  # whoever asks knows that it runs
            continue
        yield f"the server that started with record {number} has not ended: it runs, was killed, or its end was cut off"
