"""The one way a tool runs, whichever door its call came through (INT-01)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.canonical import digest
from remit_governance.intents import SELECT_INTENT, canonical_tool, select
from remit_governance.values import Action, Intent, Verdict
from remit_server.contract import IntentSelected
from remit_server.errors import ToolError
from remit_server.harness.calls import CallResult, RunDenied, ToolCall, replace_non_finite
from remit_server.harness.context import CallContext, Parts
from remit_server.harness.judgement import judge_path
from remit_server.harness.record.audit_append import append, intent_event
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.approve import approve
from remit_server.harness.stages.authorise import authorise
from remit_server.harness.stages.execute import execute
from remit_server.harness.stages.gate import admit, opened_tools
from remit_server.harness.stages.judge import judge
from remit_server.harness.stages.merge import merge
from remit_server.harness.stages.parse import parse, parse_intent
from remit_server.harness.stages.prepare import prepare
from remit_server.harness.stages.resolve import make_tool_context, resolve, resolve_targets
from remit_server.harness.turn import Turn
from remit_server.models.ports import ToolSpec
from remit_server.tools.code.get_diagnostics import errors_in_editor
from remit_server.tools.code.language_server.showing import Seen

UNKNOWN = Action("unknown")
MAX_NAME = 100
"""Characters of a tool's name that are looked at: no tool has a longer one, and a model may send a megabyte."""


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Takes every call through its stages. Holds no state: a turn brings its intent, a session its memory."""

    parts: Parts

    async def execute(self, call: ToolCall, turn: Turn) -> CallResult:
        """Runs one call, or refuses it; either way it leaves two audit records and one `tool_result`.

        Raises RunDenied where a refusal ends the run, and CancelledError only after what had begun is finished.
        """
        ctx = self._context(call, turn, turn.own_id(call.id))
        if canonical_tool(ctx.call.name) == SELECT_INTENT:
            return self._select_intent(ctx)
        record = self._begin_record(ctx)
        try:
            return await self._run_stages(ctx, record)
        except ToolError as refusal:
            result = record.finish_refused(refusal)
            if isinstance(refusal, RunDenied):
                raise
            return result
        except BaseException as error:
            record.finish_interrupted(error)
            raise

    async def _run_stages(self, ctx: CallContext, record: CallRecord) -> CallResult:
        """Runs the stages: each takes a frozen value to the next one, or raises its refusal.

        The gate stands before the arguments: a call outside the remit learns nothing from how they are judged. What ran
        reaches nobody but through `record.finish`, which redacts it.
        """
        admitted = admit(ctx)
        parsed = parse(admitted, ctx)
        resolved = await resolve(parsed, ctx)
        judged = await judge(resolved, ctx, record)
        prepared = await prepare(judged, ctx, record)
        approved = await approve(prepared, ctx, record)
        with authorise(approved, ctx, record) as authorised:
            executed = await execute(authorised, ctx, record)
            merged = await merge(executed, ctx, record)
        return record.finish(merged.outcome, merged.most_chars)

    async def preview_actions(self, call: ToolCall, turn: Turn) -> tuple[Action, ...]:
        """Returns what the call would touch, for the order of calls: nothing where it is going to be refused.

        Decides nothing, and the call may turn out to touch something else; `UNKNOWN` stands for what cannot be told.
        """
        ctx = self._context(call, turn, call.id)
        try:
            parsed = parse(admit(ctx), ctx)
        except ToolError:
            return ()
        try:
            return (await resolve_targets(parsed, ctx)).actions
        except Exception:  # whatever it is, the call itself meets it again, and audits it
            return (UNKNOWN,)

    def offered(self, turn: Turn) -> dict[Intent, tuple[ToolSpec, ...]]:
        """Returns what a model may be offered now: for each intent the tools that it opens and that the run
        allows (INT-05; INT-06).
        """
        specs = {name: ToolSpec(name, tool.summary, tool.schema) for name, tool in self.parts.tools.items()}
        opened = {intent: tuple(specs[name] for name in opened_tools(intent, turn, self.parts)) for intent in Intent}
        return {intent: tools for intent, tools in opened.items() if tools}

    def may_be_read(self, path: str, turn: Turn) -> bool:
        """Returns whether policy lets a path be read, be it after a question: then a model may name it."""
        tool = self.parts.tools["read_file"]
        return judge_path(self.parts.rulebook, turn, tool.name, "fs.read", path).verdict is not Verdict.DENY

    async def find_errors(self, turn: Turn) -> tuple[Seen, ...] | None:
        """Returns the errors that the editor knows of, in files that policy lets be read; None where it cannot say them
        all, or there is none.
        """
        return await errors_in_editor(make_tool_context("get_diagnostics", turn, self.parts))

    def declare(self, intent: Intent, justification: str | None, call_id: str, turn: Turn) -> None:
        """Rules 2 and 4: the step's intent is this one from here on. Audited before it holds (INT-03)."""
        parts, previous = self.parts, turn.intent.active
        version = parts.rulebook.policy.version
        append(parts.audit, intent_event((intent, justification), call_id, turn, parts.redactor, version))
        turn.intent = select(turn.intent, intent)
        turn.emit(
            IntentSelected,
            intent=intent,
            justification=justification and parts.redactor.redact(justification),
            previous=previous,
            allowed_tools=opened_tools(intent, turn, parts),
        )

    def _select_intent(self, ctx: CallContext) -> CallResult:
        try:
            intent, justification = parse_intent(ctx.call.arguments)
            self.declare(intent, justification, ctx.call.id, ctx.turn)
        except ToolError as refusal:
            return self._begin_record(ctx).finish_refused(refusal)
        return CallResult(True, f"intent {intent} is active", digest(ctx.call.arguments))

    def _context(self, call: ToolCall, turn: Turn, call_id: str) -> CallContext:
        arguments = {key: replace_non_finite(value) for key, value in call.arguments.items()}
        return CallContext(ToolCall(call_id, call.name[:MAX_NAME], arguments), turn, self.parts)

    def _begin_record(self, ctx: CallContext) -> CallRecord:
        parts = self.parts
        return CallRecord.begin(ctx.call, ctx.turn, parts.audit, parts.redactor, parts.rulebook.policy.version)
