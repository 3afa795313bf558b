"""The one way a tool runs, whichever door its call came through (INT-01)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue

from remit_governance.canonical import digest
from remit_governance.intents import SELECT_INTENT, Declaration, canonical_tool
from remit_governance.values import Action, Intent, Verdict
from remit_server.contract import ErrorCode
from remit_server.errors import AlreadySo, ToolError
from remit_server.harness.calls import CallResult, RunDenied, ToolCall, replace_non_finite
from remit_server.harness.collected import REVIEW, Batch
from remit_server.harness.context import CallContext, Parts
from remit_server.harness.handed_over import leave
from remit_server.harness.judgement import actions_now, judge_actions, judge_path, paths_of
from remit_server.harness.namesakes import point_to_namesakes
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.approve import approve
from remit_server.harness.stages.authorise import authorise
from remit_server.harness.stages.collect import collect, collects, comes_after_review, needs_review_first
from remit_server.harness.stages.commit_review import review_commit
from remit_server.harness.stages.execute import execute
from remit_server.harness.stages.gate import ParsedCall, admit, check_state, opened_tools, parse
from remit_server.harness.stages.merge import Merged, merge
from remit_server.harness.stages.prepare import JudgedCall, Prepared, judge, prepare
from remit_server.harness.stages.resolve import ResolvedCall, make_tool_context, resolve, resolve_targets
from remit_server.harness.stages.select_intent import declare, is_left, preview_selected, select_intent
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.budget import refuse_locked
from remit_server.harness.workflow.exempted_edits import refuse_beyond
from remit_server.harness.workflow.follow import follow_outcome, following, say_what_stays
from remit_server.harness.writes.collected_plan import actions_of, arguments_of, review_tool
from remit_server.harness.writes.syntax import refuse_broken
from remit_server.models.ports import ToolSpec
from remit_server.tools.code.get_diagnostics import GET_DIAGNOSTICS, errors_in_editor
from remit_server.tools.code.language_server.showing import Seen
from remit_server.tools.files.read_file import READ_FILE
from remit_server.tools.spec import DelegatePlan, Outcome, WritePlan
from remit_server.workspace.content.open_files import retry_read

log = logging.getLogger(__name__)

UNKNOWN = Action("unknown")
WHAT_BECAME = "What became of the edits that were collected in this turn (data, not a request):"
NOTHING_LEFT = "the edits take each other back: nothing is left to write"
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
        result = await self._finish(record, self._run_stages(ctx, record))
        told = turn.collected.take_untold()
        return replace(result, text=f"{result.text}\n\n{told}") if told else result

    async def _finish(self, record: CallRecord, run: Awaitable[CallResult]) -> CallResult:
        """Returns what a call came to; a refusal is a result unless the run ends with it."""
        try:
            return await run
        except AlreadySo as so:
            return record.finish_already(so)
        except ToolError as refusal:
            tool = self.parts.tools.get(canonical_tool(record.call.name))
            say_what_stays(refusal, tool, record.turn)
            readable = partial(self.may_be_read, turn=record.turn)
            await point_to_namesakes(refusal, record.call, tool, self.parts.workspace, readable)
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
        parsed = check_state(parse(admitted, ctx), ctx)
        prepared = await self._prepare(parsed, ctx, record)
        if needs_review_first(prepared, ctx):
            await self._review_before(ctx, record)
            prepared = await self._prepare(parsed, ctx, record)
        if collects(prepared, ctx):
            return record.finish(await collect(prepared, ctx, record), prepared.proposal.tool.most_chars)
        merged = await self._carry_out(await review_commit(prepared, ctx, record), ctx, record)
        return record.finish(merged.outcome, merged.most_chars)

    async def _carry_out(self, prepared: Prepared, ctx: CallContext, record: CallRecord) -> Merged:
        """Runs the stages from the question on, which a call and a review have in common; what a command has changed
        goes through the same ones in `merge`."""
        approved = await approve(prepared, ctx, record)
        with authorise(approved, ctx, record) as authorised:
            async with following(approved.proposal, ctx) as begun:
                executed = await execute(authorised, ctx, record)
                merged = await merge(executed, ctx, record)
            return await follow_outcome(merged, begun, approved.proposal, ctx, record)

    async def _prepare(self, parsed: ParsedCall, ctx: CallContext, record: CallRecord) -> Prepared:
        judged = await self._judge(parsed, ctx, record)
        if ctx.turn.collected.calls and comes_after_review(parsed, ctx.turn):
            # Only now: a call that the gate or policy refuses has nobody asked about anything.
            await self._review_before(ctx, record)
            judged = await self._judge(parsed, ctx, record)
        await ctx.parts.documents.look(paths_of(judged.call.actions))
        prepared = await prepare(judged, ctx, record)
        if isinstance(prepared.proposal.plan, WritePlan):
            await asyncio.to_thread(refuse_beyond, prepared.proposal.plan.changes, ctx.turn, ctx.parts.workspace)
            if ctx.turn.careful:
                await asyncio.to_thread(refuse_broken, prepared.proposal.plan.changes)
        if isinstance(prepared.proposal.plan, DelegatePlan):
            leave(prepared.proposal.plan, ctx.turn)  # before anybody is asked
        return prepared

    async def _judge(self, parsed: ParsedCall, ctx: CallContext, record: CallRecord) -> JudgedCall:
        resolved = await retry_read(lambda: resolve(parsed, ctx), record.record_retry)
        refuse_locked(resolved, ctx)
        return await judge(resolved, ctx, record)

    async def _review_before(self, ctx: CallContext, record: CallRecord) -> None:
        """Has what is collected reviewed before a call that works with the files. Raises ToolError where not all of it
        was written: the call was meant for other files than there are."""
        since = time.monotonic()
        whole = await self.review(ctx.turn)
        record.note_waiting(time.monotonic() - since)
        if not whole:
            raise ToolError(
                "this was not run",
                "the edits collected before it came to review, and not all of them are written",
                "read what became of them, then call it again if that still makes sense",
                code=ErrorCode.STALE,
                retryable=True,
            )

    async def review(self, turn: Turn) -> bool:
        """Asks about all that the turn has collected, in one question, and writes what the person takes; returns
        whether that is all of it (APP-10).

        It is a call of the harness's own, judged, asked, permitted and recorded as any other. What came of it is in
        `turn.collected`, for the model. Raises RunDenied where a refusal ends the run.
        """
        async with turn.collected.one_review:
            if not turn.collected.calls:
                return True
            batch = turn.collected.begin_review()
            try:
                return await self._review(batch, turn)
            finally:
                turn.collected.end_review()

    async def _review(self, batch: Batch, turn: Turn) -> bool:
        left: dict[str, str] = {}
        ctx, record = self._begin_review(batch, turn)
        result = await self._finish(record, self._run_review(batch, left, ctx, record))
        turn.collected.untold.append(f"{WHAT_BECAME}\n{result.text}")
        return result.ok and not left and not record.parts

    async def _run_review(self, batch: Batch, left: dict[str, str], ctx: CallContext, record: CallRecord) -> CallResult:
        """Runs the stages from the judge on: the calls that collected have passed those before it."""
        arguments, actions = arguments_of(batch), actions_now(actions_of(batch), ctx.turn)
        tool = review_tool(batch, left)
        if not arguments.files:
            return record.finish(Outcome(NOTHING_LEFT, NOTHING_LEFT), tool.most_chars)
        # The texts as they are: what is collected is what is to come.
        looks = replace(make_tool_context(tool.name, ctx.turn, self.parts), documents=self.parts.documents)
        judged = await judge(ResolvedCall(tool, arguments, looks, actions), ctx, record)
        merged = await self._carry_out(await prepare(judged, ctx, record), ctx, record)
        kept = "".join(f"\nnot written: {path}: {why}; read it again" for path, why in left.items())
        return record.finish(replace(merged.outcome, text=merged.outcome.text + kept), merged.most_chars)

    def _begin_review(self, batch: Batch, turn: Turn) -> tuple[CallContext, CallRecord]:
        arguments = arguments_of(batch)
        ctx = self._context(ToolCall(batch.review, REVIEW, arguments.model_dump(mode="json")), turn, batch.review)
        record = self._begin_record(ctx)
        record.note_batch(arguments.calls)
        return ctx, record

    def discard(self, turn: Turn) -> None:
        """Forgets what a turn that was cut short had collected; that none of it is written is audited and shown."""
        if not turn.collected.calls:
            return
        batch = turn.collected.begin_review()
        turn.collected.end_review()
        try:
            _, record = self._begin_review(batch, turn)
            result = record.finish_refused(discarded())
            turn.collected.untold.append(f"{WHAT_BECAME}\n{result.text}")
        except Exception:  # the client is gone, which may be what cut the turn short
            log.warning("nobody was told that review %s was not held", batch.review)

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
            return (await resolve_targets(parsed, ctx, ahead=True)).actions
        except Exception:  # whatever it is, the call itself meets it again, and audits it
            return (UNKNOWN,)

    def is_after_review(self, call: ToolCall, turn: Turn) -> bool:
        """Returns whether what the turn has collected by then has to be reviewed before this call, for the order of
        calls.
        """
        ctx = self._context(call, turn, call.id)
        try:
            return comes_after_review(parse(admit(ctx), ctx), turn)
        except ToolError:  # it is going to be refused
            return False

    def offered(self, turn: Turn) -> dict[Intent, tuple[ToolSpec, ...]]:
        """Returns what a model may be offered now: for each intent the tools that it opens and that the run
        allows (INT-05; INT-06).
        """
        specs = {name: ToolSpec(name, tool.summary, tool.schema) for name, tool in self.parts.tools.items()}
        opened = {intent: tuple(specs[name] for name in opened_tools(intent, turn, self.parts)) for intent in Intent}
        return {intent: tools for intent, tools in opened.items() if tools and is_left(intent, turn)}

    def may_be_read(self, path: str, turn: Turn) -> bool:
        """Returns whether policy lets a path be read, be it after a question: then a model may name it."""
        rules = self.parts.rulebook
        return judge_path(rules, turn, READ_FILE.name, "fs.read", path, permit=True).verdict is not Verdict.DENY

    async def is_read_unasked(self, path: str, turn: Turn) -> bool:
        """Returns whether `read_file` of a path would run now, with no question to anybody."""
        ctx = self._context(ToolCall("look", READ_FILE.name, {"path": path}), turn, "look")
        try:
            resolved = await resolve(parse(admit(ctx), ctx), ctx)
        except (ToolError, OSError):  # the call itself meets it again
            return False
        return (await judge_actions(resolved.actions, self.parts.rulebook, turn)).answer.word == "allow"

    async def find_errors(self, turn: Turn) -> tuple[Seen, ...] | None:
        """Returns the errors that the editor knows of, in files that policy lets be read; None where it cannot say them
        all, or there is none.
        """
        return await errors_in_editor(make_tool_context(GET_DIAGNOSTICS.name, turn, self.parts))

    def declare(self, declared: Declaration, call_id: str, turn: Turn) -> None:
        """Has the step's intent be this one from here on; see `stages/select_intent.py`. Raises ToolError."""
        declare(declared, call_id, turn, self.parts)

    def describe_selected(self, arguments: Mapping[str, JsonValue], turn: Turn) -> str | None:
        """Returns what a model is told when it declares an intent so; None where it would be refused (INT-09)."""
        return preview_selected(arguments, turn, self.parts)

    def _select_intent(self, ctx: CallContext) -> CallResult:
        try:
            told = select_intent(ctx)
        except ToolError as refusal:
            return self._begin_record(ctx).finish_refused(refusal)
        return CallResult(True, told, digest(ctx.call.arguments))

    def _context(self, call: ToolCall, turn: Turn, call_id: str) -> CallContext:
        arguments = {key: replace_non_finite(value) for key, value in call.arguments.items()}
        return CallContext(replace(call, id=call_id, name=call.name[:MAX_NAME], arguments=arguments), turn, self.parts)

    def _begin_record(self, ctx: CallContext) -> CallRecord:
        parts = self.parts
        return CallRecord.begin(ctx.call, ctx.turn, parts.audit, parts.redactor, parts.rulebook.policy.version)


def discarded() -> ToolError:
    """Returns the refusal of edits whose turn ended before their review."""
    return ToolError(
        "none of the collected edits is written",
        "the turn ended before it was reviewed",
        "ask for it again",
        code=ErrorCode.CANCELLED,
        retryable=True,
    )
