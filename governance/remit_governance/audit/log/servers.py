"""Reads from the latest records of a log which servers started and ended, and what was found wrong with the log itself
(effect: reads)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from remit_governance.audit.record import AuditEvent, AuditKind, read_content

LOOKED_BACK = 10_000
"""Records of the active segment that are looked at."""

_SQL = (
    "SELECT content FROM records WHERE number > (SELECT coalesce(max(number), 0) FROM records) - ?"
    """ AND (instr(content, '"kind":"kernel_') OR instr(content, '"kind":"audit_')) ORDER BY number"""
)

Said = tuple[int, AuditEvent]


def records_about_log(connection: sqlite3.Connection) -> list[Said]:
    """Returns the records about servers and about the log, oldest first. Raises sqlite3.Error, ValueError."""
    contents = connection.execute(_SQL, (LOOKED_BACK,)).fetchall()
    return [(number, event) for number, _, event in (read_content(content) for (content,) in contents)]


def open_servers(records: Iterable[Said]) -> tuple[int, ...]:
    """Returns the numbers of the starts of servers that no end follows."""
    return tuple(_servers(records)[0].values())


def ended_servers(records: Iterable[Said]) -> tuple[tuple[int, int], ...]:
    """Returns the numbers of the start and of the end of servers that have both."""
    return tuple(_servers(records)[1])


def _servers(records: Iterable[Said]) -> tuple[dict[str, int], list[tuple[int, int]]]:
    begun: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for number, event in records:
        server = event.metadata.get("server")
        if server and event.kind is AuditKind.KERNEL_START:
            begun[server] = number
        elif server and event.kind is AuditKind.KERNEL_SHUTDOWN and server in begun:
            found.append((begun.pop(server), number))
    return begun, found
