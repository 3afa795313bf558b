"""The format of a recording: one JSON object per line (MOD-10).

`{"kind": "recording", "version": 1, "model", "reads_context"}` first, then for each generation, marked by its `id`:
`request` with its digest and content, `event` with the seconds since the request, and `end`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, assert_never, cast

from pydantic import Field, TypeAdapter

from remit_governance.canonical import digest_bytes
from remit_governance.secrets.redaction import map_strings
from remit_server.contract import ErrorCode, Wire
from remit_server.errors import ModelFailed, ModelUnavailable, RemitError
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    Message,
    ModelEvent,
    PromptRead,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.profile import ProfileName

Redact = Callable[[str], str]


class Line(Wire):
    """The base of all lines: unknown fields are errors."""


class Header(Line):
    """Begins each recording in a file."""

    kind: Literal["recording"] = "recording"
    version: Literal[1] = 1
    model: str
    reads_context: bool


class Asked(Line):
    """The beginning of a generation. `request` is its content, redacted; `digest` is over exactly that.

    `profile` is how the model was spoken to.
    """

    kind: Literal["request"] = "request"
    id: str
    profile: ProfileName = "large"
    digest: str
    request: dict[str, Any]


class Said(Line):
    """An event of the model, `at_s` seconds after the request."""

    kind: Literal["event"] = "event"
    id: str
    at_s: float = Field(ge=0)
    event: dict[str, Any]


class Failure(Line):
    """An error, as it was raised."""

    type: Literal["unavailable", "failed"]
    code: ErrorCode
    what: str
    why: str
    fix: str
    retryable: bool = False


class TrafficEnd(Line):
    """The end of a generation: it finished, it failed with `error`, or its reader stopped."""

    kind: Literal["end"] = "end"
    id: str
    at_s: float = Field(ge=0)
    how: Literal["finished", "failed", "cancelled"]
    error: Failure | None = None


AnyLine = Annotated[Header | Asked | Said | TrafficEnd, Field(discriminator="kind")]
_LINES: TypeAdapter[Header | Asked | Said | TrafficEnd] = TypeAdapter(AnyLine)
_EVENTS: Mapping[Any, TypeAdapter[ModelEvent]] = {
    "text": TypeAdapter[ModelEvent](TextDelta),
    "thinking": TypeAdapter[ModelEvent](ThinkingDelta),
    "read": TypeAdapter[ModelEvent](PromptRead),
    "call": TypeAdapter[ModelEvent](CallProposed),
    "finished": TypeAdapter[ModelEvent](Finished),
}


def spell_line(line: Line) -> bytes:
    """Returns a line of the file, in ASCII, so that names that are not UTF-8 on disk can be written too."""
    return json.dumps(line.model_dump()).encode("ascii") + b"\n"


def line_of(data: bytes) -> Header | Asked | Said | TrafficEnd:
    """Parses a line that `spell_line` wrote. Raises ValueError."""
    return _LINES.validate_python(json.loads(data))


def request_value(request: GenerateRequest, redact: Redact) -> dict[str, Any]:
    """Returns a request's content, redacted. Its session is not part of it."""
    value = {
        "messages": [_message_value(message) for message in request.messages],
        "intents": {intent.value: [_tool_value(tool) for tool in tools] for intent, tools in request.intents.items()},
        "answer_schema": request.answer_schema,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    if request.gap is not None:  # earlier recordings have no gaps
        value["gap"] = asdict(request.gap)
    return cast("dict[str, Any]", map_strings(value, redact))


def request_digest(value: Mapping[str, Any]) -> str:
    """Returns the digest of a value, equal for equal values, whatever number types a model put into its arguments."""
    return digest_bytes(json.dumps(value, sort_keys=True).encode())


def event_value(event: ModelEvent, redact: Redact) -> dict[str, Any]:
    """Returns an event as JSON, redacted."""
    match event:
        case TextDelta(text):
            return {"type": "text", "text": redact(text)}
        case ThinkingDelta(text):
            return {"type": "thinking", "text": redact(text)}
        case PromptRead(done, total):
            return {"type": "read", "done": done, "total": total}
        case CallProposed(call):
            return {"type": "call", "call": map_strings(_call_value(call), redact)}
        case Finished():
            return {"type": "finished", **asdict(event)}
        case _:
            assert_never(event)


def event_of(value: Mapping[str, Any]) -> ModelEvent:
    """Parses an event that `event_value` wrote. Raises ValueError for anything else."""
    shape = _EVENTS.get(value.get("type"))
    if shape is None:
        raise ValueError("its type is not known")
    return shape.validate_python({name: item for name, item in value.items() if name != "type"})


def failure_of(error: RemitError, redact: Redact) -> Failure:
    """Returns an error as JSON, redacted."""
    kind: Literal["unavailable", "failed"] = "unavailable" if isinstance(error, ModelUnavailable) else "failed"
    what, why, fix = redact(error.what), redact(error.why), redact(error.fix)
    return Failure(type=kind, code=error.code, what=what, why=why, fix=fix, retryable=error.retryable)


def error_of(failure: Failure) -> RemitError:
    """Returns the error that `failure_of` described."""
    kind = ModelUnavailable if failure.type == "unavailable" else ModelFailed
    return kind(failure.what, failure.why, failure.fix, code=failure.code, retryable=failure.retryable)


def _message_value(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage(text):
            return {"role": "system", "text": text}
        case UserMessage(text):
            return {"role": "user", "text": text}
        case AssistantMessage(text, calls):
            return {"role": "assistant", "text": text, "calls": [_call_value(call) for call in calls]}
        case ToolMessage(call_id, tool, text):
            return {"role": "tool", "call_id": call_id, "tool": tool, "text": text}
        case _:
            assert_never(message)


def _call_value(call: ProposedCall) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _tool_value(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
