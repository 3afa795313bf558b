"""Stage 8: runs a read in process and a command in the sandbox. The workspace has not changed yet after this stage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, assert_never

from remit_governance.values import Effect
from remit_server.harness.approval.proposal import Proposal
from remit_server.harness.background.printed import Printed
from remit_server.harness.background.process import Kept, identity
from remit_server.harness.background.processes import Foreground, SessionProcesses
from remit_server.harness.commands.hidden_paths import DeniedReads
from remit_server.harness.commands.inside import Attempts, Inside
from remit_server.harness.commands.live_output import show_live
from remit_server.harness.commands.repository_elsewhere import Sight, find_sight, past_objects
from remit_server.harness.context import CallContext
from remit_server.harness.handed_over import hand_over
from remit_server.harness.judgement import Judgement, judge_path
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.authorise import Authorised
from remit_server.sandbox.network.loopback import Loopback
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Leave, Progress, StreamName
from remit_server.tools.background.seen import ProcessSeen
from remit_server.tools.spec import (
    CommandPlan,
    CommitPlan,
    DelegatePlan,
    FoundTools,
    Narrows,
    Outcome,
    PublishPlan,
    ReadPlan,
    StartPlan,
    StopPlan,
    WritePlan,
)
from remit_server.uninterrupted import finish_uninterrupted
from remit_server.workspace.content.open_files import retry_read
from remit_server.workspace.git_linked import KEPT_S


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command that ran by `spec` from `started_ns` on: its outcome, its output with the changes it left, and in words
    what it tried to reach."""

    spec: CommandSpec
    outcome: Outcome
    output: CommandOutput
    started_ns: int
    network: str


@dataclass(frozen=True, slots=True)
class Executed:
    """A plan after everything that does not change the workspace. `result` is the result of what ran, or the plan
    itself if it is still to be written."""

    proposal: Proposal
    judgement: Judgement
    result: Outcome | CommandEnded | WritePlan | CommitPlan


async def execute(authorised: Authorised, ctx: CallContext, record: CallRecord) -> Executed:
    """Carries out the plan, except for writes and commits. Raises ToolError, as a read or the sandbox does."""
    proposal, plan = authorised.proposal, authorised.proposal.plan
    result: Outcome | CommandEnded | WritePlan | CommitPlan
    match plan:
        case ReadPlan(run=run):
            result = await retry_read(run, record.record_retry)
            for why in result.retried:
                record.record_retry(why)
            ctx.turn.note_read(result.data)
            if isinstance(result.facts, FoundTools):
                ctx.turn.memory.note_found(result.facts.tools)
            if isinstance(result.facts, Narrows):
                ctx.turn.narrow(result.facts.skill, result.facts.intents)
        case CommandPlan() if proposal.tool.effect is Effect.READ:
            result = await retry_read(lambda: _run_command(authorised, plan, ctx, record), record.record_retry)
        case CommandPlan():
            result = await _run_command(authorised, plan, ctx, record)
        case StartPlan():
            result = await _start_process(authorised, plan, ctx, record)
        case StopPlan(process=process, render=stopped):
            result = stopped(await ctx.parts.processes.of(ctx.turn.session_id).stop(process))
        case PublishPlan(process=process, port=port, render=published):
            result = published(await ctx.parts.processes.of(ctx.turn.session_id).publish(process, port, record))
        case WritePlan() | CommitPlan():
            result = plan
        case DelegatePlan():
            result = await hand_over(plan, ctx)
        case _:
            assert_never(plan)
    return Executed(proposal, authorised.judgement, result)


async def _find_sight(authorised: Authorised, spec: CommandSpec, ctx: CallContext, record: CallRecord) -> Sight:
    """Returns what a command sees, and which paths are hidden from it."""
    proposal, parts, root = authorised.proposal, ctx.parts, ctx.parts.workspace.root
    reads = _denied_reads(authorised, spec, ctx)
    seen = await retry_read(lambda: asyncio.to_thread(find_sight, root, reads, parts.folders), record.record_retry)
    past = past_objects(root, proposal.actions, partial(parts.folders.survey, root, reads.paths.among, within_s=KEPT_S))
    return replace(seen, hidden=(*seen.hidden, *past))


def _denied_reads(authorised: Authorised, spec: CommandSpec, ctx: CallContext) -> DeniedReads:
    rules, tool = ctx.parts.rulebook, authorised.proposal.tool
    by = tool.judged_as or tool.name
    return DeniedReads(
        rules.denied_paths("fs.read"),
        lambda path: judge_path(rules, ctx.turn, by, "fs.read", path, sandbox=spec.template),
    )


