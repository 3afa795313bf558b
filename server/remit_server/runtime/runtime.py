"""The runtime, which every transport calls: it runs and cancels turns, whose ids are idempotent, takes answers, tells
its status, and takes up changed settings (AGT-06).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remit_governance.intents import Matrix
from remit_governance.workflow.debt import tell_budget
from remit_governance.workflow.position import describe
from remit_server import __version__
from remit_server.agent.loop import Agent
from remit_server.contract import (
    PROTOCOL,
    ApprovalAnswer,
    ApprovalReceipt,
    EditsAsked,
    GenerationRequest,
    GenerationResult,
    LeftOut,
    ModelStats,
    ProcessStatus,
    RunRequest,
    RunResult,
    StatusResult,
)
from remit_server.errors import RemitError
from remit_server.harness.approval.desk import ApprovalDesk
from remit_server.harness.approval.proposed_texts import ProposedText, proposed_text
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.ports import Asker, Emit
from remit_server.harness.workflow.budget import read_account
from remit_server.models.answers import OnText
from remit_server.models.ports import LocalEngine, ModelProvider
from remit_server.runtime.chosen_models import ChosenModels
from remit_server.runtime.completing import Completer, generate
from remit_server.runtime.live_settings import LiveSettings
from remit_server.runtime.notice import Notice
from remit_server.runtime.own_files.external_tools import ExternalTools
from remit_server.runtime.policy.live_policy import LivePolicy
from remit_server.runtime.policy.policies import name_layers
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.open_sessions import OpenSessions
from remit_server.runtime.turns.outcome import refuse_other_workspace, reused_id_error
from remit_server.runtime.turns.taken_up import TakenUp
from remit_server.runtime.turns.turn_runner import TurnRunner
from remit_server.sessions.folder import SessionFolder
from remit_server.telemetry.live import Telemetry
from remit_server.tools.background.seen import ProcessSeen

REMEMBERED_TURNS = 1_000


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A turn and the request it came from, kept so that the same ids give the same result."""

    request: RunRequest
    task: asyncio.Task[RunResult]


