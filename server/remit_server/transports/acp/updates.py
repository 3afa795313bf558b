"""Converts a turn's events to the protocol's updates; the closed union of events is matched here, once (TRN-13).

Text for a person has its hidden characters spelled out. An event that the protocol has no update for yields none here;
a client that asked for every event by number gets an empty update for it (`turns.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, assert_never

from acp import schema
from pydantic import JsonValue

from remit_governance.values import Effect
from remit_governance.visible import visible, visible_again
from remit_governance.workflow.states import Mode, State
from remit_server.contract import (
    AgentEvent,
    ApprovalRequired,
    ApprovalResolved,
    CommandWaits,
    ContextCondensed,
    ErrorEvent,
    IntentSelected,
    ProcessChanged,
    PromptProgress,
    ReviewRequired,
    ReviewResolved,
    RunCompleted,
    RunStarted,
    StateChanged,
    ThinkingDelta,
    TokenDelta,
    TokenUsage,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    UsageEvent,
    WarningEvent,
)
from remit_server.harness.approval.proposed_texts import ProposedText
from remit_server.tools.table import TOOLS

MOST_TITLE = 100
MOST_PRINTED = 8_000
"""The most characters of a running command's output in one update, because each update replaces the one before."""
_NAMESPACE = uuid.UUID("5f0c1f0e-6f5c-4a57-9d55-2f4c3f1f7d10")
KINDS: Mapping[Effect, schema.ToolKind] = {
    Effect.READ: "search",
    Effect.WRITE: "edit",
    Effect.EXECUTE: "execute",
    Effect.NETWORK: "fetch",
    Effect.CONTROL: "think",
}
STEPS: Mapping[State, str] = {
    State.PLANNING: "Plan",
    State.TEST_WRITING: "Write a test that fails",
    State.CODE_WRITING: "Write the code",
    State.VALIDATING: "Run all tests",
    State.REVIEWING: "Have it reviewed",
    State.COMMITTING: "Commit",
}
"""The states of strict mode in order, each with its words in the plan."""

Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.CurrentModeUpdate
    | schema.ConfigOptionUpdate
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)
"""One of the protocol's session updates."""


