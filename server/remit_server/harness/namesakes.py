"""Where a file is that a call looked for in another folder (AGT-05).

What a model is told of the intent that it declared: what that opens, and what holds there (INT-09).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice

from remit_governance.intents import Declaration
from remit_governance.policy.rules import Policy
from remit_governance.values import Intent, Verdict
from remit_governance.work_items import describe_work_item
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.calls import ToolCall
from remit_server.harness.context import Parts
from remit_server.harness.stages.gate import opened_tools
from remit_server.harness.turn import Turn
from remit_server.tools.spec import AnyTool
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.walk import Limits, walk

MOST_NAMED = 3
MOST_ENTRIES = 20_000
MOST_SECONDS = 0.25


async def point_to_namesakes(
    refusal: ToolError, call: ToolCall, tool: AnyTool | None, workspace: Workspace, readable: Callable[[str], bool]
) -> None:
    """Has a refusal of a file that is not there say where files of that name are, if they are `readable`."""
    named = call.arguments.get(tool.file_argument) if tool is not None and tool.file_argument is not None else None
    if refusal.code is not ErrorCode.NOT_FOUND or not isinstance(named, str) or not named:
        return
    limits = Limits(seconds=MOST_SECONDS, entries=MOST_ENTRIES)
    found = [f"`{path}`" for path in await asyncio.to_thread(_ends_with, workspace, named, limits) if readable(path)]
    if found:
        refusal.fix = f"did you mean {' or '.join(found[:MOST_NAMED])}?"


def _ends_with(workspace: Workspace, named: str, limits: Limits) -> list[str]:
    try:
        found = (path for path in walk(workspace, workspace.resolve("."), limits) if path.endswith(f"/{named}"))
        return list(islice(found, 2 * MOST_NAMED))
    except ToolError:
        return []


MAX_RULES = 10
_STOPS = {Verdict.DENY: "denied", Verdict.REQUIRE_REVIEW: "asked about"}


def describe_selected(declared: Declaration, turn: Turn, parts: Parts) -> str:
    """Returns the tools that the intent opens, the rules of policy that name it, and its work item; redacted."""
    policy, opened = parts.rulebook.policy, opened_tools(declared.intent, turn, parts)
    lines = [f"intent {declared.intent} is active; it opens {', '.join(opened) or 'no tool'}"]
    lines += _rules(policy, declared.intent)
    item = (policy.work_items or {}).get(declared.work_item or "")
    if item is not None:
        lines.append(describe_work_item(item))
    return parts.redactor.redact("\n".join(lines))


def _rules(policy: Policy, intent: Intent) -> Iterator[str]:
    """Yields the rules that speak of this intent by name; what holds for all is not repeated with each."""
    rules = (rule for layer in policy.layers for rule in layer.rules if intent in (rule.intents or ()))
    stopping = [rule for rule in rules if rule.verdict in _STOPS]
    yield from (f"policy, {_STOPS[rule.verdict]}: {rule.reason} ({rule.name})" for rule in stopping[:MAX_RULES])
