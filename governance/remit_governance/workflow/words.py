"""The workflow in words, for the model and for the person (FLW-06)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_governance.workflow.position import Position
from remit_governance.workflow.states import Mode, State

WRITABLE: Mapping[State, str] = MappingProxyType(
    {
        State.IDLE: "nothing may be written",
        State.PLANNING: "everything may be read, nothing may be written",
        State.TEST_WRITING: "only tests may be written",
        State.CODE_WRITING: "everything may be written except tests and their configuration",
        State.VALIDATING: "nothing may be written",
        State.REVIEWING: "nothing may be written",
        State.COMMITTING: "nothing may be written",
        State.EXPLORING: "only the exempted files may be written",
        State.RETROACTIVE_TESTING: "only tests may be written",
    }
)
"""What each state leaves writable in strict mode."""

ASKS_PERSON: Mapping[State, str] = MappingProxyType({State.REVIEWING: "/approve commits it, /reject sends it back"})
"""What the person can do where the work waits for them."""


def describe(position: Position) -> str:
    """Says where the work stands, what may be written there, and what opens the next state."""
    where = f"workflow: {position.mode} mode, state {position.state}"
    if position.mode is not Mode.STRICT:
        held = WRITABLE[position.state] if position.state is State.RETROACTIVE_TESTING else "nothing is blocked"
        return f"{where}: {held}"
    ways = "; ".join(position.ways_out())
    return f"{where}: {WRITABLE[position.state]}. {ways[:1].upper()}{ways[1:]}"
