"""Runs one turn from its request to its result: its work, its limits, its records and its events (AGT-06)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from remit_governance.audit.record import AuditKind
from remit_governance.errors import AuditError
from remit_governance.intents import SELECT_INTENT, canonical_tool
from remit_governance.values import Effect
from remit_governance.workflow.position import describe
from remit_governance.workflow.states import Mode
from remit_server.agent.loop import Agent, begin_conversation
from remit_server.agent.prompt import own_call_text
from remit_server.contract import (
    CallInput,
    ErrorEvent,
    FileAttachment,
    RunCompleted,
    RunRequest,
    RunResult,
    RunStarted,
    SelectionAttachment,
    TextInput,
)
from remit_server.counted import counted
from remit_server.errors import RemitError
from remit_server.harness.calls import RunDenied, ToolCall
from remit_server.harness.collected import Collected
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.ports import Asker, Emit
from remit_server.harness.record.audit_events import run_event
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.moves import begin_message, tighten_mode
from remit_server.harness.workflow.take_up import take_session_up
from remit_server.models.ports import Declined, UserMessage
from remit_server.runtime.chosen_models import ChosenModels
from remit_server.runtime.live_settings import LiveSettings
from remit_server.runtime.log_file import enter_turn
from remit_server.runtime.own_files.folder_record import as_it_holds
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.attachments import Attached, Reader
from remit_server.runtime.turns.open_sessions import OpenSessions, Session, model_config
from remit_server.runtime.turns.outcome import Outcome, cancelled_error, internal, judge_turn, shortage, time_out_error
from remit_server.runtime.turns.taken_up import TakenUp, find_end
from remit_server.sessions.folder import SessionFolder
from remit_server.telemetry.live import Telemetry
from remit_server.workspace.history import taken_back_by

log = logging.getLogger(__name__)


@dataclass(slots=True)
class TurnRunner:
    """Runs the turns of one workspace, the turns of one session one after the other; `agent` answers the next turn.

    Invariant: a turn's last event is `run_completed`, exactly once, however the turn ends. `warned` is how many of the
    `warnings` have been shown.
    """

    configured: LiveSettings
    sessions: OpenSessions
    agent: Agent
    dispatcher: Dispatcher
    models: ChosenModels
    telemetry: Telemetry
    warnings: Callable[[], Sequence[str]]
    warned: int = 0

    @property
    def _settings(self) -> Settings:
        return self.configured.now

    async def run(self, request: RunRequest, emit: Emit, asker: Asker, taken_up: TakenUp | None) -> RunResult:
        """Runs one turn to its end, and returns its result; raises nothing."""
        session = self.sessions.open(request.session_id)
        named = request.policy.allow_tools if request.policy else None
        allowed = None if named is None else frozenset(named)
        turn = Turn(
            request.turn_id,
            session.memory,
            emit,
            asker,
            allow_tools=allowed,
            dry_run=request.policy is not None and request.policy.dry_run,
            metadata=request.metadata or {},
            history=session.history,
            asks_as=lambda: self.sessions.name_among_others(request),
            collected=Collected(wants=self.sessions.edits_of(session) == "turn"),
            seq=0 if taken_up is None else taken_up.after,
            beside=(*session.keeps(), *self.telemetry.begin_turn(request.session_id, request.turn_id)),
        )
        try:
            await session.turn_lock.acquire()
        except asyncio.CancelledError:  # while waiting for the session's turn
            return self._complete(turn, self._result(request, turn, Outcome("cancelled", error=cancelled_error())))
        enter_turn(self._settings.state, turn)
        try:
            log.info("the turn begins, with %s", session.model or self._settings.config.model.name)
            self._record_run(AuditKind.RUN_STARTED, turn, **({} if taken_up is None else {"resumed": "yes"}))
            outcome = await self._outcome(request, session, turn, taken_up)
            log.info("the turn is %s after %s", outcome.status, counted(len(turn.trace), "call"))
            self._record_run(AuditKind.RUN_COMPLETED, turn, status=outcome.status, calls=str(len(turn.trace)))
            turn.clear_intent()
            result = self._result(request, turn, outcome)
            self.dispatcher.parts.processes.of(turn.session_id).detach()
            session.end_turn(result)
            return self._complete(turn, result, session.take_problems())
        finally:
            self.dispatcher.parts.processes.of(turn.session_id).detach()
            session.turn_lock.release()

    def _record_run(self, kind: AuditKind, turn: Turn, **metadata: str) -> None:
        """Audits that a turn begins or has ended. If the audit fails, the turn goes on, and its calls are refused."""
        parts = self.dispatcher.parts
        try:
            parts.audit.write(run_event(kind, turn, parts.rulebook.policy.version, metadata))
        except AuditError as error:
            log.warning("a turn could not be audited: %s: %s", error.what, error.why)

    async def _outcome(self, request: RunRequest, session: Session, turn: Turn, taken_up: TakenUp | None) -> Outcome:
        timeout = self._settings.config.limits.turn_timeout_s
        if request.policy and request.policy.timeout_s:
            timeout = min(timeout, request.policy.timeout_s)
        try:
            async with asyncio.timeout(timeout):
                return await self._work(request, session, turn, taken_up)
        except asyncio.CancelledError:
            return Outcome("cancelled", error=cancelled_error())
        except TimeoutError:
            return Outcome("timed_out", error=time_out_error(timeout))
        except RunDenied as denial:
            return Outcome("denied", error=denial.payload() if turn.caller == "agent" else denial.payload_for_person())
        except RemitError as error:
            return Outcome("failed", error=error.payload())
        except Exception:
            log.exception("turn %s of session %s failed", request.turn_id, request.session_id)
            return Outcome("failed", error=internal())

    async def _work(self, request: RunRequest, session: Session, turn: Turn, taken_up: TakenUp | None) -> Outcome:
        if taken_up is not None and (end := await self._find_end(request, session, turn, taken_up)) is not None:
            return end
        if any(isinstance(part, TextInput) for part in request.parts):
            short = await asyncio.to_thread(shortage, self._settings)
            if short is not None:
                raise short
        agent = self._choose_model(request, session).limited(request.policy.max_steps if request.policy else None)
        reference = session.model or self._settings.config.model.name
        kept = await session.begin_turn(turn.turn_id, model_config(reference, agent.provider.name))
        folder, sent_to = str(self._settings.workspace), self.models.sent_to(session.model)
        started = RunStarted(
            **turn.stamp(),
            model=agent.provider.name,
            workspace=folder,
            sent_to=sent_to,
            resumed=taken_up is not None,
        )
        turn.emit(started)
        self._warn(turn, session)
        processes = self.dispatcher.parts.processes.of(turn.session_id)
        processes.take_up(session.started)
        processes.attach(turn)
        if kept and not session.conversation.messages:  # a new session, which may be one too many
            limits = self._settings.config.sessions
            await asyncio.to_thread(SessionFolder(self._settings.session_folder).prune, limits.days, limits.count)
        if kept:
            self._warn_of_other_model(request, session, agent.provider.name, turn)
            await take_session_up(turn, self.dispatcher.parts, session.chosen_mode)
        if request.policy and request.policy.mode:
            tighten_mode(Mode(request.policy.mode), turn, self.dispatcher.parts.audit)
        output: str | None = None
        declined: Declined | None = None
        suggestion: str | None = None
        not_attached = list[str]()
        for number, part in enumerate(request.parts):
            match part:
                case TextInput():
                    begin_message(turn, self.dispatcher.parts.audit)
                    attached = Attached()
                    if agent.provider.reads_context:
                        attached = await self._attach(part, number, request, session, turn)
                    not_attached += attached.failed
                    turn.sub_agents = agent
                    reply = await agent.answer(part, session.conversation, turn, request.context, attached.texts)
                    output, declined, suggestion = reply.message.text, reply.declined, reply.suggestion
                case CallInput():
                    if not await self._own_call(part, number, session, turn) and self._decides_rest(part):
                        break
        ended = judge_turn(turn.ended, output, declined=declined, not_attached=not_attached)
        return replace(ended, suggestion=suggestion)

    async def _find_end(self, request: RunRequest, session: Session, turn: Turn, taken_up: TakenUp) -> Outcome | None:
        """Returns how a taken-up turn ends without running again, after noting what it changed; None if it begins
        again."""
        end = await asyncio.to_thread(find_end, taken_up, request, self._settings)
        if end is not None and taken_up.here:
            await session.note_changes(turn, self.dispatcher.parts.workspace)
        return end

    def _decides_rest(self, part: CallInput) -> bool:
        """Returns whether the rest of the request depends on this call, because its tool sets a mode or reviews."""
        tool = self.dispatcher.parts.tools.get(canonical_tool(part.tool))
        return tool is not None and tool.effect is Effect.CONTROL

    def _choose_model(self, request: RunRequest, session: Session) -> Agent:
        """Returns the agent with the session's model, which the person may have switched with this request (AGT-13).

        Raises SetupError for a reference that names no model; the session then keeps its model.
        """
        provider = self.models.get(request.model or session.model)
        if request.model is not None and request.model != session.model:
            session.model = request.model
            session.conversation.counted = None  # tokens of another model
        return replace(self.agent, provider=provider)

    async def _attach(
        self, part: TextInput, number: int, request: RunRequest, session: Session, turn: Turn
    ) -> Attached:
        """Reads what goes with a message: instructions, attachments and, in strict mode, the state (AGT-12)."""
        reader = Reader(self.dispatcher, turn, f"{turn.turn_id}-{number}")
        shown = [request.context.open_document] if request.context and request.context.open_document else []
        named = [each.path for each in part.attachments if isinstance(each, FileAttachment | SelectionAttachment)]
        trusted = await asyncio.to_thread(as_it_holds, self._settings.trusted, self._settings.workspace)
        told = await reader.instruct([*named, *shown], session.instructions, trusted=trusted)
        attached = await reader.attach(part.attachments)
        session.pin(told.pins + attached.pins)
        position = turn.memory.position
        workflow = (describe(position),) if position.mode is Mode.STRICT else ()
        return replace(attached, texts=told.texts + attached.texts + workflow)

    def _warn(self, turn: Turn, session: Session) -> None:
        """Warns once of each problem of the session, and of each of `warnings` since the last turn."""
        for message in session.take_problems():
            turn.warn(message)
        found = self.warnings()
        for message in found[self.warned :]:
            turn.warn(message)
        self.warned = len(found)

    def _warn_of_other_model(self, request: RunRequest, session: Session, now: str, turn: Turn) -> None:
        """Warns that another model than before continues a session, unless the person just chose it (CLI-18)."""
        before, answers = session.answered_by, any(isinstance(part, TextInput) for part in request.parts)
        if answers and session.model is None and before not in (None, now):
            turn.warn(f"another model continues this session: `{now}`, after `{before}`")

    def flush_audit(self) -> None:
        """Writes the waiting audit records, so that a client that learns of the end finds all of them in the log."""
        try:
            self.dispatcher.parts.audit.flush()
        except AuditError as error:
            log.warning("the last audit records wait to be written: %s: %s", error.what, error.why)

    async def _own_call(self, part: CallInput, number: int, session: Session, turn: Turn) -> bool:
        """Makes a call of the person's own, or of another agent's model (EDI-11): declared, dispatched and audited like
        any other. The model is told of it with its next request. Returns whether it was carried out."""
        turn.begin_step()
        turn.caller = "human" if part.by == "person" else "agent"
        turn.own_call = True
        turn.typed = part.typed and part.by == "person"
        try:
            name = f"{turn.turn_id}-own-{number}"
            if part.intent is not None:
                declared: dict[str, JsonValue] = {"intent": part.intent.value}
                if part.work_item is not None:
                    declared["work_item"] = part.work_item
                if not (await self.dispatcher.execute(ToolCall(f"{name}-intent", SELECT_INTENT, declared), turn)).ok:
                    return False
            result = await self.dispatcher.execute(ToolCall(name, part.tool, part.arguments), turn)
        finally:
            turn.caller, turn.own_call, turn.typed = "model", False, False
        begin_conversation(session.conversation)
        told = part.model_copy(update={"arguments": self.dispatcher.parts.redactor.redact_json(part.arguments)})
        session.conversation.say(UserMessage(own_call_text(told, result.text)))
        return result.ok

    def _result(self, request: RunRequest, turn: Turn, outcome: Outcome) -> RunResult:
        changes = turn.changes.summary(self.dispatcher.parts.redactor.redact)
        return RunResult(
            session_id=request.session_id,
            turn_id=request.turn_id,
            status=outcome.status,
            final_output=outcome.output,
            reason=outcome.reason,
            suggestion=outcome.suggestion,
            usage=turn.usage,
            tool_trace=tuple(turn.trace),
            changes=changes if outcome.changes is None else outcome.changes,
            taken_back_by=taken_back_by(turn.history.turns(), turn.turn_id),
            error=outcome.error,
        )

    def _complete(self, turn: Turn, result: RunResult, problems: Sequence[str] = ()) -> RunResult:
        self.flush_audit()
        try:
            for message in problems:
                turn.warn(message)
            if result.error is not None:
                turn.emit(ErrorEvent(**turn.stamp(), error=result.error))
            turn.emit(RunCompleted(**turn.stamp(), result=result))
        except Exception:  # the client is gone; the result still answers a later request for this turn
            log.warning("the client of turn %s is gone", turn.turn_id)
        return result
