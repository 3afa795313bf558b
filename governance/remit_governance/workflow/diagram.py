"""The states as a diagram, from the tables and from nothing else (FLW-02)."""

from __future__ import annotations

from remit_governance.workflow.machine import TRANSITIONS, Transition
from remit_governance.workflow.states import Mode


def mermaid(mode: Mode) -> str:
    """Returns a Mermaid state diagram of a mode's table."""
    lines = ["stateDiagram-v2", "    [*] --> idle", *(f"    {_arrow(row)}" for row in TRANSITIONS[mode])]
    return "\n".join(lines) + "\n"


def _arrow(row: Transition) -> str:
    guard = f" [{row.guard.name}]" if row.guard else ""
    return f"{row.source} --> {row.target}: {row.trigger}{guard}"
