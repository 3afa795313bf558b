"""Writes a session's file while its turns run: each message, call, answer and change as it happens (SES-01)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from remit_governance.values import Intent
from remit_governance.workflow.position import Position, keep
from remit_server.agent.context.conversation import Condensed, Conversation, Entry
from remit_server.contract import (
    ApprovalRequired,
    ApprovalResolved,
    AssistantSaid,
    CallEnded,
    CallMade,
    ChangedFile,
    Event,
    FilesChanged,
    IntentDeclared,
    IntentSelected,
    KeptPosition,
    ModelConfig,
    NotChanged,
    Pinned,
    PrefixSent,
    QuestionAnswered,
    RunResult,
    SessionEnd,
    SessionRecord,
    SessionStart,
    SystemSaid,
    TokenCounts,
    TokenUsage,
    ToolCallEvent,
    ToolResultEvent,
    TurnEnded,
    TurnStarted,
    UsageEvent,
    UserSaid,
    Warned,
    WarningEvent,
    WorkflowMoved,
)
from remit_server.errors import RemitError, os_reason
from remit_server.harness.collected import REVIEW
from remit_server.machine.wall_clock import timestamp, utc_now
from remit_server.models.ports import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from remit_server.sessions.replay import Replay, as_json, replay, sent_message
from remit_server.sessions.session_file import Redact, SessionError, SessionFile, read_session, to_lines


@dataclass(slots=True)
class _Turn:
    """The turn that is being written. Times are monotonic seconds. `ended` holds the last written result of each call,
    `sub_intents` the intents of sub-agents."""

    id: str
    model: ModelConfig
    began: float
    step: int = 0
    intent: Intent | None = None
    asked_at: float = 0.0
    usage: TokenUsage = field(default_factory=TokenUsage)
    context: int = 0
    made: set[str] = field(default_factory=set[str])
    ended: dict[str, CallEnded] = field(default_factory=dict[str, CallEnded])
    sub_intents: dict[str, Intent] = field(default_factory=dict[str, Intent])
    questions: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])


@dataclass(slots=True)
class Recorder:
    """Writes one session's file, and holds what is known of its contents.

    `redact` removes secrets from what is written. `problems` are messages for the person: lines that could not be read,
    and records that could not be written.
    """

    file: SessionFile
    session_id: str
    workspace: str
    remit: str
    redact: Redact
    replayed: Replay = field(default_factory=Replay)
    problems: list[str] = field(default_factory=list[str])
    messages: int = 0
    _turn: _Turn | None = None
    _failing: bool = False
    _losing: bool = False

    def begin(self, turn_id: str, model: ModelConfig) -> Conversation | None:
        """Locks the file for a turn. Returns the conversation if it was not read yet, or if others added to the file;
        else None.

        Raises SessionError if another process works in the session.
        """
        found = self.file.acquire()
        conversation = None
        if found.anew or found.lines.records:
            lines = found.lines if found.anew else self.file.read_again()
            self.replayed = replay(lines.records)
            self.problems += [lines.problem] if lines.problem else []
            conversation = self.replayed.conversation()
            self.messages = len(conversation.messages)
            self.replayed.forget_messages()
        now = time.monotonic()
        self._turn = _Turn(turn_id, model, now, asked_at=now)
        if self.replayed.start is None:
            start = SessionStart(
                timestamp=_now(),
                session_id=self.session_id,
                workspace=self.workspace,
                config=model,
                remit=self.remit,
            )
            self._write(start)
        self._write(TurnStarted(timestamp=_now(), turn_id=turn_id, provider=model.provider, model=model.model))
        return conversation

    def look(self) -> bool:
        """Reads the session's file, and returns whether there is one that can be read. The next turn reads it again."""
        with contextlib.suppress(SessionError):
            self.replayed = replay(read_session(self.file.path).records)
            return True
        return False

    def end(self, result: RunResult) -> None:
        """Writes how the turn ended, and releases the file for other processes."""
        turn = self._turn
        if turn is None:
            return
        self._write(
            TurnEnded(
                timestamp=_now(),
                turn_id=turn.id,
                status=result.status,
                final_output=result.final_output,
                reason=result.reason,
                suggestion=result.suggestion,
                error=result.error,
                changes=result.changes,
                taken_back_by=result.taken_back_by,
                usage=result.usage or TokenUsage(),
                duration_ms=_ms(turn.began),
            )
        )
        self._turn = None
        self.file.release()

    def close(self, reason: str) -> None:
        """Writes that this process leaves the session, if it wrote to it and no other process works in it; closes the
        file."""
        if self.messages and self.file.fd >= 0:
            with contextlib.suppress(RemitError):  # if another process holds the file, the session has not ended
                self.file.acquire()
                self._write(SessionEnd(timestamp=_now(), reason=reason, message_count=self.messages))
                self.file.release()
        self.file.close()

    def keep(self, entry: Entry, words: str | None) -> None:
        """Writes an entry of the conversation."""
        turn = self._turn
        if turn is None:
            return
        match entry:
            case Condensed(prefix=prefix, upto=upto):
                sent = tuple(map(sent_message, prefix))
                self._write(PrefixSent(timestamp=_now(), turn_id=turn.id, upto=upto, prefix=sent))
                turn.asked_at = time.monotonic()
                return
            case SystemMessage(text=text):
                self._write(SystemSaid(timestamp=_now(), content=text))
            case UserMessage(text=text):
                self._keep_user(turn, text, words)
            case AssistantMessage():
                self._keep_answer(turn, entry)
            case ToolMessage():
                self._keep_result(turn, entry)
        self.messages += 1

    def take(self, event: Event) -> None:
        """Writes those parts of an event that no message of the conversation holds."""
        turn = self._turn
        if turn is None or event.turn_id != turn.id:
            return
        if event.sub_agent is not None:
            if self._take_of_sub_agent(turn, event):
                return
        elif event.step != turn.step:
            turn.step, turn.intent = event.step, None
        match event:
            case UsageEvent(usage=usage, context=context):
                turn.usage, turn.context = turn.usage.plus(usage), context
            case IntentSelected():
                turn.intent = event.intent
                self._write(
                    IntentDeclared(
                        timestamp=event.time,
                        turn_id=turn.id,
                        step=event.step,
                        intent=event.intent,
                        justification=event.justification,
                        work_item=event.work_item,
                    )
                )
            case ToolCallEvent() if event.tool_call_id not in turn.made:
                # The model's own calls are in `made`, so a call named `REVIEW` here is the harness's.
                caller: Literal["person", "remit"] = "remit" if event.tool == REVIEW else "person"
                self._write(self._call(turn, event.tool_call_id, event.tool, event.arguments, caller))
            case ToolResultEvent():
                ended = _call_ended(event, turn.intent)
                turn.ended[ended.id] = ended
                self._write(ended)
            case ApprovalRequired():
                turn.questions[event.approval_id] = (event.title, time.monotonic())
            case ApprovalResolved():
                self._keep_answered(turn, event)
            case WarningEvent(message=message):
                self._write(Warned(timestamp=event.time, turn_id=turn.id, message=message))
            case _:
                pass

    def _take_of_sub_agent(self, turn: _Turn, event: Event) -> bool:
        """Writes an event of a sub-agent. Returns False for an event that is written like one of the turn itself."""
        match event:
            case UsageEvent(usage=usage):
                turn.usage = turn.usage.plus(usage)
            case IntentSelected():
                turn.sub_intents[event.sub_agent or ""] = event.intent
            case ToolCallEvent():
                held, made = as_json(event.arguments), event.tool_call_id
                self._write(
                    CallMade(
                        timestamp=_now(),
                        turn_id=turn.id,
                        id=made,
                        name=event.tool,
                        arguments=held,
                        caller="sub_agent",
                        parent=event.sub_agent,
                    )
                )
            case ToolResultEvent():
                self._write(_call_ended(event, turn.sub_intents.get(event.sub_agent or "")))
            case _:
                return False
        return True

    def keep_pins(self, texts: Sequence[str]) -> None:
        """Writes texts that were pinned."""
        if self._turn is not None and texts:
            self._write(Pinned(timestamp=_now(), turn_id=self._turn.id, texts=tuple(texts)))

    def keep_changes(self, change: str, call: str, files: Sequence[ChangedFile], reverts: Sequence[str]) -> None:
        """Writes what a call is about to change."""
        if self._turn is not None:
            self._write(
                FilesChanged(
                    timestamp=_now(),
                    turn_id=self._turn.id,
                    id=change,
                    call_id=call,
                    files=tuple(files),
                    reverts=tuple(reverts),
                )
            )

    def keep_unchanged(self, change: str, paths: Sequence[str]) -> None:
        """Writes which files of a change set were not changed after all."""
        if self._turn is not None and paths:
            self._write(NotChanged(timestamp=_now(), turn_id=self._turn.id, id=change, paths=tuple(paths)))

    def keep_position(self, position: Position) -> None:
        """Writes the position in the workflow that the session is about to take."""
        if self._turn is not None:
            kept = KeptPosition.model_validate(keep(position))
            moved = WorkflowMoved(timestamp=_now(), turn_id=self._turn.id, position=kept, changed=position.changed)
            self._write(moved)

    def _keep_user(self, turn: _Turn, text: str, words: str | None) -> None:
        content = text if words is None else words
        sent = None if content == text else text
        origin: Literal["person", "remit"] = "remit" if words is None else "person"
        self._write(UserSaid(timestamp=_now(), turn_id=turn.id, content=content, sent=sent, origin=origin))
        turn.asked_at = time.monotonic()

    def _keep_answer(self, turn: _Turn, said: AssistantMessage) -> None:
        used = turn.usage
        answer = AssistantSaid(
            timestamp=_now(),
            turn_id=turn.id,
            step=turn.step,
            content=said.text,
            provider=turn.model.provider,
            model=turn.model.model,
            tokens=TokenCounts(
                input=used.prompt_tokens,
                context=turn.context,
                output=used.completion_tokens,
                cached=used.cached_tokens,
                price_usd=used.price_usd,
            ),
            duration_ms=_ms(turn.asked_at),
        )
        turn.usage = TokenUsage()
        self._write(answer, *(self._call(turn, each.id, each.name, each.arguments) for each in said.calls))

    def _keep_result(self, turn: _Turn, said: ToolMessage) -> None:
        turn.asked_at = time.monotonic()
        known = turn.ended.get(said.call_id)
        if known is not None and known.output == said.text:
            return
        text = said.text
        if known is not None:
            ended = known.model_copy(update={"timestamp": _now(), "output": text})
        else:
            good = not text.startswith("error ")
            ended = CallEnded(
                timestamp=_now(), turn_id=turn.id, id=said.call_id, name=said.tool, success=good, output=text
            )
        self._write(ended)

    def _call(
        self,
        turn: _Turn,
        call_id: str,
        name: str,
        arguments: Mapping[str, Any],
        caller: Literal["model", "person", "remit"] = "model",
    ) -> CallMade:
        turn.made.add(call_id)
        held = as_json(arguments)
        return CallMade(timestamp=_now(), turn_id=turn.id, id=call_id, name=name, arguments=held, caller=caller)

    def _keep_answered(self, turn: _Turn, event: ApprovalResolved) -> None:
        title, asked = turn.questions.pop(event.approval_id, ("", None))
        answered = QuestionAnswered(
            timestamp=event.time,
            turn_id=turn.id,
            approval_id=event.approval_id,
            title=title,
            decision=event.decision,
            by=event.by,
            scope=event.scope,
            waited_ms=0 if asked is None else _ms(asked),
        )
        self._write(answered)

    def _write(self, *records: SessionRecord) -> None:
        """Appends records. If that fails, they wait in memory for the next time, and the person is told once."""
        self.replayed.add(each for each in records if isinstance(each, SessionStart | FilesChanged | NotChanged))
        try:
            self.file.append(to_lines(records, self.redact))
        except OSError as error:
            why = os_reason(error)
            if not self._failing:
                self.problems.append(f"the session cannot be saved: {why}. It is kept in memory until it can be")
            if self.file.full and not self._losing:
                self.problems.append(f"the session has lost what was said since: {why}, and its memory is full")
            self._failing, self._losing = True, self.file.full
        else:
            self._failing = self._losing = False


def _call_ended(event: ToolResultEvent, intent: Intent | None) -> CallEnded:
    return CallEnded(
        timestamp=event.time,
        turn_id=event.turn_id,
        id=event.tool_call_id,
        name=event.tool,
        success=event.ok,
        output=event.output,
        summary=event.summary,
        intent=intent,
        decision=event.decision,
        answer=event.answer,
        rules=event.rules,
        error=event.error.code.value if event.error else None,
        changed_files=event.changed_files,
        exit_code=event.exit_code,
        duration_ms=event.duration_ms,
    )


def _now() -> str:
    return timestamp(utc_now())


def _ms(since: float) -> float:
    return round(max(0.0, time.monotonic() - since) * 1000, 3)