@dataclass(slots=True)
class TurnUpdates:
    """Converts the events of one turn to updates. `spent_usd` is the session's cost so far, or None if unknown."""

    root: Path
    spent_usd: float | None = 0.0
    spoke: bool = False
    _printed: dict[str, str] = field(default_factory=dict[str, str])
    _diffs: dict[str, list[schema.FileEditToolCallContent]] = field(
        default_factory=dict[str, list[schema.FileEditToolCallContent]]
    )
    _asked: dict[str, str] = field(default_factory=dict[str, str])

    def note_question(self, question: ApprovalRequired, texts: Sequence[ProposedText]) -> None:
        """Notes the call and the diffs of a question, so that the call is shown with its diffs when it ends."""
        self._asked[question.approval_id] = question.tool_call_id
        self._diffs[question.tool_call_id] = [diff_of(self.root, each) for each in texts]

    def take(self, event: AgentEvent) -> list[Update]:
        """Returns the updates of one event, or none if the protocol has no update for it."""
        match event:
            case (
                TokenDelta()
                | ThinkingDelta()
                | IntentSelected()
                | WarningEvent()
                | ContextCondensed()
                | ProcessChanged()
            ):
                return [self._text(event)]
            case ToolCallEvent() | ToolOutput() | ToolResultEvent() | ApprovalResolved():
                return self._call(event)
            case UsageEvent(usage=usage):
                return self._usage(usage, event.context, event.window if event.sub_agent is None else None)
            case StateChanged(mode=mode, state=state):
                now = schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)
                return [now, *plan_of(mode, state)]
            case (
                # A request of its own asks it, the answer to the prompt tells it, or the protocol has no update for it.
                ApprovalRequired()
                | ErrorEvent()
                | RunCompleted()
                | RunStarted()
                | PromptProgress()
                | CommandWaits()
                | ReviewRequired()
                | ReviewResolved()
            ):
                return []
            case _:
                assert_never(event)

    def _text(
        self, event: TokenDelta | ThinkingDelta | IntentSelected | WarningEvent | ContextCondensed | ProcessChanged
    ) -> schema.AgentMessageChunk | schema.AgentThoughtChunk:
        own = message_id(event.session_id, event.turn_id, -event.seq)
        match event:
            case TokenDelta(text=text):
                self.spoke = True
                return said(text, message_id(event.session_id, event.turn_id, event.step))
            case ThinkingDelta(text=text):
                return thought(text, message_id(event.session_id, event.turn_id, event.step))
            case IntentSelected():
                mark = "" if event.sub_agent is None else "↳ "
                return thought(mark + intent_text(event.intent, event.justification), own)
            case WarningEvent(message=text):
                return said(f"⚠ {text}\n\n", own)
            case ProcessChanged(means=text):
                return thought(f"{visible(text)}\n", own)
            case ContextCondensed():
                words = f"the conversation was condensed, from {event.before_tokens} to {event.after_tokens} tokens"
                return thought(f"{words}; all of it is kept\n", own)

    def _call(self, event: ToolCallEvent | ToolOutput | ToolResultEvent | ApprovalResolved) -> list[Update]:
        match event:
            case ToolCallEvent():
                return [call_begun(self.root, event.tool_call_id, event.tool, event.arguments, event.sub_agent)]
            case ToolOutput(tool_call_id=call, text=text):
                printed = f"{self._printed.get(call, '')}{visible(text)}\n"[-MOST_PRINTED:]
                self._printed[call] = printed
                return [call_update(call, "in_progress", [in_text(printed)])]
            case ApprovalResolved(approval_id=approval_id, decision=decision):
                asked = self._asked.get(approval_id)
                return [call_update(asked, "in_progress")] if asked is not None and decision == "allow" else []
            case ToolResultEvent(tool_call_id=call):
                self._printed.pop(call, None)
                return [self._ended(event)]

    def _ended(self, event: ToolResultEvent) -> Update:
        shown: list[Any] = [*self._diffs.pop(event.tool_call_id, [])] if event.ok else []
        if event.error is not None:
            shown.append(in_text(visible_again(f"{event.error.what}: {event.error.why}\n{event.error.fix}".rstrip())))
        elif event.output and not shown:
            shown.append(in_text(visible(event.output)))
        told: dict[str, JsonValue] = {
            "summary": visible_again(event.summary),
            "decision": event.decision,
            "rules": [*event.rules],
        }
        if event.exit_code is not None:
            told["exit_code"] = event.exit_code
        if event.error is not None:
            told["code"] = event.error.code
        update = call_update(event.tool_call_id, "completed" if event.went_well else "failed", shown)
        return update.model_copy(update={"raw_output": told})

    def _usage(self, usage: TokenUsage, context: int, window: int | None) -> list[Update]:
        known = self.spent_usd is not None and usage.price_usd is not None
        self.spent_usd = (self.spent_usd or 0.0) + (usage.price_usd or 0.0) if known else None
        if window is None:
            return []
        cost = schema.Cost(amount=self.spent_usd, currency="USD") if self.spent_usd else None
        return [schema.UsageUpdate(session_update="usage_update", used=context, size=window, cost=cost)]


def intent_text(intent: str, justification: str | None) -> str:
    """Returns a declared intent and its justification as text."""
    words = f" {visible(justification)}" if justification else ""
    return f"[{intent}]{words}\n"


@lru_cache(maxsize=64)
def message_id(session: str, turn: str, number: int) -> str:
    """Returns the id of one message. The same arguments give the same id, also when the session is loaded later."""
    return str(uuid.uuid5(_NAMESPACE, f"{session}/{turn}/{number}"))


