"""The messages between server and model process: length-prefixed JSON over a pipe (MOD-02).

A frame is the length of the payload, four bytes big-endian, and the payload, a UTF-8 JSON object. Requests go to the
model process, events come from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from remit_server.contract import ModelStats
from remit_server.models.ports import Effort, Gap, Priority, ProposedCall, ToolSpec

MAX_FRAME = 64 * 1024 * 1024
"""The longest payload in bytes; a longer one is an error."""
_PREFIX = 4


class WireError(ValueError):
    """Bytes that are not a frame, or a frame that is not a message."""


class Frame(BaseModel):
    """The base of all messages: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ChatMessage(Frame):
    """One message of the conversation, with the names of chat templates."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ProposedCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class Load(Frame):
    """Loads a model from the path of its folder. Comes first, once.

    `cache_bytes` is the size of all prompt caches together; with `check_memory` a model that does not fit into free
    memory is not loaded; in `cache_folder` prompt caches survive the process. With `thinking` a model that can think
    may; without `guided` no grammar constrains it.
    """

    kind: Literal["load"] = "load"
    folder: str
    cache_bytes: int = Field(default=1 << 30, ge=0)
    check_memory: bool = True
    cache_folder: str | None = None
    thinking: bool = False
    guided: bool = True


class Generate(Frame):
    """Requests one generation: a step, for which `intents` maps each intent that may be declared to its tools; or a
    JSON value of a schema; or the text of a `gap`, without any message.

    If `temperature` or `top_p` is None, the one that the model's folder states is used. With `paths`, the argument that
    `path_arguments` names for a tool is one of them, in addition to its schema. A declaration may name one of the
    `work_items`. With `must_answer` the output is text alone, under the same prompt. A value that need not be `whole`
    may be cut at the token limit.
    """

    kind: Literal["generate"] = "generate"
    id: str
    session_id: str
    messages: tuple[ChatMessage, ...]
    intents: dict[str, tuple[ToolSpec, ...]]
    max_tokens: int = Field(default=1024, ge=1)
    temperature: float | None = Field(default=0.0, ge=0.0)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    seed: int = Field(default=0, ge=0)
    answer_schema: dict[str, JsonValue] | None = None
    paths: tuple[str, ...] | None = None
    path_arguments: dict[str, tuple[str, ...]] = {}
    effort: Effort | None = None
    priority: Priority = "turn"
    gap: Gap | None = None
    work_items: tuple[str, ...] = ()
    must_answer: bool = False
    whole: bool = True


class Cancel(Frame):
    """Stops the generation of that id, queued or running. Unknown ids are ignored: it may have just ended."""

    kind: Literal["cancel"] = "cancel"
    id: str


class AskStats(Frame):
    """Asks for `Stats`. Answered between two tokens, in the order of the questions."""

    kind: Literal["ask_stats"] = "ask_stats"


class Shutdown(Frame):
    """Cancels everything and exits. The end of the pipe means the same."""

    kind: Literal["shutdown"] = "shutdown"


class Loading(Frame):
    """The bytes of the model's weights that are in memory, and their total."""

    kind: Literal["loading"] = "loading"
    done: int
    total: int


class Ready(Frame):
    """The model is loaded: the seconds it took, the bytes the process holds, the tokens it reads, its weights, and
    whether a grammar constrains it.
    """

    kind: Literal["ready"] = "ready"
    name: str
    device: str
    load_s: float
    memory_bytes: int
    context: int
    parameters: int
    guided: bool = True


class ProgressFrame(Frame):
    """The number of prompt tokens that have been read."""

    kind: Literal["progress"] = "progress"
    id: str
    done: int
    total: int


class Delta(Frame):
    """The next part of the text."""

    kind: Literal["delta"] = "delta"
    id: str
    text: str


class ThinkingFrame(Frame):
    """The next part of the thinking, which is not part of the answer."""

    kind: Literal["thinking"] = "thinking"
    id: str
    text: str


class Call(Frame):
    """A complete call."""

    kind: Literal["call"] = "call"
    id: str
    name: str
    arguments: dict[str, JsonValue]


class UnreadableFrame(Frame):
    """A malformed call, and what is wrong with it."""

    kind: Literal["unreadable"] = "unreadable"
    id: str
    text: str
    why: str


class FinishedFrame(Frame):
    """The generation has ended. Token counts are the model's own, times are seconds."""

    kind: Literal["finished"] = "finished"
    id: str
    reason: Literal["stop", "length", "cancelled"]
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    prompt_s: float = 0.0
    decode_s: float = 0.0
    memory_bytes: int = 0


class Stats(Frame):
    """The process's state now, and sums since it started."""

    kind: Literal["stats"] = "stats"
    stats: ModelStats


class Error(Frame):
    """A generation failed (`id`), or the process cannot continue (no `id`).

    If the prompt does not fit, `tokens` is the size of the prompt, and `window` that of the model's window.
    """

    kind: Literal["error"] = "error"
    id: str | None = None
    what: str
    why: str
    fix: str
    tokens: int = 0
    window: int = 0


Request = Load | Generate | Cancel | AskStats | Shutdown
Generated = ProgressFrame | Delta | ThinkingFrame | Call | UnreadableFrame | FinishedFrame
"""The events of a generation that does not fail."""
Event = Loading | Ready | Generated | Stats | Error

M = TypeVar("M")
_REQUESTS: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="kind")])
_EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def encode(message: Frame) -> bytes:
    """Returns a message as one frame. Raises WireError when it is longer than MAX_FRAME."""
    try:
        payload = message.model_dump_json(exclude_defaults=False).encode("utf-8")
    except (ValueError, UnicodeEncodeError) as error:
        raise WireError(f"the message cannot be written as JSON: {error}") from error
    if len(payload) > MAX_FRAME:
        raise WireError(f"a message of {len(payload)} bytes is longer than the limit of {MAX_FRAME}")
    return len(payload).to_bytes(_PREFIX, "big") + payload


def decode_request(payload: bytes) -> Request:
    """Parses a frame's payload as a request. Raises WireError."""
    return _decode(_REQUESTS, payload)


def decode_event(payload: bytes) -> Event:
    """Parses a frame's payload as an event. Raises WireError."""
    return _decode(_EVENTS, payload)


class FrameBuffer:
    """Splits a stream of bytes into payloads, whatever pieces arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Adds bytes and yields each complete payload. Raises WireError for a length beyond MAX_FRAME."""
        self._buffer += data
        while len(self._buffer) >= _PREFIX:
            length = int.from_bytes(self._buffer[:_PREFIX], "big")
            if length > MAX_FRAME:
                raise WireError(f"a frame claims {length} bytes, more than the limit of {MAX_FRAME}")
            if len(self._buffer) < _PREFIX + length:
                return
            payload = bytes(self._buffer[_PREFIX : _PREFIX + length])
            del self._buffer[: _PREFIX + length]
            yield payload


def _decode(messages: TypeAdapter[M], payload: bytes) -> M:
    try:
        return messages.validate_json(payload)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "message"
        raise WireError(f"not a message: {place}: {problem['msg'].lower()}") from error