class Runtime:
    """The transport-free core, which every transport calls: takes requests, streams events, gives results.

    Every call of a turn goes through `dispatcher`. `tools` are all tools, the person's own included.
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
        self._configured, self._models = configured, models
        self.dispatcher, self._desk, self.tools = dispatcher, desk, tools
        self._live, self._close_resources = live, close
        self._audit_warnings = audit_warnings
        self._completer = Completer(lambda: self._settings, lambda: self._running_turns > 0, models, dispatcher)
        self._sessions = OpenSessions(configured, dispatcher.parts)
        self._runner = TurnRunner(configured, self._sessions, agent, dispatcher, models, telemetry, warnings)
        self._turns: OrderedDict[tuple[str, str], RunningTurn] = OrderedDict()
        self._retiring: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def _settings(self) -> Settings:
        return self._configured.now

    @property
    def _running_turns(self) -> int:
        return sum(not turn.task.done() for turn in self._turns.values())

    async def run(self, request: RunRequest, emit: Emit, asker: Asker, taken_up: TakenUp | None = None) -> RunResult:
        """Run one turn. The same ids again give the same result, without running again.

        Cancelling the awaiting task cancels the turn, which still emits its `run_completed`. With `taken_up` another
        process had begun the turn: if that one only read, the turn begins again and says so, otherwise it ends. Raises
        RemitError if the ids were used for another request.
        """
        key = (request.session_id, request.turn_id)
        known = self._turns.get(key)
        if known is not None and taken_up is not None:  # another process took the turn over, and is gone too
            await asyncio.wait([known.task])
            known, taken_up = None, replace(taken_up, here=False)
        if known is not None and known.request != request:
            raise reused_id_error(request)
        refuse_other_workspace(request, self._settings.workspace)
        if self._closed:
            raise RemitError("no turn was started", "the server is shutting down", "start it again")
        if known is None:
            known = RunningTurn(request, asyncio.create_task(self._runner.run(request, emit, asker, taken_up)))
            self._turns[key] = known
            self._forget_old()
        try:
            return await asyncio.shield(known.task)
        except asyncio.CancelledError:
            known.task.cancel()
            # Wait on even if this wait is cancelled again, so that the caller goes on only after `run_completed`.
            while not known.task.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([known.task])
            raise

    async def generate(self, request: GenerationRequest, on_text: OnText | None) -> GenerationResult:
        """Let the model answer by itself, without tools. Cancelling the awaiting task stops it.

        Raises ModelUnavailable and ModelFailed.
        """
        return await generate(self._runner.agent.provider, request, on_text)

    async def complete(self, path: str, text: str, offset: int) -> str | None:
        """Returns what could stand at an offset of an open document, or None if nothing is offered.

        Cancelling the awaiting task stops the model.
        """
        return await self._completer.complete(path, text, offset)

    @property
    def sessions(self) -> SessionFolder:
        """The sessions of this workspace, which other processes may write, too."""
        return SessionFolder(self._settings.session_folder)

    @property
    def matrix(self) -> Matrix:
        """The tools that each intent opens, as the policy in force has it (INT-08)."""
        return self._live.rulebook.policy.matrix

    def cancel(self, session_id: str | None = None, turn_id: str | None = None) -> int:
        """Cancel the running turns that match (None matches all); returns how many there were."""
        matching = [
            turn.task
            for (session, name), turn in self._turns.items()
            if session_id in (None, session) and turn_id in (None, name) and not turn.task.done()
        ]
        for task in matching:
            # By then the task has made its first step; if it were cancelled before that, it would never say how it
            # ended.
            asyncio.get_running_loop().call_soon(task.cancel)
        return len(matching)

    def answer(self, answer: ApprovalAnswer) -> ApprovalReceipt:
        """Answer a pending approval (`stream` style)."""
        return self._desk.answer(answer)

    def asked(self, approval_id: str) -> bool:
        """Returns whether this approval is pending here."""
        return self._desk.asks(approval_id)

    def send_to_background(self, session_id: str) -> str:
        """Makes the command that a turn of this session waits for go on in the background; returns its id there.

        Raises ToolError if no command runs, or if it has to stay in the foreground.
        """
        known = self._sessions.known(session_id)
        name = session_id if known is None else known.memory.session_id
        return self.dispatcher.parts.processes.of(name).send_to_background().id

    def withdraw(self, approval_id: str, why: str) -> bool:
        """Take a pending approval back, which counts as a no, and tell the model why; False if it is not pending."""
        return self._desk.withdraw(approval_id, why)

    def proposed(self, approval_id: str, path: str, left_out: Sequence[LeftOut]) -> ProposedText | None:
        """Returns the texts of a file that a pending approval is about, without what is left out; None if it is about
        no such file."""
        return proposed_text(self._desk.changes(approval_id), path, left_out)

    def status(self, session_id: str | None = None, model: str | None = None) -> StatusResult:
        """Returns what a status bar shows: mode and state of the named session, else of the last used one, and the
        model of the session's next message, which is `model` if the person just chose it.
        """
        known = None if session_id is None else self._sessions.known(session_id)
        chosen = model or (known.model if known else None)
        asked: ModelProvider | None = self._runner.agent.provider if chosen is None else self._models.opened.get(chosen)
        provider, position = self._runner.agent.provider, self._sessions.position_of(session_id)
        policy = self.dispatcher.parts.rulebook.policy
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
            edits=self._sessions.edits_of(self._sessions.known(session_id)),
            policy=policy.version,
            policy_layers=name_layers(policy, self._settings),
            policy_problem=self._live.problem,
            audit_problem=next(reversed(self._audit_warnings()), None),
            sandbox=self.dispatcher.parts.sandbox.name,
            processes=tuple(map(_process_status, self._processes_of(session_id))),
        )

    def _processes_of(self, session_id: str | None) -> tuple[ProcessSeen, ...]:
        session = self._sessions.known(session_id)
        return () if session is None else self.dispatcher.parts.processes.of(session.memory.session_id).all()

    async def recall(self, session_id: str) -> None:
        """Make `status` show the position of a kept session, before its first turn here (FLW-12)."""
        await self._sessions.recall(session_id)
        self._forget_old()

    def budget(self) -> tuple[str, ...]:
        """Returns how the coverage budget stands, in sentences. Raises RemitError if its file cannot be read."""
        return tell_budget(read_account(self._settings.coverage_file), self._settings.workflow.thresholds)

    def edits(self, session_id: str, asked: EditsAsked | None = None) -> EditsAsked:
        """Returns when the session asks about edits, after setting it to `asked`: `each` and `turn` from its next turn
        on (APP-10), `allow` at once (APP-15).

        Raises ToolError (`audit_broken`) if that cannot be recorded, and changes nothing then.
        """
        if asked is not None:
            self._sessions.set_edits(session_id, asked)
            self._forget_old()
        return self._sessions.edits_of(self._sessions.known(session_id))

    async def model_stats(self) -> ModelStats | None:
        """Returns the figures of the local model's process, or None if there is none."""
        provider = self._runner.agent.provider
        return await provider.stats() if isinstance(provider, LocalEngine) else None

    async def reload(self) -> tuple[Notice, ...]:
        """Put policy, configuration and own tools in force as their files are now. What cannot be used stays as it was.

        Returns what there is to tell that was not told before.
        """
        if self._closed:
            return ()
        found = await self._live.reload(), await self._configured.reload(), await self._reload_tools()
        return tuple(notice for notice in found if notice is not None)

    async def _reload_tools(self) -> Notice | None:
        changed = await self.tools.reload()
        return Notice(not self.tools.problems, self.tools.told()) if changed else None

    def put_settings(self, settings: Settings) -> None:
        """Make the next turns use the limits and the model of these settings."""
        self._runner.agent = replace(
            self._runner.agent,
            provider=self._models.get(),
            max_steps=settings.config.limits.max_steps,
            generation=settings.generation,
        )

    def retire(self, models: Sequence[ModelProvider]) -> None:
        """Close models that no later turn uses, after the turns that run now have ended."""
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
        """Verify the audit chain and its checkpoints; the sentence names the first bad record, or says how many were
        verified."""
        from remit_server.runtime.audit.audit_service import verify_workspace

        self._runner.flush_audit()
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
        self._sessions.close()
        self._close_resources()

    def _forget_old(self) -> None:
        """Drop the oldest finished turns and idle sessions above the numbers that are kept."""
        finished = [key for key, turn in self._turns.items() if turn.task.done()]
        for key in finished[: max(0, len(self._turns) - REMEMBERED_TURNS)]:
            del self._turns[key]
        for name in self._sessions.forget_idle():
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
