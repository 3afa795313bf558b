"""Moves a session in its workflow. A move is kept and audited before it takes effect, then shown (FLW-06, FLW-12)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remit_governance.audit.record import AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.workflow.position import Position, describe, digest_position
from remit_governance.workflow.states import Held, Mode, Moved, State, Trigger
from remit_server.contract import ErrorCode, StateChanged
from remit_server.errors import RemitError
from remit_server.harness.record.audit_events import append, placed_event
from remit_server.harness.turn import Turn


def move(
    trigger: Trigger,
    turn: Turn,
    audit: AuditLog,
    *,
    red: bool = False,
    green: bool = False,
    restored: bool = False,
    tests_alone: bool = False,
    untouched: bool = False,
    gaining: Callable[[Position], Position] = lambda position: position,
    why: str = "",
) -> Moved | Held:
    """Takes a trigger, and moves the session to where the tables lead, if anywhere. `gaining` adds to the new position
    what was proven or granted; `why` is for the record.

    Raises ToolError if the move cannot be recorded; then nothing has moved.
    """
    proven = {
        "red": red, "green": green, "restored": restored, "tests_alone": tests_alone, "untouched": untouched
    }  # fmt: skip
    position, said = turn.memory.position.take(trigger, **proven, gaining=gaining)
    if isinstance(said, Moved):
        metadata = {"from": said.source, "trigger": trigger} | ({"why": why} if why else {})
        put(position, turn, audit, AuditKind.STATE_TRANSITION, metadata)
    return said


def set_mode(mode: Mode, turn: Turn, audit: AuditLog) -> None:
    """Sets the session's mode, if it is another one, and begins its work anew. Raises ToolError."""
    before = turn.memory.position.mode
    if mode is not before:
        put(Position(mode), turn, audit, AuditKind.SESSION_MODE_CHANGE, {"from": before})


def tighten_mode(mode: Mode, turn: Turn, audit: AuditLog) -> None:
    """Sets the mode that a run asks for. Raises RemitError if that mode is less strict than the session's."""
    order = tuple(Mode)
    now = turn.memory.position.mode
    if order.index(mode) > order.index(now):
        what, why = f"the run was not begun in {mode} mode", f"the session is in {now} mode, and a run may only tighten"
        fix = f"the person can switch with `/{mode}`"
        raise RemitError(what, why, fix, code=ErrorCode.INVALID_REQUEST)
    set_mode(mode, turn, audit)


def propose_commit(turn: Turn, audit: AuditLog) -> bool:
    """Puts work outside strict mode under review, because its commit is reviewed now; returns whether that skipped the
    tests, because none was run since the last change (FLW-14).

    Raises ToolError if the move cannot be recorded.
    """
    for trigger in (Trigger.MESSAGE, Trigger.PLAN_COMPLETED):
        move(trigger, turn, audit)
    if turn.memory.position.state is not State.EXPLORING:
        return False
    turn.memory.position = replace(turn.memory.position, changed=True)  # a commit has changes, whoever made them
    for _ in (State.VALIDATING, State.REVIEWING):
        move(Trigger.UNTESTED, turn, audit)
    return True


def begin_message(turn: Turn, audit: AuditLog) -> None:
    """Takes a message of the person, with which work begins. Work under review stays there until the first change,
    because the person may want it committed as it is. Work that they approved waits for its commit or for `/reject`.

    Raises ToolError if the move cannot be recorded.
    """
    match turn.memory.position.state:
        case State.REVIEWING:
            turn.reopens = True
        case State.COMMITTING if turn.memory.position.mode is Mode.STRICT or turn.memory.position.approved:
            pass
        case State.COMMITTING:
            move(Trigger.RESET, turn, audit)
            move(Trigger.MESSAGE, turn, audit)
        case _:
            move(Trigger.MESSAGE, turn, audit)


def put(position: Position, turn: Turn, audit: AuditLog, kind: AuditKind, metadata: dict[str, str]) -> None:
    """Sets a session's position: keeps it first, so that every audited position can be taken up again, then audits it,
    and shows it last."""
    turn.history.keep_position(position)
    append(audit, placed_event(kind, turn, position, {**metadata, "position": digest_position(position)}))
    turn.memory.position = position
    show(turn)


def show(turn: Turn) -> None:
    """Shows the client the session's state and mode."""
    position = turn.memory.position
    turn.emit(StateChanged(**turn.stamp(), state=position.state, mode=position.mode, means=describe(position)))
