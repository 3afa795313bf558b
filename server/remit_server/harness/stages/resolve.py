"""Stage 3: turns a call into actions that policy can judge, with resolved paths, under every name that a file has."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel

from remit_governance.policy.decision.rule_paths import RulePaths
from remit_governance.values import Action, SandboxName, Verdict
from remit_governance.workflow.test_files import locked_files
from remit_server.harness.calls import OWN
from remit_server.harness.commands.hidden_paths import DeniedReads
from remit_server.harness.context import CallContext, Parts
from remit_server.harness.judgement import RUN_INSIDE, action_for, judge_path
from remit_server.harness.stages.gate import ParsedCall
from remit_server.harness.turn import Turn
from remit_server.tools.spec import AnyTool, Target, ToolContext
from remit_server.workspace.git_linked import KEPT_S
from remit_server.workspace.paths.hard_links import HardLinks


@dataclass(frozen=True, slots=True)
class ResolvedCall:
    """A call and its actions. `tool_context` is what the tool may look at."""

    tool: AnyTool
    arguments: BaseModel
    tool_context: ToolContext
    actions: tuple[Action, ...]


async def resolve(parsed: ParsedCall, ctx: CallContext) -> ResolvedCall:
    """Resolves the call to its actions. Raises ToolError, as the tool's `targets` does."""
    resolved = await resolve_targets(parsed, ctx)
    named = replace(resolved, actions=await _add_other_names(resolved.actions, ctx))
    return replace(named, actions=await _mark_history(named, ctx))


async def resolve_targets(parsed: ParsedCall, ctx: CallContext, *, ahead: bool = False) -> ResolvedCall:
    """Resolves the call to the actions that its tool names, each file under the name that the call gave it. With
    `ahead`, a call that hands work over is resolved to the actions that the work may take."""
    tool_context = make_tool_context(parsed.tool.name, ctx.turn, ctx.parts)
    tool = parsed.tool
    if ahead and tool.may_touch is not None:
        tool = replace(tool, targets=tool.may_touch)
    targets = await _find_targets(tool, parsed.arguments, tool_context)
    inside: SandboxName = "integration-test" if any(t.syscall == "net.connect" for t in targets) else "code-executor"
    actions = tuple(_action_of(target, parsed.tool, ctx.turn, inside) for target in targets)
    return ResolvedCall(parsed.tool, parsed.arguments, tool_context, actions)


def make_tool_context(tool: str, turn: Turn, parts: Parts) -> ToolContext:
    """Returns what a call of `tool` in this turn may look at, with policy's limits."""
    links, rules, workflow = HardLinks(parts.workspace.root), parts.rulebook, parts.workflow()
    most: dict[RulePaths, bool] = {}

    def allows(syscall: str, path: str) -> bool:
        own = rules.own_paths(syscall)
        if turn.authority.within or own.concern(path):
            return judge_path(rules, turn, tool, syscall, path).verdict is Verdict.ALLOW
        if own not in most:  # all paths that no rule names have the same verdict
            most[own] = judge_path(rules, turn, tool, syscall, path).verdict is Verdict.ALLOW
        return most[own]

    def permits(syscall: str, path: str) -> bool:
        return all(allows(syscall, name) for name in (path, *(links.other_names(path) if syscall == "fs.read" else ())))

    return ToolContext(
        parts.workspace,
        turn.collected.over(parts.documents),
        turn.read_digests,
        permits=permits,
        redact=lambda text: parts.redactor.redact(text, keep_lines=True),
        code=parts.code,
        history=turn.history,
        made=turn.collected.made(),
        message_prefix=workflow.message_prefix,
        is_locked=locked_files(parts.rulebook.policy.test_globs),
        position=turn.memory.position,
        room_chars=turn.room_chars,
        careful=turn.careful,
        asked=turn.asked,
        command_limit_s=parts.command_limit_s(),
        test_hosts=workflow.test_hosts,
        typed=turn.typed,
        processes=parts.processes.of(turn.session_id),
    )


async def _find_targets(tool: AnyTool, arguments: BaseModel, tool_context: ToolContext) -> tuple[Target, ...]:
    """Returns what the call touches. Raises what `targets` raises."""
    if tool.only_resolves:
        return tool.targets(arguments, tool_context)
    return await asyncio.to_thread(_targets_in_thread, tool, arguments, tool_context)


def _targets_in_thread(tool: AnyTool, arguments: BaseModel, tool_context: ToolContext) -> tuple[Target, ...]:
    try:
        return tool.targets(arguments, tool_context)
    except StopIteration as error:
        # A StopIteration cannot be passed on from a thread, so the caller would wait for ever.
        raise RuntimeError(f"{tool.name} has no next one") from error


def _action_of(target: Target, tool: AnyTool, turn: Turn, inside: SandboxName) -> Action:
    """Returns the action on a target. `inside` is the sandbox that the call gets if it needs one."""
    path = target.path.relative if target.path else None
    action = action_for(turn, tool.judged_as or tool.name, target.syscall, path)
    return replace(
        action,
        caller_tags=action.caller_tags | OWN if tool.own else action.caller_tags,
        command=target.command,
        also=target.also,
        cwd=target.cwd.relative if target.cwd else None,
        script=target.script,
        size=target.size,
        host=target.host,
        sandbox=inside if target.syscall in RUN_INSIDE else None,
        mode=action.mode if target.mode is None else target.mode,
    )


async def _add_other_names(actions: tuple[Action, ...], ctx: CallContext) -> tuple[Action, ...]:
    """Returns the actions, with each read repeated for every other name (hard link) of its file. Raises ToolError."""
    links = HardLinks(ctx.parts.workspace.root)
    named = [(each, each.path) for each in actions if each.syscall == "fs.read" and each.path is not None]
    if not any(links.may_have_others(path) for _, path in named):
        return actions
    others = await asyncio.to_thread(lambda: [replace(a, path=o) for a, path in named for o in links.other_names(path)])
    return (*actions, *others)


async def _mark_history(resolved: ResolvedCall, ctx: CallContext) -> tuple[Action, ...]:
    """Returns the actions, with those that run a command marked if git's history holds files that policy denies
    reading."""
    actions, parts = resolved.actions, ctx.parts
    if not any(action.syscall == "process.exec" for action in actions):
        return actions
    if not (await asyncio.to_thread(parts.sandbox.isolation)).available:
        return actions
    by = (parts.rulebook.policy.version, action_for(ctx.turn, resolved.tool.name, "fs.read", None))
    rules, tool = parts.rulebook, resolved.tool.name
    reads = DeniedReads(rules.denied_paths("fs.read"), lambda path: judge_path(rules, ctx.turn, tool, "fs.read", path))
    survey = partial(parts.folders.survey, parts.workspace.root, reads.paths.among, within_s=KEPT_S)
    if not await parts.past.hold(reads.denied, by, survey, resolved.tool_context, parts.sandbox):
        return actions
    return tuple(replace(a, history=True) if a.syscall == "process.exec" else a for a in actions)
