"""Makes spans of a turn's events, by OpenTelemetry's names for generative AI (OBS-02); pure.

Spans hold only names and numbers: no prompt, path, command, argument or output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from remit_server.contract import (
    AgentEvent,
    ApprovalRequired,
    ApprovalResolved,
    ReasonPayload,
    RunCompleted,
    RunStarted,
    TokenUsage,
    ToolCallEvent,
    ToolResultEvent,
    UsageEvent,
)

Value: TypeAlias = str | int | float | tuple[str, ...]
Attributes: TypeAlias = Mapping[str, Value]

TURN, MODEL, TOOL, APPROVAL = "invoke_agent", "chat", "execute_tool", "approval"
_NO_ATTRIBUTES: Final[Attributes] = {}
_VERDICTS = ("deny", "require_review", "allow")


@dataclass(frozen=True, slots=True)
class Span:
    """An operation that took time. `error` is its error code if it failed. The span of the turn itself comes last."""

    operation: str
    name: str
    start: datetime
    end: datetime
    attributes: Attributes
    error: str | None = None


@dataclass(slots=True)
class TurnSpans:
    """Makes the spans of one turn, each when its operation has ended."""

    session_id: str
    turn_id: str
    began: datetime | None = None
    _model: str = ""
    _since: datetime | None = None
    """The time since which the turn has waited for the model."""
    _calls: dict[str, ToolCallEvent] = field(default_factory=dict[str, ToolCallEvent])
    _questions: dict[str, ApprovalRequired] = field(default_factory=dict[str, ApprovalRequired])

    def take(self, event: AgentEvent) -> Span | None:
        """Returns the span that an event ends, if it ends one."""
        at = datetime.fromisoformat(event.time)
        self.began = self.began or at
        match event:
            case RunStarted(model=model):
                self._model, self._since = model, at
            case UsageEvent(usage=usage):
                return self._answered(usage, at)
            case ToolCallEvent(tool_call_id=name):
                self._calls[name] = event
            case ToolResultEvent():
                self._since = at
                return self._called(event, at)
            case ApprovalRequired(approval_id=name):
                self._questions[name] = event
            case ApprovalResolved(approval_id=name) if name in self._questions:
                return self._asked(self._questions.pop(name), event, at)
            case RunCompleted():
                return self._ended(event, at)
            case _:
                pass
        return None

    def _answered(self, usage: TokenUsage, at: datetime) -> Span:
        start, self._since = self._since or at, at
        attributes = {"gen_ai.request.model": self._model, **_tokens(usage)}
        return self._span(MODEL, self._model, (start, at), attributes)

    def _called(self, event: ToolResultEvent, at: datetime) -> Span:
        call = self._calls.pop(event.tool_call_id, None)
        verdict = _verdict(event.reasons)
        attributes: dict[str, Value] = {
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.tool_call_id,
            "remit.rules": event.rules,
            **({"remit.intent": call.intent.value} if call and call.intent else {}),
            **({"remit.verdict": verdict} if verdict else {}),
            **({"remit.sub_agent": event.sub_agent} if event.sub_agent else {}),
        }
        start = at if call is None else datetime.fromisoformat(call.time)
        error = None if event.ok else event.error.code.value if event.error else "failed"
        return self._span(TOOL, event.tool, (start, at), attributes, error)

    def _asked(self, question: ApprovalRequired, answer: ApprovalResolved, at: datetime) -> Span:
        attributes: dict[str, Value] = {
            "gen_ai.tool.name": question.tool,
            "gen_ai.tool.call.id": question.tool_call_id,
            "remit.risk": question.risk,
            "remit.approval.decision": answer.decision,
            "remit.approval.scope": answer.scope.value,
            "remit.approval.by": answer.by,
            **({"remit.intent": question.intent.value} if question.intent else {}),
        }
        return self._span(APPROVAL, question.tool, (datetime.fromisoformat(question.time), at), attributes)

    def _ended(self, event: RunCompleted, at: datetime) -> Span:
        result = event.result
        attributes: dict[str, Value] = {
            "gen_ai.agent.name": "remit",
            "gen_ai.request.model": self._model,
            "remit.turn.id": self.turn_id,
            "remit.status": result.status,
            **_tokens(result.usage),
        }
        error = result.error.code.value if result.error else None
        return self._span(TURN, "remit", (self.began or at, at), attributes, error)

    def _span(
        self, operation: str, about: str, during: tuple[datetime, datetime], given: Attributes, error: str | None = None
    ) -> Span:
        common = {"gen_ai.operation.name": operation, "gen_ai.conversation.id": self.session_id}
        failed = {"error.type": error} if error else {}
        return Span(operation, f"{operation} {about}", *during, {**common, **given, **failed}, error)


def _tokens(usage: TokenUsage | None) -> Attributes:
    if usage is None:
        return _NO_ATTRIBUTES
    counts = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }
    return {name: count for name, count in counts.items() if count}


def _verdict(reasons: tuple[ReasonPayload, ...]) -> str | None:
    given = {reason.action for reason in reasons}
    return next((verdict for verdict in _VERDICTS if verdict in given), None)
