"""Holds files that an exemption opened to edits of what it is for: types, prose, pictures (FLW-09)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import assert_never

from remit_governance.workflow.exemptions import Category
from remit_governance.workflow.states import State
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.document_examples import RUNNERS
from remit_server.tools.code.types_only.compare import runs_otherwise
from remit_server.tools.spec import FileChange
from remit_server.workspace.paths.workspace_path import Workspace

FIX: Mapping[Category, str] = MappingProxyType(
    {
        "type_refactor": "change annotations and type declarations only; for anything else a failing test comes first",
        "documentation": "change what stands around the examples; for these themselves a failing test comes first",
        "asset_update": "leave the program out of the picture, or let a failing test come first",
    }
)
_DRAWING = re.compile(r"\.svg$", re.IGNORECASE)
_PROGRAM = re.compile(
    r"<(?:[\w-]+:)?(?:script|foreignobject|handler)\b|\bon[a-z]+\s*=|javascript:|<!entity|\0", re.IGNORECASE
)
"""What runs, or brings in what runs, where a drawing is shown; and what can be read in more than one way."""


def edits_beyond(changes: Iterable[FileChange], turn: Turn, workspace: Workspace) -> dict[str, str]:
    """Returns by path why a change is none that the exemption is for, which holds the agent alone."""
    position = turn.memory.position
    exemption = position.exemption
    if turn.caller == "human" or exemption is None or position.state is not State.EXPLORING:
        return {}
    exempted = [change for change in changes if change.path.relative in exemption.paths]
    found = {change.path.relative: _why(exemption.category, change, workspace) for change in exempted}
    return {path: reason for path, reason in found.items() if reason is not None}


def refuse_beyond(changes: Iterable[FileChange], turn: Turn, workspace: Workspace) -> None:
    """Raises ToolError (`denied`) where one of the changes is none that the exemption is for."""
    exemption = turn.memory.position.exemption
    for path, why in edits_beyond(changes, turn, workspace).items():
        fix = FIX[exemption.category] if exemption else ""
        raise ToolError(f"`{path}` was not changed", why, fix, code=ErrorCode.DENIED)


def _why(category: Category, change: FileChange, workspace: Workspace) -> str | None:
    match category:
        case "type_refactor":
            return _more_than_types(change)
        case "documentation":
            return _other_examples(change, workspace)
        case "asset_update":
            return _more_programs(change)
        case "config_change":
            return None
        case _:
            assert_never(category)


def _more_than_types(change: FileChange) -> str | None:
    why = _runs_otherwise(change)
    return None if why is None else f"the exemption is for types alone, and {why}"


def _runs_otherwise(change: FileChange) -> str | None:
    if change.moved_from is not None or change.executable is not None:
        return "a file of code is added, moved or removed, or its mode changes"
    return runs_otherwise(change.path.relative, _before(change), change.after)


def _other_examples(change: FileChange, workspace: Workspace) -> str | None:
    before, after = (data or b"" for data in (_before(change), change.after))
    return next(
        (row.why for row in RUNNERS if row.examples(before) != row.examples(after) and row.runs_in(workspace)), None
    )


def _more_programs(change: FileChange) -> str | None:
    if _DRAWING.search(change.path.relative) is None:
        return None
    before, after = (_programs(data) for data in (_before(change), change.after))
    return "it adds what runs where the picture is shown" if after - before else None


def _programs(data: bytes | None) -> set[str]:
    """Returns the lines with a program of a drawing."""
    text = html.unescape((data or b"").decode("latin-1"))
    return {line.strip() for line in text.splitlines() if _PROGRAM.search(line)}


def _before(change: FileChange) -> bytes | None:
    return None if change.before is None or change.before.left_out else change.before.data