async def _start_process(authorised: Authorised, plan: StartPlan, ctx: CallContext, record: CallRecord) -> Outcome:
    """Starts a process that goes on after the call has ended. If the call is cut short, the process ends with it."""
    parts, spec, turn = ctx.parts, plan.spec, ctx.turn
    seen = await _find_sight(authorised, spec, ctx, record)
    inside = Inside(authorised.permit, record, parts.sandbox.name, spec.template)

    async def launch(printed: Progress, loopback: Loopback) -> CommandOutput:
        with inside, seen.given_to(replace(spec, begun=inside.begin, loopback=loopback)) as given:
            output = inside.ended = await parts.sandbox.run(given, printed)
        return output

    kept = _kept(authorised, spec, seen, ctx)
    processes = parts.processes.of(turn.session_id)
    process = processes.begin(plan.display, launch, kept, record)
    try:
        new = await processes.read(process.id, plan.awaited)
    except BaseException:
        await finish_uninterrupted(processes.stop(process.id))
        raise
    if plan.awaited.text or plan.awaited.port:
        processes.tell_ready(process, new.met, plan.awaited.within_s)
    return await asyncio.to_thread(plan.render, new)


async def _run_command(
    authorised: Authorised, plan: CommandPlan, ctx: CallContext, record: CallRecord
) -> CommandEnded | Outcome:
    """Runs a command until it ends, or until the person sends it to the background."""
    parts = ctx.parts
    seen = await _find_sight(authorised, plan.spec, ctx, record)
    started_ns = time.time_ns()
    inside = Inside(authorised.permit, record, parts.sandbox.name, plan.spec.template)
    attempts = Attempts(inside.admit, inside.record_attempt)
    spec = replace(
        plan.spec,
        attempted=attempts.note,
        priority=ctx.turn.priority,
        waits=inside.note_wait,
        begun=inside.begin,
        in_force=inside.in_force,
    )
    # `seen` is about the workspace and its repository. A command that runs in another folder sees only that folder.
    given_by = seen.given_to(spec) if spec.workspace == parts.workspace.root else nullcontext(spec)
    printed, leave = Printed(), Leave()

    async def run(progress: Progress) -> CommandOutput:
        with inside, given_by as given:
            output = inside.ended = await parts.sandbox.run(replace(given, leave=leave), progress)
        return output

    with show_live(record.show_output, parts.redactor.redact) as show:

        def take(stream: StreamName, chunk: bytes) -> None:
            printed.feed(stream, chunk)
            if plan.streams and not command.sent.done():
                show(stream, chunk)

        kept = _kept(authorised, spec, seen, ctx)
        task = asyncio.create_task(run(take))
        command = Foreground(plan.display, plan.stays, task, leave, kept, record, printed)
        output = await _attend(command, parts.processes.of(ctx.turn.session_id))
    if isinstance(output, ProcessSeen):
        return _sent(output)
    if plan.amend is not None:
        output = await asyncio.to_thread(plan.amend, output)
    outcome = await asyncio.to_thread(plan.render, output)
    return CommandEnded(spec, outcome, output, started_ns, attempts.report())


def _kept(authorised: Authorised, spec: CommandSpec, seen: Sight, ctx: CallContext) -> Kept:
    """Returns the paths that are hidden from a process that is about to begin."""
    parts = ctx.parts

    def look() -> Sequence[Path]:
        return find_sight(parts.workspace.root, _denied_reads(authorised, spec, ctx), parts.folders).hidden

    return Kept({path: identity(path) for path in seen.hidden}, look)


async def _attend(command: Foreground, processes: SessionProcesses) -> CommandOutput | ProcessSeen:
    """Waits until a command ends or is sent to the background. If the waiting is cut short, ends the command."""
    ends: tuple[asyncio.Future[Any], ...] = (command.task, command.sent)
    with processes.waiting_for(command):
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            if not command.sent.done():
                command.task.cancel()
                await finish_uninterrupted(asyncio.wait([command.task]))
            raise
    return command.sent.result() if command.sent.done() else command.task.result()


def _sent(process: ProcessSeen) -> Outcome:
    """Returns the outcome of a call whose command the person sent to the background."""
    how = f"sent it to the background as {process.id}; what it has written and writes is thrown away"
    told = f"the person {how}; `read_process` shows what it prints"
    return Outcome(told, f"{process.id}: you {how}", {"process": process.id})
