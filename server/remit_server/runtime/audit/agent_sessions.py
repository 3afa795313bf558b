"""The sessions of all agents in a folder, Remit's own and those that call `remit hook`, as its audit log has them
(TRN-42)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import ELSEWHERE
from remit_governance.audit.reading.query import AuditFilter, latest_audit
from remit_governance.audit.record import AuditKind, AuditRecord
from remit_governance.visible import visible_again
from remit_server.contract import AgentSession
from remit_server.runtime.audit.audit_service import as_audit_errors, moment

LOOKED_BACK = 5_000
"""How many of the last records are looked at."""
MOST = 50
MOST_TITLE = 120
_DENIED = frozenset({"denied", "refused"})


@dataclass(slots=True)
class _Seen:
    agent: str
    last: int
    first: int = 0
    title: str = ""
    calls: int = 0
    asked: int = 0
    denied: int = 0
    ended: bool = False


def agent_sessions(database: Path, titles: Mapping[str, str]) -> tuple[AgentSession, ...]:
    """Returns the sessions in the last records of the log, the last active one first; `titles` has the titles of
    sessions that are known elsewhere. Raises SetupError if the log cannot be read."""
    if not database.exists():
        return ()
    with as_audit_errors(), closing(latest_audit(database, AuditFilter())) as newest_first:
        return count_sessions(islice(newest_first, LOOKED_BACK), titles)


def count_sessions(newest_first: Iterable[AuditRecord], titles: Mapping[str, str]) -> tuple[AgentSession, ...]:
    """Returns the sessions in these records, which come newest first."""
    found: dict[str, _Seen] = {}
    for record in newest_first:
        event = record.event
        if event.session_id is None:
            continue
        seen = found.get(event.session_id)
        if seen is None:
            agent = event.metadata.get(ELSEWHERE, "remit")
            ended = agent != "remit" and event.kind is AuditKind.RUN_COMPLETED
            seen = found[event.session_id] = _Seen(agent, record.timestamp, ended=ended)
        seen.first = record.timestamp
        if event.kind is AuditKind.TOOL_INTENT:
            seen.calls += 1
            seen.asked += event.policy_decision == "review_required"
            seen.denied += event.policy_decision in _DENIED or event.denied_by is not None
        elif event.kind is AuditKind.RUN_STARTED and event.input_summary:
            seen.title = event.input_summary
    return tuple(_told(session_id, seen, titles.get(session_id)) for session_id, seen in islice(found.items(), MOST))


def _told(session_id: str, seen: _Seen, title: str | None) -> AgentSession:
    return AgentSession(
        agent=seen.agent,
        session_id=session_id,
        title=visible_again(title or seen.title, "show")[:MOST_TITLE],
        since=moment(seen.first),
        last=moment(seen.last),
        calls=seen.calls,
        asked=seen.asked,
        denied=seen.denied,
        ended=seen.ended,
    )
