"""Sessions and turns: idempotent ids, one turn at a time in a session, time-outs, cancellation (AGT-06)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import textwrap
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import JsonValue

from remit_governance.audit.record import AuditKind
from remit_governance.errors import AuditError
from remit_governance.intents import SELECT_INTENT, Matrix, canonical_tool
from remit_governance.values import Effect
from remit_governance.visible import visible
from remit_governance.workflow.debt import tell_budget
from remit_governance.workflow.position import Position, describe
from remit_governance.workflow.states import Mode
from remit_server import __version__
from remit_server.agent.loop import Agent, begin_conversation
from remit_server.agent.prompt import own_call_text
from remit_server.contract import (
    PROTOCOL,
    ApprovalAnswer,
    ApprovalReceipt,
    CallInput,
    EditsAsked,
    ErrorEvent,
    FileAttachment,
    GenerationRequest,
    GenerationResult,
    LeftOut,
    ModelStats,
    ProcessStatus,
    RunCompleted,
    RunRequest,
    RunResult,
    RunStarted,
    SelectionAttachment,
    StatusResult,
    TextInput,
)
from remit_server.errors import RemitError
from remit_server.harness.approval.desk import ApprovalDesk, allow_edits
from remit_server.harness.approval.proposed_texts import ProposedText, proposed_text
from remit_server.harness.calls import RunDenied, ToolCall
from remit_server.harness.collected import Collected
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.ports import Asker, Emit, NothingKept
from remit_server.harness.record.audit_events import run_event
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.budget import read_account
from remit_server.harness.workflow.moves import begin_message, tighten_mode
from remit_server.harness.workflow.take_up import take_session_up
from remit_server.models.answers import OnText
from remit_server.models.ports import LocalEngine, ModelProvider, UserMessage
from remit_server.runtime.attachments import Attached, Reader
from remit_server.runtime.chosen_models import ChosenModels
from remit_server.runtime.completing import Completer, generate
from remit_server.runtime.external_tools import ExternalTools
from remit_server.runtime.folder_record import as_it_holds
from remit_server.runtime.live_settings import LiveSettings
from remit_server.runtime.log_file import enter_turn
from remit_server.runtime.outcome import (
    Outcome,
    another_workspace,
    cancelled_error,
    internal,
    judge_turn,
    reused_id_error,
    shortage,
    time_out_error,
    wrong_workspace,
)
from remit_server.runtime.policy.live_policy import LivePolicy
from remit_server.runtime.ports import Notice
from remit_server.runtime.session import Session, model_config, open_session
from remit_server.runtime.settings import Settings
from remit_server.runtime.taken_up import TakenUp, find_end
from remit_server.sessions.folder import SessionFolder
from remit_server.telemetry.live import Telemetry
from remit_server.tools.background.seen import ProcessSeen

log = logging.getLogger(__name__)

REMEMBERED_TURNS = 1_000
REMEMBERED_SESSIONS = 100
MOST_OF_A_NAME = 60


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A turn and the request it came from, kept so that the same ids give the same result."""

    request: RunRequest
    task: asyncio.Task[RunResult]


