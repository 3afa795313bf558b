"""The one way a tool runs, whichever door its call came through (architecture.md, invariant 1; 002 §4.5)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from remit_governance.approvals import ApprovalSubject
from remit_governance.audit.store import AuditLog
from remit_governance.canonical import digest
from remit_governance.intents import SELECT_INTENT, Matrix, allowed_tools, canonical_tool, gate, select
from remit_governance.permissions import Answer
from remit_governance.policy.evaluate import NO_RULE, evaluate
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
from remit_server.harness.hiding import out_of_sight
from remit_server.harness.merge import Merger, stale
from remit_server.harness.permit import answered, permitted, strictest_answer
from remit_server.harness.printing import printing
from remit_server.harness.reading import once_more
from remit_server.harness.recording import append, intent_event
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
from remit_server.workspace.paths import Workspace
from remit_server.workspace.ports import Documents

UNKNOWN = Action("unknown")
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
        actions = tuple(self._action(tool, target, turn) for target in targets)
        await self._judge(actions, trail, turn)
        plan = await tool.prepare(arguments, context)
        proposal = Proposal(tool, arguments, measured(actions, plan, layers=await self._holds_back(plan)), plan)
        # Once more, for only the plan knows how large the files become.
        asked = await self._judge(proposal.actions, trail, turn)
        if asked:
            async with one_question(trail) as others_were_asked:
                # What the person answered meanwhile may answer this as well.
                asked = not others_were_asked or await self._judge(proposal.actions, trail, turn)
                if asked:
                    await self._approve(proposal, context, trail, turn)
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
        specs = {
            name: ToolSpec(name, tool.summary, tool.schema)
            for name, tool in self.tools.items()
            if turn.allow_tools is None or name in turn.allow_tools
        }
        opened = {i: tuple(specs[n] for n in allowed_tools(i, self.matrix) if n in specs) for i in Intent}
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
            allowed_tools=tuple(n for n in allowed_tools(intent, self.matrix) if n in self.tools),
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
            opened = allowed_tools(turn.intent.active, self.matrix) if turn.intent.active else ()
            usable = [n for n in opened if n in self.tools and (turn.allow_tools is None or n in turn.allow_tools)]
            raise unavailable(call.name, known=tool is not None, state=turn.memory.state, instead=usable)
        return tool

    def _context(self, tool: Tool[Any], turn: Turn) -> ToolContext:
        return ToolContext(
            self.workspace,
            self.documents,
            turn.memory.read_digests,
            permits=lambda syscall, path: self._look(syscall, path, tool, turn).verdict is Verdict.ALLOW,
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
        if policy.extension is not None:
            decisions = await asyncio.to_thread(lambda: tuple(evaluate(policy, action) for action in actions))
        elif by == trail.judged_by:
            return trail.asks
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

    async def _approve(self, proposal: Proposal, context: ToolContext, trail: Trail, turn: Turn) -> None:
        """Ask about exactly this proposal; then make it anew, and go on only if it is still the same."""
        offer = offer_for(zip(proposal.actions, trail.decisions, strict=True), self.rulebook.permissions)
        asked = await self._subject(proposal, turn, offer)
        approved = await self.desk.put(asked, question(proposal, trail, offer), trail)
        anew = replace(proposal, plan=await proposal.tool.prepare(proposal.arguments, context))
        if (await self._subject(anew, turn, offer)).digest != approved.digest:
            raise stale(proposal.name)

    async def _subject(self, proposal: Proposal, turn: Turn, offer: Offer) -> ApprovalSubject:
        return await asyncio.to_thread(subject_of, proposal, turn, self.rulebook.policy.version, self.workspace, offer)

    def _denied(self, tool: Tool[Any], turn: Turn) -> Callable[[str], bool]:
        """Whether a rule denies this turn to read a path. What no rule speaks of is the command's own business."""

        def denied(relative: str) -> bool:
            decision = self._look("fs.read", relative, tool, turn)
            return decision.verdict is Verdict.DENY and decision.deciding.code != NO_RULE

        return denied

    async def _carry_out(self, proposal: Proposal, trail: Trail, turn: Turn) -> Outcome:
        match proposal.plan:
            case ReadPlan(run=run):
                outcome = await once_more(run)
                turn.memory.note_read(outcome.data)
                return outcome
            case WritePlan(changes=changes, outcome=outcome):
                label = f"Remit: {proposal.tool.name}"
                await uninterrupted(self.merger.merge(changes, label, trail.changed, trail.policy_version))
                return outcome
            case CommandPlan(spec=spec, render=render, streams=streams):
                hidden = await asyncio.to_thread(out_of_sight, self.workspace.root, self._denied(proposal.tool, turn))
                started_ns = time.time_ns()
                attempts = Attempts(trail.network)
                with printing(trail.printed, lambda text: self.redactor.redact(text).text) as told:
                    output = await self.sandbox.run(
                        replace(spec, hidden=hidden, attempted=attempts.tell), told if streams else None
                    )
                outcome = render(output)
                report = await self.takeover.judge(output, started_ns, proposal, trail, turn)
                said = [text for text in (outcome.text, attempts.report(), report) if text]
                return replace(outcome, text="\n".join(said))
            case CommitPlan() as plan:
                commit = await uninterrupted(asyncio.to_thread(carry_out, self.workspace, plan))
                trail.committed(plan.where, plan.parent, commit, plan.tree)
                return plan.render(commit)
            case _:
                assert_never(proposal.plan)


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
