"""`find_tools`: finds the person's own tools for a purpose, for when there are too many to describe each (TOOL-17)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pydantic import Field

from remit_governance.values import Effect
from remit_server.tools.spec import AnyTool, Arguments, FoundTools, Outcome, Plan, ReadPlan, Target, Tool, ToolContext

FIND_TOOLS = "find_tools"
MOST = 5
"""How many tools one search returns."""

_NAMES_CHARS = 1_200
_WORDS = re.compile(r"[a-z0-9]+")


class FindToolsArguments(Arguments):
    """Arguments of `find_tools`."""

    query: str = Field(min_length=1, max_length=300, description="what the tool has to do, or its name")


def find_tools_row(own: Sequence[AnyTool]) -> AnyTool:
    """Returns the row of the tool that searches these tools."""

    def targets(arguments: FindToolsArguments, ctx: ToolContext) -> tuple[Target, ...]:
        del arguments
        return (Target("fs.list", path=ctx.resolve(".")),)  # each call needs something to judge

    async def prepare(arguments: FindToolsArguments, ctx: ToolContext) -> Plan:
        del ctx

        async def run() -> Outcome:
            found = search(arguments.query, own)
            text = "\n".join(map(_line, found)) or f"none of {len(own)} tools does that; their names: {names}"
            summary = f"{len(found)} of {len(own)} tools"
            return Outcome(text, summary, facts=FoundTools(tuple(each.name for each in found)))

        return ReadPlan(run)

    names = ", ".join(each.name for each in own)
    listed = names if len(names) <= _NAMES_CHARS else names[:_NAMES_CHARS].rpartition(",")[0] + ", …"
    return Tool(
        name=FIND_TOOLS,
        summary=f"Find one of the person's own tools before you call it. They are: {listed}",
        effect=Effect.READ,
        arguments=FindToolsArguments,
        targets=targets,
        prepare=prepare,
        own=True,
    )


def search(query: str, own: Sequence[AnyTool]) -> tuple[AnyTool, ...]:
    """Returns the tools that share words with the query, the best first. A word of a tool's name counts three times."""
    words = set(_WORDS.findall(query.lower().replace("_", " ")))

    def score(each: AnyTool) -> int:
        named = set(_WORDS.findall(each.name.replace("_", " ")))
        told = set(_WORDS.findall(each.summary.lower()))
        return 3 * len(words & named) + len(words & told) + 10 * (each.name == query.strip())

    ranked = sorted(own, key=lambda each: -score(each))
    return tuple(each for each in ranked[:MOST] if score(each))


def _line(each: AnyTool) -> str:
    return f"- {each.name}: {each.summary} Arguments: {json.dumps(each.schema, ensure_ascii=False)}"
