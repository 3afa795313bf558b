"""The tools that a client is told of, by the tables of tools and intents (TRN-21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as mcp

from remit_governance.intents import SELECT_INTENT, Matrix, tool_fits
from remit_governance.values import Effect, Intent
from remit_server.models.ports import ToolSpec
from remit_server.models.remote.two_requests import select_spec
from remit_server.tools.spec import AnyTool
from remit_server.tools.table import TOOLS

INTENT = "intent"
"""The argument that declares an intent with a call."""
RUN_TURN = "run_turn"
_DESTROYS = frozenset({Effect.WRITE, Effect.EXECUTE})


def governed_tools(matrix: Matrix, *, strict: bool) -> dict[str, tuple[AnyTool, tuple[Intent, ...]]]:
    """Returns the tools that another agent may call at all, each with the intents that open it; those of the workflow
    only where it is enforced."""
    found: dict[str, tuple[AnyTool, tuple[Intent, ...]]] = {}
    for name, tool in TOOLS.items():
        leads = tool.workflow is not None and tool.workflow.strict_only
        opened_by = tuple(intent for intent in Intent if tool_fits(intent, name, matrix, tool.effect))
        if opened_by and not tool.person_only and not tool.if_named and (strict or not leads):
            found[name] = tool, opened_by
    return found


def list_governed(
    governed: Mapping[str, tuple[AnyTool, tuple[Intent, ...]]], work_items: Sequence[str], *, declares: bool
) -> list[mcp.Tool]:
    """Returns them as the protocol lists tools, with the declaration of an intent first, where that is kept."""
    opened: dict[Intent, list[ToolSpec]] = {}
    for name, (tool, intents) in governed.items():
        for intent in intents:
            opened.setdefault(intent, []).append(ToolSpec(name, tool.summary, tool.schema))
    listed = [_declaration(select_spec(opened, work_items))] if declares else []
    return [*listed, *(_governed(tool, intents, declares=declares) for tool, intents in governed.values())]


def _declaration(spec: ToolSpec) -> mcp.Tool:
    return mcp.Tool(
        name=SELECT_INTENT,
        title="Declare an intent",
        description=spec.description,
        input_schema=dict(spec.parameters),
        annotations=mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _governed(tool: AnyTool, intents: Sequence[Intent], *, declares: bool) -> mcp.Tool:
    reads = tool.effect is Effect.READ
    return mcp.Tool(
        name=tool.name,
        description=tool.summary,
        input_schema=_with_intent(tool.schema, intents, declares=declares),
        annotations=mcp.ToolAnnotations(
            read_only_hint=reads, destructive_hint=tool.effect in _DESTROYS, open_world_hint=False
        ),
    )


def _with_intent(schema: Mapping[str, Any], intents: Sequence[Intent], *, declares: bool) -> dict[str, Any]:
    or_first = f"; without it, the one that {SELECT_INTENT} declared last counts" if declares else ""
    said = f"What this call is for, declared before it runs{or_first}"
    given = {"type": "string", "enum": [intent.value for intent in intents], "description": said}
    required = schema.get("required", []) if declares else [*schema.get("required", []), INTENT]
    return {**schema, "properties": {**schema.get("properties", {}), INTENT: given}, "required": list(required)}
