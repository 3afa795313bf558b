"""The one way a tool runs, whichever door its call came through (architecture.md, invariant 1; 002 §4.5)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from pydantic import JsonValue

from remit_governance.approvals import ApprovalSubject
from remit_governance.audit.store import AuditLog
from remit_governance.canonical import digest
from remit_governance.intents import SELECT_INTENT, Matrix, allowed_tools, canonical_tool, gate, select
from remit_governance.permissions import Answer
from remit_governance.policy.evaluate import evaluate, may_take_long
from remit_governance.redaction import Redactor
from remit_governance.rulebook import Rulebook
from remit_governance.standing import Offer, offer_for
from remit_governance.values import Action, Decision, Intent, Verdict
from remit_server.contract import ErrorCode, IntentSelected
from remit_server.errors import ToolError
from remit_server.harness.approving import ApprovalDesk, one_question
from remit_server.harness.arguments import ToolCall, declared_intent, finite, parse_arguments
from remit_server.harness.attempts import Attempts
from remit_server.harness.commit import carry_out
from remit_server.harness.hiding import denied_by, out_of_sight, past_objects
from remit_server.harness.history import PastPaths
from remit_server.harness.merge import Merger, stale
from remit_server.harness.permit import answered, permitted, strictest_answer
from remit_server.harness.printing import printing
from remit_server.harness.reading import once_more
from remit_server.harness.rebase import rebase_plan
from remit_server.harness.recording import append, intent_event
from remit_server.harness.repositories import mark_repositories
from remit_server.harness.subject import Proposal, about, measured, question, subject_of
from remit_server.harness.takeover import Takeover
from remit_server.harness.trail import CallResult, Trail
from remit_server.harness.turn import Turn
from remit_server.harness.unavailable import unavailable, unreadable
from remit_server.models.ports import UNREADABLE_CALL, ToolSpec
from remit_server.sandbox.nothing import no_sandbox
from remit_server.sandbox.ports import Sandbox
from remit_server.tools.spec import (
    CommandPlan,
    CommitPlan,
    Outcome,
    Plan,
    ReadPlan,
    Target,
    Tool,
    ToolContext,
    WritePlan,
)
from remit_server.uninterrupted import uninterrupted
from remit_server.workspace.code import CodeIntelligence, NoEditor
from remit_server.workspace.hard_links import HardLinks
from remit_server.workspace.paths import Workspace
from remit_server.workspace.ports import Documents

UNKNOWN = Action("unknown")
BESIDE = "the person had changed other lines of it meanwhile; they are kept"
MAX_QUESTIONS = 3
"""How often a person is asked about one call whose files change while they decide."""
MAX_NAME = 100
"""Characters of a tool's name that are looked at: no tool has a longer one, and a model may send a megabyte."""


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Everything a call passes. Holds no state of its own: a turn brings its intent, a session its memory."""

    tools: Mapping[str, Tool[Any]]
    matrix: Matrix
    rulebook: Rulebook
    workspace: Workspace
    documents: Documents
    merger: Merger
    takeover: Takeover
    sandbox: Sandbox
    desk: ApprovalDesk
    audit: AuditLog
    redactor: Redactor
    code: CodeIntelligence = field(default_factory=NoEditor)
    past: PastPaths = field(default_factory=PastPaths)

    async def execute(self, call: ToolCall, turn: Turn) -> CallResult:
        """Run one call, or refuse it; either way it leaves two audit records and one `tool_result`.

        Raises RunDenied where a refusal ends the run, and CancelledError only after what had begun is finished.
        """
        arguments = {key: finite(value) for key, value in call.arguments.items()}
        call = ToolCall(turn.own_id(call.id), call.name[:MAX_NAME], arguments)
        if canonical_tool(call.name) == SELECT_INTENT:
            return self._select_intent(call, turn)
        trail = self._trail(call, turn)
        if call.name == UNREADABLE_CALL:
            return trail.refused(unreadable(arguments))
        try:
            outcome = await self._governed(call, turn, trail)
            return trail.done(outcome)
        except ToolError as refusal:
            return trail.refused(refusal)
        except BaseException as error:
            trail.interrupted(error)
            raise

    async def intended(self, call: ToolCall, turn: Turn) -> tuple[Action, ...]:
        """What the call is going to touch if it runs, for the order of calls: nothing where it is going to be refused.

        Decides nothing, and the call may turn out to touch something else; `UNKNOWN` stands for what cannot be told.
        """
        try:
            tool = self._through_gate(call, turn)
            arguments = parse_arguments(tool, {key: finite(value) for key, value in call.arguments.items()})
        except ToolError:
            return ()
        try:
            targets = await _targets(tool, arguments, self._context(tool, turn))
        except Exception:  # whatever it is, the call itself meets it again, and audits it
            return (UNKNOWN,)
        return tuple(self._action(tool, target, turn) for target in targets)

    async def _governed(self, call: ToolCall, turn: Turn, trail: Trail) -> Outcome:
        # The gate stands before the arguments: a call outside the remit learns nothing from how they are judged.
        tool = self._through_gate(call, turn)
        trail.most_chars = tool.most_chars
        arguments = parse_arguments(tool, call.arguments)
        context = self._context(tool, turn)
        targets = await _targets(tool, arguments, context)
        # Workflow state: every state admits every tool until the state machine (003 §State Machine) is built.
        actions = await self._by_all_names(tuple(self._action(tool, target, turn) for target in targets))
        actions = await self._with_history(actions, tool, context, turn)
        await self._judge(actions, trail, turn)
        plan = await tool.prepare(arguments, context)
        proposal = await self._measured(Proposal(tool, arguments, actions, plan))
        # Once more, for only the plan knows how large the files become.
        asked = await self._judge(proposal.actions, trail, turn)
        if asked:
            async with one_question(trail) as others_were_asked:
                # What the person answered meanwhile may answer this as well.
                asked = not others_were_asked or await self._judge(proposal.actions, trail, turn)
                if asked:
                    proposal = await self._approve(proposal, context, trail, turn)
        if asked:
            # A person's own deny that came meanwhile counts; a policy that did is another digest.
            trail.judged(proposal.actions, trail.decisions, self._permission(proposal.actions, trail.decisions, turn))
        else:
            trail.answered_before()
        judged = tuple(zip(proposal.actions, trail.decisions, strict=True))
        with permitted(self.rulebook, judged, trail, approved=asked or answered(trail)) as permit:
            trail.before()
            permit.use()
            # Redaction and the audit of the outcome are `trail.done`, which nothing that ran can go around.
            return await self._carry_out(proposal, trail, turn)

    def offered(self, turn: Turn) -> dict[Intent, tuple[ToolSpec, ...]]:
        """What a model may be offered now: for each intent the tools that it opens and that the run allows."""
        specs = {name: ToolSpec(name, tool.summary, tool.schema) for name, tool in self.tools.items()}
        opened = {intent: tuple(specs[name] for name in self._opened(intent, turn)) for intent in Intent}
        return {intent: tools for intent, tools in opened.items() if tools}

    def may_be_read(self, path: str, turn: Turn) -> bool:
        """Whether policy lets a path be read, be it after a question: then a model may name it."""
        return self._look("fs.read", path, self.tools["read_file"], turn).verdict is not Verdict.DENY

    def declare(self, intent: Intent, justification: str | None, call_id: str, turn: Turn) -> None:
        """Rules 2 and 4: the step's intent is this one from here on. Audited before it holds."""
        previous = turn.intent.active
        append(
            self.audit,
            intent_event((intent, justification), call_id, turn, self.redactor, self.rulebook.policy.version),
        )
        turn.intent = select(turn.intent, intent)
        turn.emit(
            IntentSelected,
            intent=intent,
            justification=justification and self.redactor.redact(justification).text,
            previous=previous,
            allowed_tools=self._opened(intent, turn),
        )

    def _select_intent(self, call: ToolCall, turn: Turn) -> CallResult:
        try:
            intent, justification = declared_intent(call.arguments)
            self.declare(intent, justification, call.id, turn)
        except ToolError as refusal:
            return self._trail(call, turn).refused(refusal)
        return CallResult(True, f"intent {intent} is active", digest(call.arguments))

    def _trail(self, call: ToolCall, turn: Turn) -> Trail:
        return Trail.begin(call, turn, self.audit, self.redactor, self.rulebook.policy.version)

    def _through_gate(self, call: ToolCall, turn: Turn) -> Tool[Any]:
        name = canonical_tool(call.name)
        if refusal := gate(turn.intent, name, self.matrix):
            raise ToolError(
                refusal.message, "every call has to fit the declared intent", refusal.fix, code=ErrorCode(refusal.code)
            )
        tool = self.tools.get(name)
        if tool is None or (turn.allow_tools is not None and name not in turn.allow_tools):
            usable = [*self._opened(turn.intent.active, turn)] if turn.intent.active else []
            raise unavailable(call.name, known=tool is not None, instead=usable)
        return tool

    async def _by_all_names(self, actions: tuple[Action, ...]) -> tuple[Action, ...]:
        """The actions, and each read once more for every other name that its file has. Raises ToolError."""
        links = HardLinks(self.workspace.root)
        named = [(each, each.path) for each in actions if each.syscall == "fs.read" and each.path is not None]
        if not any(links.may_have_others(path) for _, path in named):
            return actions
        others = await asyncio.to_thread(
            lambda: [replace(a, path=o) for a, path in named for o in links.other_names(path)]
        )
        return (*actions, *others)

    async def _with_history(
        self, actions: tuple[Action, ...], tool: Tool[Any], context: ToolContext, turn: Turn
    ) -> tuple[Action, ...]:
        """The actions, those that run something marked where git's history holds what policy denies reading."""
        if not any(action.syscall == "process.exec" for action in actions):
            return actions
        if not (await asyncio.to_thread(self.sandbox.isolation)).available:
            return actions
        by = (self.rulebook.policy.version, about(turn, tool.name, "fs.read", None))
        if not await self.past.hold(self._denied(tool, turn), by, context, self.sandbox):
            return actions
        return tuple(replace(a, history=True) if a.syscall == "process.exec" else a for a in actions)

    def _denied(self, tool: Tool[Any], turn: Turn) -> Callable[[str], bool]:
        return denied_by(lambda path: self._look("fs.read", path, tool, turn))

    def _opened(self, intent: Intent, turn: Turn) -> tuple[str, ...]:
        """The tools that an intent opens and that the run allows."""
        named = (name for name in allowed_tools(intent, self.matrix) if name in self.tools)
        return tuple(name for name in named if turn.allow_tools is None or name in turn.allow_tools)

    def _context(self, tool: Tool[Any], turn: Turn) -> ToolContext:
        links = HardLinks(self.workspace.root)

        def permits(syscall: str, path: str) -> bool:
            names = (path, *(links.other_names(path) if syscall == "fs.read" else ()))
            return all(self._look(syscall, name, tool, turn).verdict is Verdict.ALLOW for name in names)

        return ToolContext(
            self.workspace,
            self.documents,
            turn.memory.read_digests,
            permits=permits,
            redact=lambda text: self.redactor.redact(text, keep_lines=True).text,
            policy_version=lambda: self.rulebook.policy.version,
            code=self.code,
        )

    def _look(self, syscall: str, path: str, tool: Tool[Any], turn: Turn) -> Decision:
        """What policy says of a path that a call comes across by itself: a search, or a command."""
        return evaluate(self.rulebook.policy, about(turn, tool.name, syscall, path))

    def _action(self, tool: Tool[Any], target: Target, turn: Turn) -> Action:
        return about(
            turn,
            tool.name,
            target.syscall,
            target.path.relative if target.path else None,
            command=target.command,
            cwd=target.cwd.relative if target.cwd else None,
            script=target.script,
            size=target.size,
            host=target.host,
        )

    async def _judge(self, actions: tuple[Action, ...], trail: Trail, turn: Turn) -> bool:
        """Whether a person has to be asked. Raises ToolError where policy or the person's configuration denies."""
        policy = self.rulebook.policy
        by = (policy.version, actions, self.rulebook.permissions, turn.memory.standing)
        if policy.extension is None and by == trail.judged_by:
            return trail.asks
        if may_take_long(policy, actions):
            decisions = await asyncio.to_thread(lambda: tuple(evaluate(policy, action) for action in actions))
        else:
            decisions = tuple(evaluate(policy, action) for action in actions)
        trail.policy_version, trail.judged_by = policy.version, by
        return trail.judged(actions, decisions, self._permission(actions, decisions, turn))

    async def _holds_back(self, plan: Plan) -> bool:
        """Whether what this plan's command writes goes to a layer, to be judged when it is known.

        Raises ToolError where nothing isolates: nobody is asked about a command that cannot run.
        """
        if not isinstance(plan, CommandPlan):
            return False
        isolation = await asyncio.to_thread(self.sandbox.isolation)
        if not isolation.available:
            raise no_sandbox(isolation)
        return isolation.layers

    def _permission(self, actions: tuple[Action, ...], decisions: tuple[Decision, ...], turn: Turn) -> Answer:
        return strictest_answer(self.rulebook, turn, zip(actions, decisions, strict=True))

    async def _approve(self, proposal: Proposal, context: ToolContext, trail: Trail, turn: Turn) -> Proposal:
        """Ask about exactly this proposal, and return it as it can be carried out now: what was shown is what runs.

        Where a file has changed since it was shown, and the change does not fit as it was, the person is asked again
        about what would be done now. Raises ToolError on a no, and `stale` where anything else has changed.
        """
        for _ in range(MAX_QUESTIONS):
            judged = zip(proposal.actions, trail.decisions, strict=True)
            offer = offer_for(judged, self.rulebook.permissions, self.rulebook.here)
            asked = await self._subject(proposal, turn, offer)
            approved = await self.desk.put(asked, question(proposal, trail, offer), trail)
            if (fitted := await self._fitted(proposal, asked, offer, turn)) is not None:
                await self._judge(fitted.actions, trail, turn)
                trail.fitted(proposal.plan, fitted.plan)
                return fitted
            plan = await proposal.tool.prepare(proposal.arguments, context)
            anew = await self._measured(replace(proposal, plan=plan))
            now = await self._subject(anew, turn, offer)
            if now.digest == approved.digest:
                return anew
            if not isinstance(anew.plan, WritePlan) or now.policy_version != asked.policy_version:
                raise stale(proposal.name)
            proposal = anew
            if not await self._judge(proposal.actions, trail, turn):
                return proposal
        raise stale(proposal.name)

    async def _fitted(self, proposal: Proposal, asked: ApprovalSubject, offer: Offer, turn: Turn) -> Proposal | None:
        """The proposal over what was typed elsewhere meanwhile; None where nothing was, or it does not fit."""
        if not isinstance(proposal.plan, WritePlan):
            return None
        plan = rebase_plan(proposal.plan, self.documents)
        if plan is None or plan.changes == proposal.plan.changes:
            return None
        fitted = await self._measured(replace(proposal, plan=plan))
        about_it = await self._subject(fitted, turn, offer)
        return fitted if replace(about_it, paths=()).digest == replace(asked, paths=()).digest else None

    async def _measured(self, proposal: Proposal) -> Proposal:
        plan = proposal.plan
        actions = measured(proposal.actions, plan, layers=await self._holds_back(plan))
        if isinstance(plan, WritePlan):
            actions = await asyncio.to_thread(mark_repositories, actions, self.workspace.root)
        return replace(proposal, actions=actions)

    async def _subject(self, proposal: Proposal, turn: Turn, offer: Offer) -> ApprovalSubject:
        return await asyncio.to_thread(subject_of, proposal, turn, self.rulebook.policy.version, self.workspace, offer)

    async def _carry_out(self, proposal: Proposal, trail: Trail, turn: Turn) -> Outcome:
        match proposal.plan:
            case ReadPlan(run=run):
                outcome = await once_more(run)
                turn.memory.note_read(outcome.data)
                return outcome
            case WritePlan() as plan:
                return await self._write(proposal, plan, trail)
            case CommandPlan(spec=spec, render=render, streams=streams):
                denied = self._denied(proposal.tool, turn)
                hidden = await asyncio.to_thread(out_of_sight, self.workspace.root, denied)
                hidden += past_objects(self.workspace.root, proposal.actions)
                started_ns = time.time_ns()
                attempts = Attempts(trail.network)
                with printing(trail.printed, lambda text: self.redactor.redact(text).text) as told:
                    output = await self.sandbox.run(
                        replace(spec, hidden=hidden, attempted=attempts.tell), told if streams else None
                    )
                outcome = await asyncio.to_thread(render, output)
                report = await self.takeover.judge(output, started_ns, proposal, trail, turn)
                notes = [text for text in (attempts.report(), report) if text]
                text = "\n".join(filter(None, [outcome.text, *notes]))
                return replace(outcome, text=text, data=with_notes(outcome.data, notes))
            case CommitPlan() as plan:
                commit = await uninterrupted(asyncio.to_thread(carry_out, self.workspace, plan))
                trail.committed(plan.where, plan.parent, commit, plan.tree)
                return plan.render(commit)
            case _:
                assert_never(proposal.plan)

    async def _write(self, proposal: Proposal, plan: WritePlan, trail: Trail) -> Outcome:
        """Merge the changes. What the person types elsewhere at that very moment is followed, a few times."""
        if await asyncio.to_thread(mark_repositories, proposal.actions, self.workspace.root) != proposal.actions:
            raise stale(proposal.name)
        label = f"Remit: {proposal.tool.name}"
        for left in reversed(range(MAX_QUESTIONS)):
            fitted = self._as_judged(proposal, plan, trail)
            trail.fitted(plan, fitted)
            plan = fitted
            try:
                await uninterrupted(self.merger.merge(plan.changes, label, trail.changed, trail.policy_version))
                break
            except ToolError as error:
                moved_on = self._as_judged(proposal, plan, trail).changes != plan.changes
                if error.code is not ErrorCode.STALE or trail.changed or not left or not moved_on:
                    raise
        beside = f"\n{BESIDE}" if trail.rebased else ""
        return replace(plan.outcome, text=plan.outcome.text + beside)

    def _as_judged(self, proposal: Proposal, plan: WritePlan, trail: Trail) -> WritePlan:
        """The plan over what the buffers hold now, where policy says the same of it; else as it was."""
        fitted = rebase_plan(plan, self.documents)
        if fitted is None or fitted.changes == plan.changes:
            return plan
        policy = self.rulebook.policy
        verdicts = [evaluate(policy, action).verdict for action in measured(proposal.actions, fitted)]
        return fitted if verdicts == [decision.verdict for decision in trail.decisions] else plan


def with_notes(data: Mapping[str, JsonValue], notes: Sequence[str]) -> Mapping[str, JsonValue]:
    """A result's data with what the harness adds to its text, where it adds something."""
    return {**data, "notes": list(notes)} if notes else data


async def _targets(tool: Tool[Any], arguments: Any, context: ToolContext) -> tuple[Target, ...]:
    """What the call touches. Raises what `targets` raises."""
    if tool.only_resolves:
        return tool.targets(arguments, context)
    return await asyncio.to_thread(_told, tool, arguments, context)


def _told(tool: Tool[Any], arguments: Any, context: ToolContext) -> tuple[Target, ...]:
    try:
        return tool.targets(arguments, context)
    except StopIteration as error:
        # No thread can hand it over, and whoever waits for it would wait for ever.
        raise RuntimeError(f"{tool.name} has no next one") from error
