"""Holds files that an exemption opened for types alone to edits of types alone (FLW-09)."""

from __future__ import annotations

from collections.abc import Iterable

from remit_governance.workflow.states import State
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.turn import Turn
from remit_server.tools.code.types_only.compare import runs_otherwise
from remit_server.tools.spec import FileChange


def changes_of_code(changes: Iterable[FileChange], turn: Turn) -> dict[str, str]:
    """Returns by path why a change is none of types alone, where the exemption is for nothing else."""
    position = turn.memory.position
    exemption = position.exemption
    if turn.caller == "human" or exemption is None or exemption.category != "type_refactor":
        return {}
    if position.state is not State.EXPLORING:
        return {}
    exempted = (change for change in changes if change.path.relative in exemption.paths)
    found = {change.path.relative: _why(change) for change in exempted}
    return {path: f"the exemption is for types alone, and {why}" for path, why in found.items() if why is not None}


def refuse_code(changes: Iterable[FileChange], turn: Turn) -> None:
    """Raises ToolError (`denied`) where one of the changes is none of types alone."""
    for path, why in changes_of_code(changes, turn).items():
        raise ToolError(
            f"`{path}` was not changed",
            why,
            "change annotations and type declarations only; for anything else a failing test comes first",
            code=ErrorCode.DENIED,
        )


def _why(change: FileChange) -> str | None:
    if change.moved_from is not None or change.executable is not None:
        return "a file of code is added, moved or removed, or its mode changes"
    before = None if change.before is None or change.before.left_out else change.before.data
    return runs_otherwise(change.path.relative, before, change.after)
