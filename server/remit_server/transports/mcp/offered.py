"""The tools that are offered to a client, from the tables of tools and intents, with the person's own
tools (TRN-21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as mcp

from remit_governance.intents import SELECT_INTENT, Matrix, tool_fits
from remit_governance.values import Effect, Intent
from remit_server.models.ports import ToolSpec
from remit_server.models.remote.two_requests import select_spec
from remit_server.tools.external.find_tools import FIND_TOOLS
from remit_server.tools.skills.read_skill import READ_SKILL
from remit_server.tools.spec import AnyTool

INTENT = "intent"
"""The argument by which a call declares its intent."""
RUN_TURN = "run_turn"
_DESTROYS = frozenset({Effect.WRITE, Effect.EXECUTE})


@dataclass(frozen=True, slots=True)
class Governed:
    """A tool that another agent may call, and the intents that open it."""

    tool: AnyTool
    intents: tuple[Intent, ...]

    @property
    def takes_intent(self) -> bool:
        """Whether a call can bring its intent as an argument, unless the tool has an argument of that name itself."""
        return INTENT not in self.tool.schema.get("properties", {})


Offered = Mapping[str, Governed]


def governed_tools(tools: Mapping[str, AnyTool], matrix: Matrix, *, strict: bool) -> Offered:
    """Returns the tools that another agent may call at all. Tools for strict mode only are among them with `strict`."""
    found: dict[str, Governed] = {}
    for name, tool in tools.items():
        leads = tool.workflow.strict_only
        opened_by = tuple(intent for intent in Intent if tool_fits(intent, name, matrix, tool.effect))
        kept_back = tool.person_only or tool.if_named or tool.delegates or name in {FIND_TOOLS, READ_SKILL}
        if opened_by and not kept_back and (strict or not leads):
            found[name] = Governed(tool, opened_by)
    return found


def list_governed(governed: Offered, work_items: Sequence[str], *, declares: bool) -> list[mcp.Tool]:
    """Returns the tools in the protocol's form. With `declares`, the tool that declares an intent comes first."""
    opened: dict[Intent, list[ToolSpec]] = {}
    for name, each in governed.items():
        for intent in each.intents:
            opened.setdefault(intent, []).append(ToolSpec(name, each.tool.summary, each.tool.schema))
    listed = [_declaration(select_spec(opened, work_items))] if declares else []
    return [*listed, *(_governed(each, declares=declares) for each in governed.values())]


def _declaration(spec: ToolSpec) -> mcp.Tool:
    return mcp.Tool(
        name=SELECT_INTENT,
        title="Declare an intent",
        description=spec.description,
        input_schema=dict(spec.parameters),
        annotations=mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _governed(each: Governed, *, declares: bool) -> mcp.Tool:
    tool = each.tool
    schema = _with_intent(tool.schema, each.intents, declares=declares) if each.takes_intent else dict(tool.schema)
    return mcp.Tool(
        name=tool.name,
        description=tool.summary,
        input_schema=schema,
        annotations=mcp.ToolAnnotations(
            read_only_hint=tool.effect is Effect.READ and not tool.own,
            destructive_hint=tool.effect in _DESTROYS,
            open_world_hint=tool.own or tool.effect is Effect.NETWORK,
        ),
    )


def _with_intent(schema: Mapping[str, Any], intents: Sequence[Intent], *, declares: bool) -> dict[str, Any]:
    or_first = f"; without it, the one that {SELECT_INTENT} declared last counts" if declares else ""
    said = f"What this call is for, declared before it runs{or_first}"
    given = {"type": "string", "enum": [intent.value for intent in intents], "description": said}
    required = schema.get("required", []) if declares else [*schema.get("required", []), INTENT]
    return {**schema, "properties": {**schema.get("properties", {}), INTENT: given}, "required": list(required)}
