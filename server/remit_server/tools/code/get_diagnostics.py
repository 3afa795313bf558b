"""`get_diagnostics`: shows the errors and warnings of a file, a folder or the workspace (TOOL-07)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import Field, JsonValue

from remit_governance.values import Effect
from remit_server.errors import ToolError
from remit_server.tools.code.language_server.ask_server import Ask, plan_for, targets_of
from remit_server.tools.code.language_server.showing import Seen, Style, show_readable
from remit_server.tools.spec import Arguments, Plan, Target, Tool, ToolContext
from remit_server.workspace.code import Answer, CodeQuery, Finding, Problem

_ORDER: Mapping[str, int] = MappingProxyType({"error": 0, "warning": 1, "information": 2, "hint": 3})


class GetDiagnosticsArguments(Arguments):
    """Arguments of `get_diagnostics`."""

    path: str | None = Field(default=None, max_length=4096, description="file or folder; else the whole workspace")


def _rank(finding: Finding) -> int:
    return _ORDER[finding.severity] if isinstance(finding, Problem) else 0


def problem_line(seen: Seen) -> str:
    """Returns a problem as one line of the tool's text."""
    problem = seen.finding
    if not isinstance(problem, Problem):
        return seen.where
    by = " ".join(filter(None, [problem.source, problem.code]))
    return f"{seen.where}: {problem.severity}: {problem.message}{f' [{by}]' if by else ''}"


def _data(seen: Seen) -> dict[str, JsonValue]:
    problem = seen.finding
    if not isinstance(problem, Problem):
        return {}
    names = ("severity", "message", "source", "code")
    return {name: getattr(problem, name) for name in names}


_STYLE = Style("problem", problem_line, _data, order=_rank)


def _query(arguments: GetDiagnosticsArguments, ctx: ToolContext) -> CodeQuery:
    path = None if arguments.path is None else ctx.resolve(arguments.path)
    return CodeQuery("diagnostics", None if path is None or path.relative == "." else path.relative)


def _targets(arguments: GetDiagnosticsArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return targets_of(_query(arguments, ctx), ctx)


async def _prepare(arguments: GetDiagnosticsArguments, ctx: ToolContext) -> Plan:
    query = _query(arguments, ctx)
    if query.path is not None and not (ctx.workspace.root / query.path).exists():
        raise ToolError(f"cannot check `{query.path}`", "there is no such file", "find it with list_files")
    return await plan_for(Ask(query, f"in {query.path or 'the workspace'}", _STYLE), ctx)


async def errors_in_editor(ctx: ToolContext) -> tuple[Seen, ...] | None:
    """Returns the first 100 errors that the editor knows of, by file and line; None if the editor cannot give all of
    them."""
    if not ctx.code.available:
        return None
    said = await ctx.code.ask(CodeQuery("diagnostics"))
    if not isinstance(said, Answer) or said.total > len(said.findings):
        return None
    errors = [each for each in said.findings if _rank(each) == 0]
    return await asyncio.to_thread(show_readable, errors, _STYLE, ctx)


GET_DIAGNOSTICS = Tool(
    name="get_diagnostics",
    summary="Show errors and warnings of a file, a folder or the workspace, from the editor or a language server.",
    effect=Effect.READ,
    arguments=GetDiagnosticsArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=6,
)
