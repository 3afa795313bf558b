"""Merges a command's changes after review: judged file by file, asked about in one question, merged and audited, or
dropped (BOX-05). `classify_changes.py` says which is which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit_governance.permissions.remembered import Offer
from remit_governance.rulebook import Rulebook
from remit_governance.values import Action
from remit_server.errors import ToolError
from remit_server.harness.approval.desk import ApprovalDesk, one_question
from remit_server.harness.approval.proposal import Proposal, subject_of
from remit_server.harness.approval.question import carrying_reasons, describe_question
from remit_server.harness.approval.review import Review
from remit_server.harness.commands.classify_changes import (
    JudgedChange,
    classify_changes,
    describe_merge,
    find_changes,
    without_paths,
)
from remit_server.harness.commands.removal_checks import find_held_back
from remit_server.harness.judgement import action_for, answer_again, answered_by_typing, judge_each
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.exempted_edits import edits_beyond
from remit_server.harness.writes.merge_kept import MergeKept
from remit_server.harness.writes.merger import Merger, stale
from remit_server.harness.writes.permitted import permitted
from remit_server.harness.writes.repositories import mark_repositories
from remit_server.harness.writes.syntax import describe_broken
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.spec import CommandPlan, FileChange, FolderChange, Outcome, WritePlan
from remit_server.uninterrupted import finish_uninterrupted
from remit_server.workspace.content.removal import change_folder
from remit_server.workspace.trees.walk import find_ignored

LEFT_OUT = "the person left it out"
STOPPED = "the command was stopped, and may have been in the middle of it"


@dataclass(frozen=True, slots=True)
class CommandMerge:
    """One command that has run, and what its changes are judged, asked about, merged and recorded by."""

    proposal: Proposal
    call_id: str
    turn: Turn
    record: CallRecord
    rulebook: Rulebook
    merger: Merger
    desk: ApprovalDesk

    async def merge(self, output: CommandOutput, started_ns: int) -> str:
        """Takes over what policy and the person allow of what the command left; says what came of it, or nothing.

        Of a command that was stopped nothing is taken over: a file may be half written.
        """
        if not output.left:
            return ""
        if output.exit_code is None:
            refused = [(left.path, STOPPED) for left in output.left]
        else:
            refused = await self._review(output, started_ns)
        self.record.record_merge(refused)
        told = describe_merge(self.record.changed, refused, self.record.folders)
        return "\n".join([*([told] if told else []), *self.record.remarks])

    async def _review(self, output: CommandOutput, started_ns: int) -> list[tuple[str, str]]:
        """Merges what may be; returns the other paths, each with the reason."""
        workspace, documents = self.merger.workspace, self.merger.documents
        found = await asyncio.to_thread(find_changes, output.left, workspace, documents, started_ns)
        self.record.note_policy(self.rulebook.policy.version)
        beyond = await asyncio.to_thread(edits_beyond, found.changes, self.turn, workspace)
        found = without_paths(found, beyond)
        plan = self.proposal.plan
        keeps = not isinstance(plan, CommandPlan) or plan.keeps_folders
        folders = [each for each in found.folders if keeps or not each.made]
        judged = await asyncio.to_thread(self._judge, [*found.changes, *folders])
        ignored = await asyncio.to_thread(find_ignored, workspace, [each.path for each in judged])
        classified = classify_changes(judged, ignored, found.dropped)
        own = [each for each in classified.asked if answered_by_typing(each.judgement, self.turn)]
        asked = [each for each in classified.asked if each not in own]
        taken, refused = await self._ask([*classified.allowed, *own], asked)
        refused = [*found.refused, *classified.refused, *refused]
        try:
            await self._merge(taken)
        except ToolError as error:
            done = {*self.record.changed, *(each.path.relative for each in self.record.folders)}
            refused += [(each.path, error.why) for each in taken if each.path not in done]
        return refused

    def _judge(self, changes: Sequence[FileChange | FolderChange]) -> list[JudgedChange]:
        """Judges each change by itself, of which each is seen beside the others."""
        actions = mark_repositories([self._action(change) for change in changes], self.merger.workspace.root)
        judgements = judge_each(actions, self.rulebook, self.turn)
        return [JudgedChange(*pair) for pair in zip(changes, judgements, strict=True)]

    def _action(self, change: FileChange | FolderChange) -> Action:
        size = len(change.after or b"") if isinstance(change, FileChange) else 0
        # Made in the sandbox, and merged under a permit of its own.
        where = {action.sandbox for action in self.proposal.actions if action.syscall == "process.exec"}
        action = action_for(self.turn, self.proposal.tool.name, "fs.write", change.path.relative)
        return replace(action, size=size, sandbox=next(iter(where), None))

    async def _ask(
        self, allowed: Sequence[JudgedChange], asked: Sequence[JudgedChange]
    ) -> tuple[list[JudgedChange], list[tuple[str, str]]]:
        """Asks one question about all that are to be asked about; returns what may be merged, and what not, and why."""
        if not asked:
            return list(allowed), []
        wanted = [*allowed, *asked]
        try:
            review = await self._put_question(asked)
            # A person's own deny that came meanwhile counts.
            now = [replace(each, judgement=answer_again(each.judgement, self.rulebook, self.turn)) for each in wanted]
            refused = {each.path: each.denial for each in now if each.judgement.denies}
            refused |= {each.path: LEFT_OUT for each in review.left_out}
        except ToolError as no:
            refused = {each.path: no.why for each in asked}
        gone = [each.dropped for each in wanted if each.path in refused and each.dropped]
        taken = [each for each in wanted if each.path not in refused]
        held = find_held_back((each.file for each in taken if each.file), gone)
        return [each for each in taken if each.path not in held], [*refused.items(), *held.items()]

    async def _put_question(self, asked: Sequence[JudgedChange]) -> Review:
        """Asks one question about all of them; files can be left out, as wholes. Raises ToolError on a no."""
        actions = tuple(action for each in asked for action in each.judgement.actions)
        plan = plan_of(asked)
        kept = replace(self.proposal, actions=actions, plan=plan)
        reasons = (reason for each in asked for reason in carrying_reasons(each.judgement.decision))
        shown = describe_question(kept, self.record.call, self.turn, Offer(), tuple(dict.fromkeys(reasons))).by_file()
        version = self.rulebook.policy.version
        subject = await asyncio.to_thread(subject_of, kept, self.turn, version, self.merger.workspace, Offer())
        async with one_question(self.record):
            return await self.desk.ask(subject, shown, self.record, plan.changes)

    async def _merge(self, taken: Sequence[JudgedChange]) -> None:
        """Merges under a permit of its own. Raises ToolError where the policy has changed since they were judged."""
        if not taken:
            return
        # Removals last: should one of the others fail, what was moved is still where it was.
        taken = sorted(taken, key=lambda each: each.file is None or each.file.after is None)
        judged = [pair for each in taken for pair in each.judgement.pairs]
        actions = tuple(action for action, _ in judged)
        if await asyncio.to_thread(mark_repositories, actions, self.merger.workspace.root) != actions:
            raise stale(taken[0].path)
        version = self.record.policy_version
        tool = self.proposal.tool.name
        kept = MergeKept.of_call(self.merger, self.turn, self.call_id, tool, actions=actions, rulebook=self.rulebook)
        with permitted(self.rulebook, judged, version, self.record, approved=True):
            await finish_uninterrupted(self._merge_under(kept, plan_of(taken), version))

    async def _merge_under(self, kept: MergeKept, plan: WritePlan, version: str) -> None:
        """Merges the files, and then what became of folders. Raises ToolError, as `MergeKept.merge` does."""
        if plan.changes:
            await kept.merge(plan, self.record.changed, version)
            self.record.remarks += await asyncio.to_thread(describe_broken, plan.changes)
        for folder in plan.folders:
            if await asyncio.to_thread(change_folder, self.merger.workspace, folder.path, made=folder.made):
                self.record.folders.append(folder)


def plan_of(changes: Sequence[JudgedChange]) -> WritePlan:
    """Returns these as a plan; of the folders that go, those inside others first."""
    found = (each.change for each in changes if isinstance(each.change, FolderChange))
    folders = sorted(found, key=lambda each: each.path.names)
    made, gone = [each for each in folders if each.made], [each for each in reversed(folders) if not each.made]
    files = tuple(each.file for each in changes if each.file)
    return WritePlan(files, Outcome("", ""), folders=(*made, *gone))