class Runtime:
    """The transport-free core: takes requests, streams events, gives results.

    Invariant: a turn's last event is `run_completed`, exactly once, whatever ends it. `dispatcher` is what every call
    of a turn goes through.
    """

    def __init__(
        self,
        configured: LiveSettings,
        agent: Agent,
        dispatcher: Dispatcher,
        desk: ApprovalDesk,
        live: LivePolicy,
        *,
        models: ChosenModels,
        telemetry: Telemetry,
        close: Callable[[], None],
        tools: ExternalTools,
        warnings: Callable[[], Sequence[str]] = tuple,
        audit_warnings: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._configured, self._agent, self._models, self._telemetry = configured, agent, models, telemetry
        self.dispatcher, self._desk, self.tools = dispatcher, desk, tools
        self._live, self._close_resources = live, close
        self._warnings, self._warned, self._audit_warnings = warnings, 0, audit_warnings
        self._completer = Completer(lambda: self._settings, lambda: self._running_turns > 0, models, dispatcher)
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._turns: OrderedDict[tuple[str, str], RunningTurn] = OrderedDict()
        self._retiring: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def _settings(self) -> Settings:
        return self._configured.now

    @property
    def _running_turns(self) -> int:
        return sum(not turn.task.done() for turn in self._turns.values())

    def _position_of(self, session_id: str | None) -> Position:
        """Returns where a session stands in the workflow, else the one that was used last; a new one, where it will
        begin."""
        session = self._known(session_id)
        return Position(Mode(self._settings.config.workflow.mode)) if session is None else session.memory.position

    def _known(self, session_id: str | None) -> Session | None:
        """Returns the session with this id, for None the one that was used last; None where there is none here."""
        return next(reversed(self._sessions.values()), None) if session_id is None else self._sessions.get(session_id)

    async def run(self, request: RunRequest, emit: Emit, asker: Asker, taken_up: TakenUp | None = None) -> RunResult:
        """Run one turn; see `AgentRuntime.run`. Raises RemitError where the ids were used for another request."""
        key = (request.session_id, request.turn_id)
        known = self._turns.get(key)
        if known is not None and taken_up is not None:  # it was lost to another process, which is gone too
            await asyncio.wait([known.task])
            known, taken_up = None, replace(taken_up, here=False)
        if known is not None and known.request != request:
            raise reused_id_error(request)
        if (folder := another_workspace(request, self._settings.workspace)) is not None:
            raise wrong_workspace(folder, self._settings.workspace)
        if self._closed:
            raise RemitError("no turn was started", "the server is shutting down", "start it again")
        if known is None:
            known = RunningTurn(request, asyncio.create_task(self._turn(request, emit, asker, taken_up)))
            self._turns[key] = known
            self._forget_old()
        try:
            return await asyncio.shield(known.task)
        except asyncio.CancelledError:
            known.task.cancel()
            # However often the waiting is cancelled, the answer comes after `run_completed`.
            while not known.task.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([known.task])
            raise

    async def generate(self, request: GenerationRequest, on_text: OnText | None) -> GenerationResult:
        """Let the model answer by itself; see `AgentRuntime.generate`."""
        return await generate(self._agent.provider, request, on_text)

    async def complete(self, path: str, text: str, offset: int) -> str | None:
        """Complete an open document; see `AgentRuntime.complete`."""
        return await self._completer.complete(path, text, offset)

    @property
    def sessions(self) -> SessionFolder:
        """The sessions of this workspace."""
        return SessionFolder(self._settings.session_folder)

    @property
    def matrix(self) -> Matrix:
        """The tools that each intent opens, as the policy in force has it (INT-08)."""
        return self._live.rulebook.policy.matrix

    def cancel(self, session_id: str | None = None, turn_id: str | None = None) -> int:
        """Cancel the running turns that match; None matches all."""
        matching = [
            turn.task
            for (session, name), turn in self._turns.items()
            if session_id in (None, session) and turn_id in (None, name) and not turn.task.done()
        ]
        for task in matching:
            # A task that is cancelled before its first step never says how it ended; that step comes before this call.
            asyncio.get_running_loop().call_soon(task.cancel)
        return len(matching)

    def answer(self, answer: ApprovalAnswer) -> ApprovalReceipt:
        """Answer a pending approval."""
        return self._desk.answer(answer)

    def asked(self, approval_id: str) -> bool:
        """Returns whether this approval is pending here."""
        return self._desk.asks(approval_id)

    def send_to_background(self, session_id: str) -> str:
        """Have a running command go on in the background; see `AgentRuntime.send_to_background`."""
        known = self._known(session_id)
        name = session_id if known is None else known.memory.session_id
        return self.dispatcher.parts.processes.of(name).send_to_background().id

    def withdraw(self, approval_id: str, why: str) -> bool:
        """Take a pending approval back; see `AgentRuntime.withdraw`."""
        return self._desk.withdraw(approval_id, why)

    def proposed(self, approval_id: str, path: str, left_out: Sequence[LeftOut]) -> ProposedText | None:
        """Returns the texts of a file that a pending approval is about."""
        return proposed_text(self._desk.changes(approval_id), path, left_out)

    def status(self, session_id: str | None = None, model: str | None = None) -> StatusResult:
        """Returns what a status bar shows; see `AgentRuntime.status`."""
        known = self._sessions.get(session_id or "")
        chosen = model or (known.model if known else None)
        asked: ModelProvider | None = self._agent.provider if chosen is None else self._models.opened.get(chosen)
        provider, position = self._agent.provider, self._position_of(session_id)
        return StatusResult(
            version=__version__,
            protocol=PROTOCOL,
            workspace=str(self._settings.workspace),
            model=asked.name if asked else str(chosen),
            model_state=asked.state if asked else "stopped",
            model_loaded=None if asked is None else _loaded_share(asked),
            sent_to=self._models.sent_to(chosen),
            abilities=tuple(sorted(provider.abilities)),
            completion=self._completer.state(),
            running_turns=self._running_turns,
            pending_approvals=self._desk.pending,
            mode=position.mode,
            state=position.state,
            state_means=describe(position),
            edits=self._edits_of(self._known(session_id)),
            policy=self.dispatcher.parts.rulebook.policy.version,
            policy_problem=self._live.problem,
            audit_problem=next(reversed(self._audit_warnings()), None),
            sandbox=self.dispatcher.parts.sandbox.name,
            processes=tuple(map(_process_status, self._processes_of(session_id))),
        )

    def _processes_of(self, session_id: str | None) -> tuple[ProcessSeen, ...]:
        session = self._known(session_id)
        return () if session is None else self.dispatcher.parts.processes.of(session.memory.session_id).all()

    async def recall(self, session_id: str) -> None:
        """Have `status` know a kept session; see `AgentRuntime.recall`."""
        if session_id in self._sessions:
            return
        session = open_session(session_id, self._settings, self.dispatcher.parts.redactor.redact_json)
        if await session.recall(self.dispatcher.parts.audit.path) and session_id not in self._sessions:
            self._sessions[session_id] = session
            self._forget_old()

    def budget(self) -> tuple[str, ...]:
        """Returns how the coverage budget stands; see `AgentRuntime.budget`."""
        return tell_budget(read_account(self._settings.coverage_file), self._settings.workflow.thresholds)

    def edits(self, session_id: str, asked: EditsAsked | None = None) -> EditsAsked:
        """When the session asks about edits; see `AgentRuntime.edits`."""
        if asked is not None:
            allow_edits(self._session(session_id).memory, self.dispatcher.parts.audit, allow=asked == "allow")
            if asked != "allow":
                self._session(session_id).review = asked
            self._forget_old()
        return self._edits_of(self._known(session_id))

    def _edits_of(self, session: Session | None) -> EditsAsked:
        if session is not None and session.memory.standing.edits:
            return "allow"
        return (session and session.review) or self._settings.config.review.when

    async def model_stats(self) -> ModelStats | None:
        """Returns what the local model's process holds and has done; None where there is none."""
        provider = self._agent.provider
        stats = await provider.stats() if isinstance(provider, LocalEngine) else None
        return None if stats is None else ModelStats(**asdict(stats))

    async def reload(self) -> tuple[Notice, ...]:
        """Have policy, configuration and the person's own tools count as they are now, where they can be used."""
        if self._closed:
            return ()
        found = await self._live.reload(), await self._configured.reload(), await self._reload_tools()
        return tuple(notice for notice in found if notice is not None)

    async def _reload_tools(self) -> Notice | None:
        changed = await self.tools.reload()
        return Notice(not self.tools.problems, self.tools.told()) if changed else None

    def put_settings(self, settings: Settings) -> None:
        """Have the next turns take their limits, and their model, from these settings."""
        self._agent = replace(
            self._agent,
            provider=self._models.get(),
            max_steps=settings.config.limits.max_steps,
            generation=settings.generation,
        )

    def retire(self, models: Sequence[ModelProvider]) -> None:
        """Close models that no later turn asks, once the turns that run now have ended."""
        running = [turn.task for turn in self._turns.values() if not turn.task.done()]

        async def close() -> None:
            if running:
                await asyncio.wait(running)
            for model in models:
                await model.close()

        self._keep_until_done(close())

    def _keep_until_done(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def verify_audit(self) -> tuple[bool, str]:
        """Verify the audit log of this workspace: its chain and its checkpoints."""
        from remit_server.runtime.audit_service import verify_workspace

        self._flush_audit()
        return await asyncio.to_thread(verify_workspace, self._settings)

    async def close(self) -> None:
        """Cancel what runs, stop the model, close the audit. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.cancel()
        running = [turn.task for turn in self._turns.values() if not turn.task.done()]
        if running:
            await asyncio.wait(running, timeout=5)
        await self.dispatcher.parts.processes.close()
        await self._models.close()
        if self._retiring:
            await asyncio.wait(self._retiring, timeout=5)
        for session in self._sessions.values():
            session.close()
        self._close_resources()

    async def _turn(self, request: RunRequest, emit: Emit, asker: Asker, taken_up: TakenUp | None) -> RunResult:
        session = self._session(request.session_id)
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
            asks_as=lambda: self._name_among_others(request),
            collected=Collected(wants=self.edits(request.session_id) == "turn"),
            seq=0 if taken_up is None else taken_up.after,
            beside=(*session.keeps(), *self._telemetry.begin_turn(request.session_id, request.turn_id)),
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
            log.info("the turn is %s after %d calls", outcome.status, len(turn.trace))
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
        """Audits that a turn begins or has ended. Where nothing can be recorded, its calls are refused one by one."""
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
            return Outcome("denied", error=denial.payload())
        except RemitError as error:
            return Outcome("failed", error=error.payload())
        except Exception:
            log.exception("turn %s of session %s failed", request.turn_id, request.session_id)
            return Outcome("failed", error=internal())

    async def _work(self, request: RunRequest, session: Session, turn: Turn, taken_up: TakenUp | None) -> Outcome:
        if taken_up is not None:
            end = await asyncio.to_thread(find_end, taken_up, request, self._settings)
            if end is not None:
                return end
        if any(isinstance(part, TextInput) for part in request.parts):
            short = await asyncio.to_thread(shortage, self._settings)
            if short is not None:
                raise short
        agent = self._choose_model(request, session).limited(request.policy.max_steps if request.policy else None)
        reference = session.model or self._settings.config.model.name
        kept = await session.begin_turn(turn.turn_id, model_config(reference, agent.provider.name))
        folder, sent_to = str(self._settings.workspace), self._models.sent_to(session.model)
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
        if kept and not session.conversation.messages:  # it is new, and one more
            limits = self._settings.config.sessions
            await asyncio.to_thread(self.sessions.prune, limits.days, limits.count)
        if kept:
            self._warn_of_other_model(request, session, agent.provider.name, turn)
            await take_session_up(turn, self.dispatcher.parts, session.chosen_mode)
        if request.policy and request.policy.mode:
            tighten_mode(Mode(request.policy.mode), turn, self.dispatcher.parts.audit)
        output: str | None = None
        declined, not_attached = False, list[str]()
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
                    output, declined = reply.message.text, reply.declined
                case CallInput():
                    if not await self._own_call(part, number, session, turn) and self._decides_rest(part):
                        break
        return judge_turn(turn.ended, output, declined=declined, not_attached=not_attached)

    def _decides_rest(self, part: CallInput) -> bool:
        """Tells whether what follows in the request was meant for what this call leads to: a mode, a review."""
        tool = self.dispatcher.parts.tools.get(canonical_tool(part.tool))
        return tool is not None and tool.effect is Effect.CONTROL

    def _choose_model(self, request: RunRequest, session: Session) -> Agent:
        """Returns the agent with the session's model, which the person may have switched with this request (AGT-13).

        Raises SetupError for a reference that means no model; the session keeps its own then.
        """
        provider = self._models.get(request.model or session.model)
        if request.model is not None and request.model != session.model:
            session.model = request.model
            session.conversation.counted = None  # tokens of another model
        return replace(self._agent, provider=provider)

    async def _attach(
        self, part: TextInput, number: int, request: RunRequest, session: Session, turn: Turn
    ) -> Attached:
        """Reads what goes with a message (AGT-12)."""
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
        """Say once what maintaining the audit log has found since the last turn, and what is wrong with the session."""
        for message in session.take_problems():
            turn.warn(message)
        found = self._warnings()
        for message in found[self._warned :]:
            turn.warn(message)
        self._warned = len(found)

    def _warn_of_other_model(self, request: RunRequest, session: Session, now: str, turn: Turn) -> None:
        """Say that another model than before goes on with a session, unless the person just chose it (CLI-18)."""
        before, answers = session.answered_by, any(isinstance(part, TextInput) for part in request.parts)
        if answers and session.model is None and before not in (None, now):
            turn.warn(f"another model continues this session: `{now}`, after `{before}`")

    def _flush_audit(self) -> None:
        """Whoever is told that a turn has ended finds all of it in the log."""
        try:
            self.dispatcher.parts.audit.flush()
        except AuditError as error:
            log.warning("the last audit records wait to be written: %s: %s", error.what, error.why)

    async def _own_call(self, part: CallInput, number: int, session: Session, turn: Turn) -> bool:
        """Returns a call of the person's own, or of another agent's model (EDI-11): declared, dispatched and audited
        like any other. The model is told of it with its next request. Returns whether it was carried out."""
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
        session.conversation.say(UserMessage(own_call_text(part, result.text)))
        return result.ok

    def _result(self, request: RunRequest, turn: Turn, outcome: Outcome) -> RunResult:
        return RunResult(
            session_id=request.session_id,
            turn_id=request.turn_id,
            status=outcome.status,
            final_output=outcome.output,
            reason=outcome.reason,
            usage=turn.usage,
            tool_trace=tuple(turn.trace),
            changes=turn.changes.summary(self.dispatcher.parts.redactor.redact),
            undoable=not isinstance(turn.history, NothingKept),
            error=outcome.error,
        )

    def _complete(self, turn: Turn, result: RunResult, problems: Sequence[str] = ()) -> RunResult:
        self._flush_audit()
        try:
            for message in problems:
                turn.warn(message)
            if result.error is not None:
                turn.emit(ErrorEvent(**turn.stamp(), error=result.error))
            turn.emit(RunCompleted(**turn.stamp(), result=result))
        except Exception:  # the client is gone; the result still answers whoever asks for this turn again
            log.warning("the client of turn %s is gone", turn.turn_id)
        return result

    def _session(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            redact = self.dispatcher.parts.redactor.redact_json
            self._sessions[session_id] = open_session(session_id, self._settings, redact)
        session = self._sessions[session_id]
        self._sessions.move_to_end(session_id)
        return session

    def _name_among_others(self, request: RunRequest) -> str | None:
        """Returns what the person knows a session by, which is what they just said in it; None for the only one."""
        if len(self._sessions) == 1:
            return None
        said = " ".join(part.text for part in request.parts if isinstance(part, TextInput))
        words = textwrap.shorten(self.dispatcher.parts.redactor.redact(said), MOST_OF_A_NAME, placeholder=" …")
        return visible(words or request.session_id, "show")

    def _forget_old(self) -> None:
        """Drop the oldest finished turns and idle sessions beyond what is remembered."""
        finished = [key for key, turn in self._turns.items() if turn.task.done()]
        for key in finished[: max(0, len(self._turns) - REMEMBERED_TURNS)]:
            del self._turns[key]
        idle = [name for name, session in self._sessions.items() if not session.turn_lock.locked()]
        for name in idle[: max(0, len(self._sessions) - REMEMBERED_SESSIONS)]:
            self._sessions.pop(name).close()
            self._keep_until_done(self.dispatcher.parts.processes.end(name))


def _process_status(seen: ProcessSeen) -> ProcessStatus:
    return ProcessStatus(
        process=seen.id,
        command=seen.command,
        running=seen.ending is None,
        ports=seen.ports,
        published=tuple(seen.published.values()),
        means=seen.words,
    )


def _loaded_share(provider: ModelProvider) -> float | None:
    return provider.loaded_share if isinstance(provider, LocalEngine) else None
