"""The two-stage intent gate: first an intent, then only the tools that fit it (INT-02).

The active intent belongs to a step. The code that runs steps starts each step, each retry and each abort with
`NO_INTENT`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from remit_governance.values import Effect, Intent

SELECT_INTENT = "select_active_intent"

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "run_shell": "run_command",
        "write_to_file": "write_file",
    }
)

RefusalCode = Literal["intent_required", "tool_not_allowed_for_intent"]


@dataclass(frozen=True, slots=True)
class IntentRow:
    """The tools that one intent opens: built-in tools by name, and external tools by their declared effect."""

    tools: tuple[str, ...] = ()
    external: frozenset[Effect] = frozenset()


@dataclass(frozen=True, slots=True)
class IntentState:
    """The intent that a step has declared (None until it has), and the work item that it named with the intent."""

    active: Intent | None = None
    work_item: str | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared intent, why it was declared, and the work item that it is for."""

    intent: Intent
    justification: str | None = None
    work_item: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the gate refused a call. `allowed` lists the tools that it would have let through; `openers` lists the
    intents that open the refused tool, and is empty if the caller does not have that tool."""

    code: RefusalCode
    message: str
    fix: str
    allowed: tuple[str, ...]
    openers: tuple[Intent, ...] = ()


Matrix: TypeAlias = Mapping[Intent, IntentRow]

NO_INTENT = IntentState()

_LOOKING = IntentRow(
    tools=(
        "read_file",
        "list_files",
        "search_files",
        "repo_map",
        "get_diagnostics",
        "get_symbols",
        "get_definition",
        "get_references",
        "git_status",
        "git_diff",
        "web_fetch",
    ),
    external=frozenset({Effect.READ}),
)

INTENT_TOOLS: Matrix = MappingProxyType(
    {
        Intent.PLAN: IntentRow(
            tools=("plan_complete", "workflow_request_exemption", "revise_tests", "set_mode", "review_work", "delegate")
        ),
        Intent.ANALYZE: _LOOKING,
        Intent.DEBUG: _LOOKING,
        Intent.READ_FILE: IntentRow(tools=("read_file",)),
        Intent.CODE: IntentRow(
            tools=("write_file", "edit_file", "replace_lines", "apply_diff", "delete_file", "move_file", "undo_changes")
        ),
        Intent.WRITE_FILE: IntentRow(tools=("write_file",)),
        Intent.EXECUTE: IntentRow(
            tools=(
                "run_command",
                "run_tests",
                "git_commit",
                "start_process",
                "read_process",
                "stop_process",
                "list_processes",
                "publish_port",
            ),
            external=frozenset({Effect.EXECUTE}),
        ),
    }
)


PERSONS_OWN = frozenset({"undo_changes", "set_mode", "publish_port"})
"""Tools that only a person calls; no policy can remove them from their rows."""


def canonical_tool(name: str) -> str:
    """Returns the name under which a tool is governed: for an alias, the name of the tool that it stands for."""
    return ALIASES.get(name, name)


def allowed_tools(
    intent: Intent, matrix: Matrix = INTENT_TOOLS, external: Mapping[str, Effect] | None = None
) -> tuple[str, ...]:
    """Returns the names of the tools that `intent` opens: the row's own, in its order, then the fitting external ones.

    `external` maps the external tools that exist to their declared effects. One fits if `tool_fits` says so.
    """
    row = matrix.get(intent, IntentRow())
    named = _named(matrix)
    fitting = (name for name, effect in (external or {}).items() if _fits(row, canonical_tool(name), named, effect))
    return tuple(dict.fromkeys((*row.tools, *fitting)))


def tool_fits(
    intent: Intent, tool_name: str, matrix: Matrix = INTENT_TOOLS, known_effect: Effect | None = None
) -> bool:
    """Tells whether the tool is in the intent's set (rules 3 and 5).

    `known_effect` is the effect that an external tool declared. A tool that `matrix` or `INTENT_TOOLS` names anywhere
    is judged by its name alone, so that no declaration moves a built-in tool to another intent.
    """
    return _fits(matrix.get(intent, IntentRow()), canonical_tool(tool_name), _named(matrix), known_effect)


def _fits(row: IntentRow, name: str, named: Container[str], effect: Effect | None) -> bool:
    return name in row.tools or (effect is not None and effect in row.external and name not in named)


def _named(matrix: Matrix) -> frozenset[str]:
    """Returns the tools that some row names."""
    return frozenset(name for rows in (matrix, INTENT_TOOLS) for row in rows.values() for name in row.tools)


def gate(
    state: IntentState,
    tool_name: str,
    matrix: Matrix = INTENT_TOOLS,
    known_effect: Effect | None = None,
    *,
    offered: Container[str] | None = None,
    external: Mapping[str, Effect] | None = None,
) -> Refusal | None:
    """Checks a call against the active intent before anything else does: returns None to pass it, or a Refusal.

    Rule 1 (`intent_required`), rules 3 and 5 (`tool_not_allowed_for_intent`). Selecting an intent always passes.
    `offered` are the tools that the caller has, or None if that is not known; a refusal names no others. `external`
    are the external tools that exist, with their effects; a refusal names those of them that fit as well.
    """
    if tool_name == SELECT_INTENT:
        return None
    if state.active is not None and tool_fits(state.active, tool_name, matrix, known_effect):
        return None
    can_open = offered is None or canonical_tool(tool_name) in offered
    openers = tuple(i for i in Intent if can_open and tool_fits(i, tool_name, matrix, known_effect))
    if state.active is None:
        return Refusal(
            code="intent_required",
            message=f"`{tool_name}` was called while no intent is active",
            fix=f"call {SELECT_INTENT} first{f' with {_alternatives(openers)}' if openers else ''}",
            allowed=(SELECT_INTENT,),
            openers=openers,
        )
    named = allowed_tools(state.active, matrix, external)
    allowed = (SELECT_INTENT, *(name for name in named if offered is None or name in offered))
    does_not = f"does not belong to intent {state.active}, which"
    is_not_here = f"is not a tool of this run; intent {state.active}"
    return Refusal(
        code="tool_not_allowed_for_intent",
        message=f"`{tool_name}` {does_not if can_open else is_not_here} allows {', '.join(allowed)}",
        fix=_way_out(openers) if can_open else _NOT_HERE,
        allowed=allowed,
        openers=openers,
    )


def select(state: IntentState, intent: Intent, work_item: str | None = None) -> IntentState:
    """Returns the state after a step selects `intent` and `work_item`, whatever the state was before (rules 2, 4)."""
    del state
    return IntentState(intent, work_item)


_NO_WAY_OUT = "no intent allows this tool; use one of the allowed tools"
_NOT_HERE = "this run does not have this tool; use one of the allowed tools"


def _way_out(openers: Sequence[Intent]) -> str:
    if not openers:
        return _NO_WAY_OUT
    return f"use one of the allowed tools, or select intent {_alternatives(openers)} first"


def _alternatives(intents: Iterable[Intent]) -> str:
    return " or ".join(intents)
