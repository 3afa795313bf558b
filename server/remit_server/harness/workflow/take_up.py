"""Takes a session up again at its last position in the workflow, as the audit log records it (FLW-12).

A kept position counts only if its digest, with all that was proven, is the one in the audit record of the last move. If
not, the session begins anew, in the strictest mode that any record names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.canonical import digest
from remit_governance.errors import AuditError
from remit_governance.workflow.position import Position, Surroundings, digest_position, strictest, take_up
from remit_governance.workflow.proof.runs import Red
from remit_governance.workflow.states import Mode, State
from remit_governance.workflow.test_files import Category, Exemption
from remit_server.contract import KeptPosition, WorkflowMoved
from remit_server.harness.context import Parts
from remit_server.harness.ports import KeptHistory
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.moves import move, put, set_mode, show
from remit_server.harness.workflow.tested_files import digest_files, snapshot_tests

MOVES = (AuditKind.STATE_TRANSITION, AuditKind.SESSION_MODE_CHANGE)


async def find_position(history: KeptHistory, audited: AuditEvent | None) -> Position | None:
    """Returns the position that an audited move led to, or None if the position was not kept whole."""
    said = audited.metadata.get("position") if audited else None
    for kept in reversed(history.positions()):
        if said is not None and _digest_kept(kept.position) == said:
            found = await asyncio.to_thread(_position_of, kept, history)
            return found if found is not None and digest_position(found) == said else None
    return None


def _digest_kept(position: KeptPosition) -> str:
    absent = {name for name in ("tree", "failing") if getattr(position, name) is None}
    return digest(position.model_dump(mode="json", exclude=absent))


async def find_last_move(path: Path, session_id: str) -> AuditEvent | None:
    """Returns a session's last move in the log at `path`, or None if there is none, or no log."""
    return await asyncio.to_thread(_last_move, path, session_id)


async def take_session_up(turn: Turn, parts: Parts, chosen: str | None) -> None:
    """Sets a session's position to its last one, as far as that still holds, and warns the person if it does not.

    `chosen` is the mode that the person last chose in the session. Raises ToolError if a move cannot be recorded.
    """
    held_to = turn.memory.position.mode
    audited = await find_last_move(parts.audit.path, turn.session_id)
    kept = await find_position(turn.history, audited)
    if kept is None:
        _begin_anew(turn, parts, audited, held_to, chosen)
        return
    proves = kept.red is not None
    tests = await snapshot_tests(parts.workspace, parts.rulebook.policy.test_globs) if proves else None
    files = await digest_files(parts.workspace, kept.passed_with)
    judged = take_up(kept, held_to, Surroundings(tests, files))
    turn.memory.position = kept
    if judged.trigger is not None and kept.state is not State.IDLE:
        move(judged.trigger, turn, parts.audit, why=judged.why)
    if strictest((kept.mode, held_to)) is not kept.mode:
        set_mode(held_to, turn, parts.audit)
    if kept.state is State.IDLE:
        return
    if judged.why:
        _warn(turn, judged.why)
    else:
        show(turn)


def _begin_anew(turn: Turn, parts: Parts, audited: AuditEvent | None, held_to: Mode, chosen: str | None) -> None:
    """Begins in `idle`, and warns the person if the session had been in another state."""
    positions = turn.history.positions()
    named = [chosen, audited and audited.session_mode, positions[-1].position.mode if positions else None]
    mode = strictest((held_to, *(Mode(each) for each in named if each in tuple(Mode))))
    turn.memory.position = Position(mode)
    stood = audited.state_machine_state if audited else (positions[-1].position.state if positions else None)
    if stood in {None, State.IDLE}:
        return
    why = _why_lost(audited, positions)
    put(turn.memory.position, turn, parts.audit, AuditKind.STATE_TRANSITION, {"from": str(stood), "why": why})
    _warn(turn, why)


def _why_lost(audited: AuditEvent | None, positions: Sequence[WorkflowMoved]) -> str:
    if audited is None:
        return "the audit log does not say where the session stood"
    return (
        "the session's file does not agree with the audit log"
        if positions
        else "the session's file does not say where it stood"
    )


def _warn(turn: Turn, why: str) -> None:
    position = turn.memory.position
    begins = "starts over" if position.state is State.IDLE else f"goes on in state `{position.state}`"
    turn.warn(f"the workflow of this session {begins}, in {position.mode} mode: {why}")


def _last_move(path: Path, session_id: str) -> AuditEvent | None:
    try:
        found = [query_audit(path, AuditFilter(session_id=session_id, kind=kind, limit=1)) for kind in MOVES]
    except AuditError:
        return None
    records = [record for records in found for record in records]
    return max(records, key=lambda record: record.number).event if records else None


def _position_of(kept: WorkflowMoved, history: KeptHistory) -> Position | None:
    at, exemption, red = kept.position, kept.position.exemption, kept.position.red
    before = None if at.before is None else history.tests(at.before)
    locked = None if red is None else history.tests(red.locked)
    if (at.before is not None and before is None) or (red is not None and locked is None):
        return None
    ended = (red.proven, red.failing, red.passing) if red else ((), (), ())
    proven, failing, passing = map(frozenset[str], ended)
    proof = red and locked and Red(proven, failing, locked, red.since, passing)
    granted = exemption and Exemption(cast("Category", exemption.category), frozenset(exemption.paths))
    approved = frozenset(at.approved)
    passed = (at.passed_with, at.tree, at.failing or ())
    return Position(at.mode, at.state, granted or None, before, proof or None, kept.changed, approved, *passed)
