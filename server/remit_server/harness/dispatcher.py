"""The only way to run a tool, whichever transport its call came through (INT-01)."""

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
from remit_governance.secrets.cutting import shorten
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
NOTHING_LEFT = "the edits undo each other: nothing is left to write"
MAX_NAME = 100
"""Characters of a tool's name that are used. No tool has a longer name, but a model may send a megabyte."""


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Takes every call through its stages. Holds no state itself: the turn holds the intent, the session the memory."""

    parts: Parts

    async def execute(self, call: ToolCall, turn: Turn) -> CallResult:
        """Runs one call, or refuses it; either way it leaves two audit records and one `tool_result`.

        Raises RunDenied if a refusal ends the run, and CancelledError, but only after a write that had begun is
        finished.
        """
        ctx = self._context(call, turn, turn.own_id(call.id))
        if canonical_tool(ctx.call.name) == SELECT_INTENT:
            return self._select_intent(ctx)
        record = self._begin_record(ctx)
        result = await self._finish(record, self._run_stages(ctx, record))
        told = turn.collected.take_untold()
        return replace(result, text=f"{result.text}\n\n{told}") if told else result

    async def _finish(self, record: CallRecord, run: Awaitable[CallResult]) -> CallResult:
        """Awaits `run` and returns its result. A refusal becomes a result too, unless it ends the run."""
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
                refusal.result = result
                raise
            return result
        except BaseException as error:
            record.finish_interrupted(error)
            raise

    async def _run_stages(self, ctx: CallContext, record: CallRecord) -> CallResult:
        """Runs the stages. Each stage turns one frozen value into the next, or raises its refusal.

        The gate comes before the arguments are parsed, so that a call outside the intent learns nothing from how its
        arguments are judged. Every result goes through `record.finish`, which redacts it.
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
        """Runs the stages from approve on, for a call or a review. What a command has changed passes similar stages
        inside `merge`."""
        approved = await approve(prepared, ctx, record)
        with authorise(approved, ctx, record) as authorised:
            async with following(approved.proposal, ctx) as begun:
                executed = await execute(authorised, ctx, record)
                merged = await merge(executed, ctx, record)
            return await follow_outcome(merged, begun, approved.proposal, ctx, record)

    async def _prepare(self, parsed: ParsedCall, ctx: CallContext, record: CallRecord) -> Prepared:
        judged = await self._judge(parsed, ctx, record)
        if ctx.turn.collected.calls and comes_after_review(parsed, ctx.turn):
            # Not earlier, so that nobody is asked about anything because of a call that the gate or policy refuses.
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
        """Has the collected edits reviewed before a call that works with the files themselves. Raises ToolError if not
        all of them were written, because the call was meant for files with all edits."""
        since = time.monotonic()
        whole = await self.review(ctx.turn)
        record.note_waiting(time.monotonic() - since)
        if not whole:
            raise ToolError(
                "this was not run",
                "the edits collected before it were reviewed, and not all of them were written",
                "read what became of them, then call it again if that still makes sense",
                code=ErrorCode.STALE,
                retryable=True,
            )

    async def review(self, turn: Turn) -> bool:
        """Asks in one question about all edits that the turn has collected, and writes those that the person accepts;
        returns whether all were written (APP-10).

        The review is a call of the harness's own, which is judged, asked about, permitted and recorded like any other.
        Its result is put into `turn.collected`, for the model. Raises RunDenied if a refusal ends the run.
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
        """Runs the stages of a review from judge on; the calls that collected the edits have passed the earlier
        ones."""
        arguments, actions = arguments_of(batch), actions_now(actions_of(batch), ctx.turn)
        tool = review_tool(batch, left)
        if not arguments.files:
            return record.finish(Outcome(NOTHING_LEFT, NOTHING_LEFT), tool.most_chars)
        # The review compares with the real files and buffers, so its documents are without the collected texts.
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
        """Drops the edits that a turn had collected when it was cut short; audits and shows that none is written."""
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
        """Returns the actions that a call would most likely take, to order the calls of a step.

        Decides nothing, and the call may turn out to take other actions. Returns no action if the call is going to be
        refused, and `UNKNOWN` if its actions cannot be found out.
        """
        ctx = self._context(call, turn, call.id)
        try:
            parsed = parse(admit(ctx), ctx)
        except ToolError:
            return ()
        try:
            return (await resolve_targets(parsed, ctx, ahead=True)).actions
        except Exception:  # the call itself will raise the same error, and audit it
            return (UNKNOWN,)

    def is_after_review(self, call: ToolCall, turn: Turn) -> bool:
        """Returns whether the collected edits have to be reviewed before this call, to order the calls of a step."""
        ctx = self._context(call, turn, call.id)
        try:
            return comes_after_review(parse(admit(ctx), ctx), turn)
        except ToolError:  # the call is going to be refused
            return False

    def offered(self, turn: Turn) -> dict[Intent, tuple[ToolSpec, ...]]:
        """Returns the tools that a model may be offered now: for each intent those that it opens and that the run
        allows (INT-05; INT-06).
        """
        specs = {name: ToolSpec(name, tool.summary, tool.schema) for name, tool in self.parts.tools.items()}
        opened = {intent: tuple(specs[name] for name in opened_tools(intent, turn, self.parts)) for intent in Intent}
        return {intent: tools for intent, tools in opened.items() if tools and is_left(intent, turn)}

    def may_be_read(self, path: str, turn: Turn) -> bool:
        """Returns whether policy lets a path be read, if need be after a question, so that a model may name it."""
        rules = self.parts.rulebook
        return judge_path(rules, turn, READ_FILE.name, "fs.read", path, permit=True).verdict is not Verdict.DENY

    async def is_read_unasked(self, path: str, turn: Turn) -> bool:
        """Returns whether `read_file` of a path would run now without a question."""
        ctx = self._context(ToolCall("look", READ_FILE.name, {"path": path}), turn, "look")
        try:
            resolved = await resolve(parse(admit(ctx), ctx), ctx)
        except (ToolError, OSError):  # the call itself will report the same error
            return False
        return (await judge_actions(resolved.actions, self.parts.rulebook, turn)).answer.word == "allow"

    async def find_errors(self, turn: Turn) -> tuple[Seen, ...] | None:
        """Returns the errors that the editor knows of, in files that policy lets be read, or None if there is no editor
        or it cannot name all of them.
        """
        return await errors_in_editor(make_tool_context(GET_DIAGNOSTICS.name, turn, self.parts))

    def declare(self, declared: Declaration, call_id: str, turn: Turn) -> None:
        """Declares the intent of the step from here on; see `stages/select_intent.py`. Raises ToolError."""
        declare(declared, call_id, turn, self.parts)

    def describe_selected(self, arguments: Mapping[str, JsonValue], turn: Turn) -> str | None:
        """Returns what a model would be told if it declared an intent by these arguments, or None if the declaration
        would be refused (INT-09)."""
        return preview_selected(arguments, turn, self.parts)

    def _select_intent(self, ctx: CallContext) -> CallResult:
        try:
            told = select_intent(ctx)
        except ToolError as refusal:
            return self._begin_record(ctx).finish_refused(refusal)
        return CallResult(True, told, digest(ctx.call.arguments))

    def _context(self, call: ToolCall, turn: Turn, call_id: str) -> CallContext:
        arguments = {key: replace_non_finite(value) for key, value in call.arguments.items()}
        redact = self.parts.redactor.redact
        name = call.name if len(call.name) <= MAX_NAME else shorten(redact(call.name), MAX_NAME)
        return CallContext(replace(call, id=call_id, name=name, arguments=arguments), turn, self.parts)

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