def text_block(text: str) -> schema.TextContentBlock:
    """Returns text as a block, with hidden characters spelled out."""
    return schema.TextContentBlock(type="text", text=visible_again(text))


def in_text(text: str) -> schema.ContentToolCallContent:
    """Returns text as a part of a call's content. Its hidden characters must be spelled out already."""
    return schema.ContentToolCallContent(type="content", content=schema.TextContentBlock(type="text", text=text))


def said(text: str, message: str) -> schema.AgentMessageChunk:
    """Returns a piece of an agent's message."""
    return schema.AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text), message_id=message)


def thought(text: str, message: str) -> schema.AgentThoughtChunk:
    """Returns a piece of the agent's thoughts."""
    return schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text), message_id=message)


def shown_json(value: JsonValue) -> JsonValue:
    """Returns a value with hidden characters spelled out, because clients show raw input to people too."""
    match value:
        case str():
            return visible(value)
        case list():
            return [shown_json(each) for each in value]
        case dict():
            return {visible(key): shown_json(each) for key, each in value.items()}
        case _:
            return value


def asked_by_person(text: str, message: str) -> schema.UserMessageChunk:
    """Returns a message of the person."""
    return schema.UserMessageChunk(session_update="user_message_chunk", content=text_block(text), message_id=message)


def call_begun(
    root: Path, call: str, tool: str, arguments: Mapping[str, JsonValue], sub_agent: str | None = None
) -> schema.ToolCallStart:
    """Returns the start of a call that has not run yet; `sub_agent` names the sub-agent that makes it, if any."""
    path = _file_of(tool, arguments)
    return schema.ToolCallStart(
        session_update="tool_call",
        tool_call_id=call,
        title=f"{'' if sub_agent is None else '↳ '}{title_of(tool, arguments)}",
        kind=kind_of(tool, has_file=path is not None),
        status="pending",
        raw_input=shown_json(dict(arguments)),
        locations=[schema.ToolCallLocation(path=str(root / path))] if path is not None else None,
    )


def call_update(
    call: str, status: schema.ToolCallStatus, content: Sequence[Any] | None = None
) -> schema.ToolCallProgress:
    """Returns an update of a call's status. `content` replaces what was shown of the call before."""
    return schema.ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call,
        status=status,
        content=None if content is None else [*content],
    )


def kind_of(tool: str, *, has_file: bool) -> schema.ToolKind:
    """Returns the protocol's kind of a tool."""
    effect = TOOLS[tool].effect if tool in TOOLS else None
    if effect is Effect.READ and has_file:
        return "read"
    return "other" if effect is None else KINDS[effect]


def title_of(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """Returns a call as one short line."""
    words = [str(value) for value in arguments.values() if isinstance(value, str)][:1]
    text = visible(" ".join([tool, *words]), "show")
    return text if len(text) <= MOST_TITLE else f"{text[: MOST_TITLE - 1]}…"


def diff_of(root: Path, text: ProposedText) -> schema.FileEditToolCallContent:
    """Returns a file's text before and after as a diff. Its hidden characters must be spelled out already."""
    return schema.FileEditToolCallContent(
        type="diff", path=str(root / text.path), old_text=text.before or None, new_text=text.after
    )


def plan_of(mode: str, state: str) -> list[Update]:
    """Returns the states of strict mode as a plan, or nothing in another mode."""
    if mode != Mode.STRICT or state not in STEPS:
        return []
    at = list(STEPS).index(State(state))
    entries = [
        schema.PlanEntry(
            content=words,
            priority="medium",
            status="completed" if number < at else "in_progress" if number == at else "pending",
        )
        for number, words in enumerate(STEPS.values())
    ]
    return [schema.AgentPlanUpdate(session_update="plan", entries=entries)]


def _file_of(tool: str, arguments: Mapping[str, JsonValue]) -> str | None:
    named = TOOLS[tool].file_argument if tool in TOOLS else None
    path = None if named is None else arguments.get(named)
    return path if isinstance(path, str) and path and "\0" not in path else None
