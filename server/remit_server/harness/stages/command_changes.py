"""Stage 9 of a command: its changes are judged file by file, asked about in one question, and merged under a permit of
their own, or dropped (BOX-05). `commands/classify_changes.py` decides which of these happens to a change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from remit_governance.values import Action
from remit_server.errors import ToolError
from remit_server.harness.approval.proposal import Proposal, mark_repositories
from remit_server.harness.approval.question import carrying_reasons
from remit_server.harness.commands.classify_changes import (
    ClassifiedChanges,
    CommandChanges,
    JudgedChange,
    classify_changes,
    describe_merge,
    find_changes,
    find_held_back,
    without_paths,
)
from remit_server.harness.context import CallContext
from remit_server.harness.judgement import action_for, answer_again, answered_by_typing, judge_each
from remit_server.harness.permit import permitted
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.approve import ask_by_file
from remit_server.harness.stages.execute import CommandEnded
from remit_server.harness.stages.write import JudgedWrite, write_judged
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.exempted_edits import edits_beyond
from remit_server.tools.spec import CommandPlan, FileChange, FolderChange, Outcome, Plan, WritePlan
from remit_server.workspace.trees.ignore_layers import find_ignored

Refused: TypeAlias = list[tuple[str, str]]
"""Paths that are not taken over, each with the reason."""

LEFT_OUT = "the person left it out"
STOPPED = "the command was stopped, and may have been in the middle of it"


async def merge_command(ended: CommandEnded, proposal: Proposal, ctx: CallContext, record: CallRecord) -> str:
    """Merges those of the command's changes that policy and the person allow; returns what the model is told, or an
    empty text.

    Merges nothing of a command that was stopped, because a file may be half written.
    """
    output, remarks = ended.output, tuple[str, ...]()
    if not output.left:
        return ""
    if output.exit_code is None:
        refused: Refused = [(left.path, STOPPED) for left in output.left]
    else:
        record.note_policy(ctx.parts.rulebook.policy.version)
        classified = await _judge(await _find(ended, proposal.plan, ctx), proposal, ctx)
        taken, refused = await _approve(classified, proposal, ctx, record)
        try:
            remarks = await _merge(taken, proposal, ctx, record)
        except ToolError as error:
            done = {*record.changed, *(each.path.relative for each in record.folders)}
            refused += [(each.path, error.why) for each in taken if each.path not in done]
    record.record_merge(refused)
    told = describe_merge(record.changed, refused, record.folders)
    return "\n".join([*([told] if told else []), *remarks])


async def _find(ended: CommandEnded, plan: Plan, ctx: CallContext) -> CommandChanges:
    """Returns the command's changes, without those that the workflow's exemption does not cover."""
    workspace, documents = ctx.parts.workspace, ctx.parts.documents
    found = await asyncio.to_thread(find_changes, ended.output.left, workspace, documents, ended.started_ns)
    found = without_paths(found, await asyncio.to_thread(edits_beyond, found.changes, ctx.turn, workspace))
    if isinstance(plan, CommandPlan) and not plan.keeps_folders:
        found = replace(found, folders=tuple(each for each in found.folders if not each.made))
    return found


async def _judge(found: CommandChanges, proposal: Proposal, ctx: CallContext) -> ClassifiedChanges:
    """Judges each change by itself, and classifies all of them together."""
    judged = await asyncio.to_thread(_judge_each, (*found.changes, *found.folders), proposal, ctx)
    ignored = await asyncio.to_thread(find_ignored, ctx.parts.workspace, [each.path for each in judged])
    classified = classify_changes(judged, ignored, found.dropped)
    return replace(classified, refused=(*found.refused, *classified.refused))


def _judge_each(
    changes: Sequence[FileChange | FolderChange], proposal: Proposal, ctx: CallContext
) -> list[JudgedChange]:
    actions = mark_repositories([_action(each, proposal, ctx.turn) for each in changes], ctx.parts.workspace.root)
    judgements = judge_each(actions, ctx.parts.rulebook, ctx.turn)
    return [JudgedChange(*pair) for pair in zip(changes, judgements, strict=True)]


def _action(change: FileChange | FolderChange, proposal: Proposal, turn: Turn) -> Action:
    size = len(change.after or b"") if isinstance(change, FileChange) else 0
    # The action names the sandbox because the change was made there, although the server merges it under a permit.
    where = {action.sandbox for action in proposal.actions if action.syscall == "process.exec"}
    action = action_for(turn, proposal.tool.name, "fs.write", change.path.relative)
    return replace(action, size=size, sandbox=next(iter(where), None))


async def _approve(
    classified: ClassifiedChanges, proposal: Proposal, ctx: CallContext, record: CallRecord
) -> tuple[list[JudgedChange], Refused]:
    """Asks one question about all changes that need one; returns the changes that may be merged, and the refused paths
    with the reasons."""
    asked = [each for each in classified.asked if not answered_by_typing(each.judgement, ctx.turn)]
    wanted = [*classified.allowed, *(each for each in classified.asked if each not in asked), *asked]
    if not asked:
        return wanted, list(classified.refused)
    plan, actions = plan_of(asked), tuple(action for each in asked for action in each.judgement.actions)
    reasons = dict.fromkeys(reason for each in asked for reason in carrying_reasons(each.judgement.decision))
    try:
        review = await ask_by_file(replace(proposal, actions=actions, plan=plan), tuple(reasons), ctx, record)
        # Check for a standing deny that the person gave meanwhile.
        again = ((each, answer_again(each.judgement, ctx.parts.rulebook, ctx.turn)) for each in wanted)
        wanted = [replace(each, judgement=judgement) for each, judgement in again]
        refused = {each.path: each.denial for each in wanted if each.judgement.denies}
        refused |= {each.path: LEFT_OUT for each in review.left_out}
    except ToolError as no:
        refused = {each.path: no.why for each in asked}
    gone = [each.dropped for each in wanted if each.path in refused and each.dropped]
    taken = [each for each in wanted if each.path not in refused]
    held = find_held_back((each.file for each in taken if each.file), gone)
    return [each for each in taken if each.path not in held], [*classified.refused, *refused.items(), *held.items()]


async def _merge(
    taken: Sequence[JudgedChange], proposal: Proposal, ctx: CallContext, record: CallRecord
) -> tuple[str, ...]:
    """Merges the changes under a permit of their own; returns remarks. Raises ToolError, as `permitted` and
    `write_judged` do."""
    if not taken:
        return ()
    # Remove files last, so that if another change fails, a file that was moved still exists at its old place.
    taken = sorted(taken, key=lambda each: each.file is None or each.file.after is None)
    judged = [pair for each in taken for pair in each.judgement.pairs]
    actions, version = tuple(action for action, _ in judged), record.policy_version
    with permitted(ctx.parts.rulebook, judged, version, record, approved=True):
        return await write_judged(JudgedWrite(plan_of(taken), proposal.tool.name, actions, version), ctx, record)


def plan_of(changes: Sequence[JudgedChange]) -> WritePlan:
    """Returns the changes as a plan. Folders are made from the outside in, and removed from the inside out."""
    found = (each.change for each in changes if isinstance(each.change, FolderChange))
    folders = sorted(found, key=lambda each: each.path.names)
    made, gone = [each for each in folders if each.made], [each for each in reversed(folders) if not each.made]
    files = tuple(each.file for each in changes if each.file)
    return WritePlan(files, Outcome("", ""), folders=(*made, *gone))
