"""Rebuilds from a session's records the conversation as the model is sent it, and the turns; pure, runs nothing
(SES-02).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from pydantic import JsonValue

from remit_governance.workflow.states import Mode
from remit_server.agent.context.conversation import Condensed, Conversation
from remit_server.contract import (
    AssistantSaid,
    CallEnded,
    CallMade,
    FilesChanged,
    IntentDeclared,
    Named,
    NotChanged,
    Pinned,
    PrefixSent,
    QuestionAnswered,
    SentCall,
    SentMessage,
    SessionEnd,
    SessionRecord,
    SessionStart,
    SystemSaid,
    TurnEnded,
    TurnStarted,
    UserSaid,
    Warned,
    WorkflowMoved,
)
from remit_server.models.ports import (
    AssistantMessage,
    Message,
    ProposedCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from remit_server.tools.background.start_process import START_PROCESS
from remit_server.tools.workflow.set_mode import SET_MODE

MOST_POSITIONS = 8
NOT_KEPT = "error cancelled: the session ended before this call's result was known"


@dataclass(slots=True)
class _Said:
    """An answer of the model, with its calls and their results by the calls' ids."""

    text: str
    calls: list[ProposedCall] = field(default_factory=list[ProposedCall])
    results: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Replay:
    """The state of a session after its records so far. `add` takes the next records.

    `model` is the model that answered last. `mode` is the workflow mode that the person last chose, or None (FLW-07).
    `positions` are the last positions in the workflow; several are kept, because one that was written before a crash
    may not have been audited (FLW-12). `processes` are the commands that were started in the background (BG-06).
    """

    start: SessionStart | None = None
    name: str | None = None
    model: str | None = None
    mode: str | None = None
    pins: tuple[str, ...] = ()
    condensed: PrefixSent | None = None
    changes: list[FilesChanged] = field(default_factory=list[FilesChanged])
    positions: deque[WorkflowMoved] = field(default_factory=lambda: deque[WorkflowMoved](maxlen=MOST_POSITIONS))
    processes: tuple[str, ...] = ()
    unchanged: dict[tuple[str, str], set[str]] = field(default_factory=dict[tuple[str, str], set[str]])
    _messages: list[SystemSaid | UserSaid | _Said] = field(default_factory=list[SystemSaid | UserSaid | _Said])
    _modes: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    _starts: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, records: Iterable[SessionRecord]) -> None:
        """Takes further records of the same session."""
        for record in records:
            self._add(record)

    def conversation(self) -> Conversation:
        """Returns the conversation as it was when the last record was written."""
        messages: list[Message] = []
        for said in self._messages:
            messages += _messages_of(said)
        condensed = None
        if self.condensed is not None and self.condensed.upto <= len(messages):
            condensed = Condensed(tuple(map(_message, self.condensed.prefix)), self.condensed.upto)
        return Conversation(messages, condensed, self.pins)

    def forget_messages(self) -> None:
        """Drops the messages, because the conversation has them now."""
        self._messages = []

    def _add(self, record: SessionRecord) -> None:
        match record:
            case SessionStart():
                self.start = self.start or record
            case Named(name=name):
                self.name = name
            case Pinned(texts=texts):
                self.pins += texts
            case FilesChanged():
                self.changes.append(record)
            case NotChanged():
                self.unchanged.setdefault((record.turn_id, record.id), set()).update(record.paths)
            case WorkflowMoved():
                self.positions.append(record)
            case SystemSaid() | UserSaid() | AssistantSaid() | CallMade() | CallEnded() | PrefixSent():
                self._add_said(record)
            case TurnStarted() | IntentDeclared() | QuestionAnswered() | Warned() | TurnEnded() | SessionEnd():
                pass
            case _:
                assert_never(record)

    def _add_said(self, record: SystemSaid | UserSaid | AssistantSaid | CallMade | CallEnded | PrefixSent) -> None:
        match record:
            case SystemSaid() | UserSaid():
                self._messages.append(record)
            case AssistantSaid():
                self.model = record.model
                self._messages.append(_Said(record.content))
            case CallMade():
                self._add_call(record)
                self._note_mode(record)
                self._note_start(record)
            case CallEnded():
                self._add_result(record)
                self._take_mode(record)
                self._take_start(record)
            case PrefixSent():
                self.condensed = record
            case _:
                assert_never(record)

    def _add_call(self, record: CallMade) -> None:
        if record.caller == "model" and (said := self._answered()):
            said.calls.append(ProposedCall(record.id, record.name, record.arguments))

    def _add_result(self, record: CallEnded) -> None:
        if said := self._answered():
            said.results[record.id] = record.output

    def _note_mode(self, record: CallMade) -> None:
        if record.caller == "person" and record.name == SET_MODE.name:
            self._modes[record.id] = record.arguments.get("mode")

    def _take_mode(self, record: CallEnded) -> None:
        wanted = self._modes.pop(record.id, None)
        if record.success and isinstance(wanted, str) and wanted in set(Mode):
            self.mode = wanted

    def _note_start(self, record: CallMade) -> None:
        if record.name == START_PROCESS.name:
            self._starts[record.id] = str(record.arguments.get("command", ""))

    def _take_start(self, record: CallEnded) -> None:
        command = self._starts.pop(record.id, None)
        if record.success and command is not None:
            self.processes += (command,)

    def _answered(self) -> _Said | None:
        last = self._messages[-1] if self._messages else None
        return last if isinstance(last, _Said) else None


def replay(records: Iterable[SessionRecord]) -> Replay:
    """Returns the replay of these records."""
    found = Replay()
    found.add(records)
    return found


def _messages_of(said: SystemSaid | UserSaid | _Said) -> list[Message]:
    match said:
        case SystemSaid(content=text):
            return [SystemMessage(text)]
        case UserSaid():
            return [UserMessage(said.content if said.sent is None else said.sent)]
        case _Said():
            # Give every call a result, because a model must never see an open call.
            answers = [ToolMessage(call.id, call.name, said.results.get(call.id, NOT_KEPT)) for call in said.calls]
            return [AssistantMessage(said.text, tuple(said.calls)), *answers]
        case _:
            assert_never(said)


def sent_message(message: Message) -> SentMessage:
    """Returns a message as a record holds it."""
    match message:
        case SystemMessage(text=text):
            return SentMessage(role="system", content=text)
        case UserMessage(text=text):
            return SentMessage(role="user", content=text)
        case AssistantMessage(text=text, calls=calls):
            sent = (SentCall(id=each.id, name=each.name, arguments=as_json(each.arguments)) for each in calls)
            return SentMessage(role="assistant", content=text, calls=tuple(sent))
        case ToolMessage(call_id=call_id, tool=tool, text=text):
            return SentMessage(role="tool", content=text, call_id=call_id, tool=tool)
        case _:
            assert_never(message)


def as_json(arguments: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Returns a call's arguments as valid JSON; NaN and infinities, which JSON lacks, become texts with their names."""
    held: dict[str, JsonValue] = json.loads(json.dumps(dict(arguments)), parse_constant=str)
    return held


def _message(sent: SentMessage) -> Message:
    match sent.role:
        case "system":
            return SystemMessage(sent.content)
        case "user":
            return UserMessage(sent.content)
        case "assistant":
            calls = (ProposedCall(each.id, each.name, each.arguments) for each in sent.calls)
            return AssistantMessage(sent.content, tuple(calls))
        case "tool":
            return ToolMessage(sent.call_id, sent.tool, sent.content)
        case _:
            assert_never(sent.role)
