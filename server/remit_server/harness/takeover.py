"""A command's changes on their way into the workspace: judged, asked about, merged, audited, or gone (architecture.md,
invariant 5). What is decided about each is `aftermath.py`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit_governance.policy.evaluate import evaluate
from remit_governance.rulebook import Rulebook
from remit_governance.standing import Offer
from remit_governance.values import Action
from remit_server.errors import ToolError
from remit_server.harness.aftermath import Weighed, found_changes, sort_out, told
from remit_server.harness.approving import ApprovalDesk, one_question
from remit_server.harness.merge import Merger, stale
from remit_server.harness.permit import permitted, strictest_answer
from remit_server.harness.removals import Vanished, held_back
from remit_server.harness.repositories import mark_repositories
from remit_server.harness.subject import Proposal, about, question, subject_of
from remit_server.harness.telling import asking
from remit_server.harness.trail import Trail
from remit_server.harness.turn import Turn
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.spec import FileChange, Outcome, WritePlan
from remit_server.uninterrupted import uninterrupted
from remit_server.workspace.walk import ignored_in

STOPPED = "the command was stopped, and may have been in the middle of it"


@dataclass(frozen=True, slots=True)
class Takeover:
    """What it takes to let a command's changes in."""

    rulebook: Rulebook
    merger: Merger
    desk: ApprovalDesk

    async def judge(self, output: CommandOutput, started_ns: int, proposal: Proposal, trail: Trail, turn: Turn) -> str:
        """Take over what policy and the person allow of what a command left; says what came of it, or nothing.

        Of a command that was stopped nothing is taken over: a file may be half written.
        """
        if not output.left:
            return ""
        refused: list[tuple[str, str]] = []
        if output.exit_code is None:
            refused = [(left.path, STOPPED) for left in output.left]
        else:
            refused = await self._taken(output, started_ns, proposal, trail, turn)
        trail.merged(refused)
        return told(trail.changed, refused)

    async def _taken(
        self, output: CommandOutput, started_ns: int, proposal: Proposal, trail: Trail, turn: Turn
    ) -> list[tuple[str, str]]:
        """Merge what may be; the other paths, each with the reason."""
        workspace, documents = self.merger.workspace, self.merger.documents
        found = await asyncio.to_thread(found_changes, output.left, workspace, documents, started_ns)
        trail.policy_version = self.rulebook.policy.version
        weighed = await asyncio.to_thread(self._weigh, found.changes, proposal, turn)
        ignored = await asyncio.to_thread(ignored_in, workspace, [each.path for each in weighed])
        chosen = sort_out(weighed, ignored, found.vanished)
        refused = [*found.refused, *chosen.refused]
        taken = list(chosen.allowed)
        try:
            await self._ask(chosen.asked, proposal, trail, turn)
            taken += chosen.asked
        except ToolError as no:
            refused += [(each.path, no.why) for each in chosen.asked]
            gone = [Vanished(each.path, each.change.after) for each in chosen.asked if each.change.after]
            held = held_back((each.change for each in taken), gone)
            refused += held.items()
            taken = [each for each in taken if each.path not in held]
        try:
            await self._merge(taken, proposal, trail)
        except ToolError as error:
            refused += [(each.path, error.why) for each in taken if each.path not in trail.changed]
        return refused

    def _weigh(self, changes: Sequence[FileChange], proposal: Proposal, turn: Turn) -> list[Weighed]:
        """What policy and the person's standing answers say of each change, of which each is seen beside the others."""
        actions = mark_repositories(
            [self._write(change, proposal, turn) for change in changes], self.merger.workspace.root
        )
        decisions = [evaluate(self.rulebook.policy, action) for action in actions]
        return [
            Weighed(change, action, decision, strictest_answer(self.rulebook, turn, [(action, decision)]))
            for change, action, decision in zip(changes, actions, decisions, strict=True)
        ]

    def _write(self, change: FileChange, proposal: Proposal, turn: Turn) -> Action:
        size = len(change.after or b"")
        return about(turn, proposal.tool.name, "fs.write", change.path.relative, size=size)

    async def _ask(self, asked: Sequence[Weighed], proposal: Proposal, trail: Trail, turn: Turn) -> None:
        """One question about all of them. Raises ToolError on a no."""
        if not asked:
            return
        plan = WritePlan(tuple(each.change for each in asked), Outcome("", ""))
        kept = replace(proposal, actions=tuple(each.action for each in asked), plan=plan)
        reasons = tuple(dict.fromkeys(reason for each in asked for reason in asking(each.decision)))
        version, workspace = self.rulebook.policy.version, self.merger.workspace
        subject = await asyncio.to_thread(subject_of, kept, turn, version, workspace, Offer())
        async with one_question(trail):
            await self.desk.put(subject, question(kept, trail, Offer(), reasons), trail)

    async def _merge(self, taken: Sequence[Weighed], proposal: Proposal, trail: Trail) -> None:
        """Under a permit of its own: raises ToolError where the policy has changed since they were judged."""
        if not taken:
            return
        # Removals last: should one of the others fail, what was moved is still where it was.
        taken = sorted(taken, key=lambda each: each.change.after is None)
        judged = [(each.action, each.decision) for each in taken]
        actions = tuple(each.action for each in taken)
        if await asyncio.to_thread(mark_repositories, actions, self.merger.workspace.root) != actions:
            raise stale(taken[0].path)
        with permitted(self.rulebook, judged, trail, approved=True) as permit:
            permit.use()
            changes, label = tuple(each.change for each in taken), f"Remit: {proposal.tool.name}"
            await uninterrupted(self.merger.merge(changes, label, trail.changed, trail.policy_version))
