"""One request to an engine and the pieces of its answer, independent of any library (MOD-11), and the exceptions for a
server's errors, whichever library they came through (MOD-13).
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self, cast, runtime_checkable

from pydantic import JsonValue

from remit_governance.secrets.cutting import shorten
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong
from remit_server.models.ports import CallProposed, Effort, Gap, Message, PromptRead, TextDelta, ThinkingDelta, ToolSpec
from remit_server.models.remote.engines import PROVIDERS, Filling, RemoteReference


@dataclass(frozen=True, slots=True)
class Forced:
    """The tool that has to be called."""

    name: str


@dataclass(frozen=True, slots=True)
class Among:
    """The tools that may be called, maybe none at all."""

    names: tuple[str, ...]


Choice = Forced | Among | None
"""None means that the model may call any tool of the list, or none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `tools` are the same in every request of a turn; the answer's text has to satisfy the `schema`."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    choice: Choice
    max_tokens: int
    temperature: float | None
    top_p: float | None
    seed: int
    effort: Effort | None
    schema: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class GapAsk:
    """One request for the text at a cursor, and how the engine takes such a request (LSP-12)."""

    model: str
    gap: Gap
    filling: Filling
    max_tokens: int
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How an answer ended, and its tokens by the engine's own count.

    Of the prompt's tokens, some were found in the cache, and some were written into it, if the service charges for
    that. `alike` means that the answer was stopped because it only repeated itself. A call was `dropped` if the server
    says that the answer ends with calls but sends none, because it could not read what the model wrote.
    """

    reason: Literal["stop", "length", "alike"]
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    written_tokens: int = 0
    dropped: bool = False


Piece = TextDelta | ThinkingDelta | PromptRead | CallProposed | Ended


@dataclass(frozen=True, slots=True)
class Served:
    """What is known of the served model: the engine's row, the window in tokens, the model's name if none was given,
    the number of weights, and whether it fills gaps; None if the server does not say. `answers_as` is the only model
    that the server lists, if the person named another one, for which the server answers all the same.
    """

    engine: str
    window: int | None
    model: str = ""
    parameters: int | None = None
    fills: bool | None = None
    answers_as: str | None = None


class Client(Protocol):
    """The way to an engine through one library. It raises ModelUnavailable, `Busy`, PromptTooLong and ModelFailed."""

    async def describe(self, model: str) -> Served:
        """Ask what serves the model. Raises ModelUnavailable if nobody answers."""
        ...

    def stream(self, ask: Ask) -> AsyncGenerator[Piece]:
        """Ask, and stream the answer, ending with exactly one `Ended`. Closing the stream ends the request."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class GapClient(Protocol):
    """A client whose protocol has a request for the text at a cursor."""

    def fill(self, ask: GapAsk) -> AsyncGenerator[Piece]:
        """Stream the text of a gap, as `Client.stream` does. Raises CannotFill if the server refuses to."""
        ...


class CannotFill(ModelFailed):
    """The server does not complete at a cursor, or not with this model."""

    def __init__(self, host: str, why: str) -> None:
        fix = "name a model that fills gaps in `completion.model`, or switch completion off"
        super().__init__(f"`{host}` cannot complete at a cursor", why, fix)


class Busy(Exception):
    """The engine cannot answer now; `wait_s` is the pause that it asked for, or None if it did not say."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.why, self.wait_s = why, wait_s


_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which the same request may succeed."""

_CANNOT_FILL = frozenset({400, 404, 405, 422, 501})
"""HTTP statuses with which servers refuse to fill a gap because they or their model cannot."""

TOO_LONG = re.compile(r"context|too many tokens|maximum.{0,20}tokens|prompt is too long", re.IGNORECASE)
_NUMBER = r"(\d{3,9})(?!\d)"
_WINDOW = (
    rf"> *{_NUMBER}",
    rf"\b(?:maximum|max)\b[^.;\d]{{0,40}}?{_NUMBER}",
    rf"\b(?:context|n_ctx|limit|window)\b[^.;\d>]{{0,30}}?{_NUMBER}",
)
_PROMPT = (
    rf"{_NUMBER} in the messages",
    rf"{_NUMBER} (?:tokens )?(?:\+ *\d+ *)?>",
    rf"\b(?:prompt|request|input|messages|conversation)\b[^.;\d]{{0,30}}?{_NUMBER}",
    rf"\brequested {_NUMBER}",
)


def numbers_in(text: str) -> tuple[int, int]:
    """Returns the window and the prompt's tokens that a message names, or zero for each that it does not name. They are
    known by the words beside them, as such messages have other numbers too (the reserve for the answer, a sum)."""
    return _first_number(_WINDOW, text), _first_number(_PROMPT, text)


def _first_number(patterns: Sequence[str], text: str) -> int:
    """Returns the number that the first matching pattern finds, or zero; the surest patterns come first."""
    found = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1]) for match in found if match), 0)


def told_body(body: object) -> str:
    """Returns the message in an error's body, whatever shape the body has, or an empty string if there is none.

    The message is the body itself, its `error` or `message`, or FastAPI's `detail`: a text or a list of places and
    faults.
    """
    inner = cast("JsonValue", body)
    if isinstance(inner, dict) and isinstance(inner.get("error"), dict):
        inner = inner["error"]
    match inner:
        case str():
            return inner
        case {"message": str(said)} | {"error": str(said)} | {"detail": str(said)} if said:
            return said
        case {"detail": [*faults]} | [*faults]:
            return "; ".join(filter(None, map(_told_fault, faults)))
        case _:
            return ""


def _told_fault(fault: JsonValue) -> str:
    match fault:
        case {"loc": [*place], "msg": str(said)}:
            return f"{'.'.join(map(str, place))}: {said}"
        case {"msg": str(said)} | {"message": str(said)} | str(said):
            return said
        case _:
            return ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that a server asks to wait, or None if it does not say."""
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return float(ms) / 1000
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None


def told_cause(error: BaseException) -> str:
    """Returns why a connection failed, in the system's words."""
    cause = error.__cause__ or error
    return shorten(str(cause), 200) or type(cause).__name__


class CutOff(ModelFailed):
    """The stream ended before the answer did."""

    def __init__(self) -> None:
        why = "the stream ended without saying how the answer ends"
        super().__init__("the model's answer is not complete", why, "ask again; the server's log says more")


@dataclass(frozen=True, slots=True)
class Service:
    """The service that a client asks, and the exceptions for its errors. No message contains the `key`."""

    provider: str
    host: str
    key: str | None

    @classmethod
    def of(cls, reference: RemoteReference, key: str | None) -> Self:
        """Returns the service of a reference."""
        return cls(reference.provider, reference.host, key)

    def words(self, text: str) -> str:
        """Returns up to 300 characters of a server's words, without the key, as some repeat a key that they refuse."""
        return shorten((text.replace(self.key, "[redacted key]") if self.key else text), 300)

    def refusal(
        self,
        status: int,
        said: str,
        wait_s: float | None = None,
        *,
        too_long: Collection[int] = (400, 413),
        fix: str = "see `remit model check`, and the server's log",
    ) -> Exception:
        """Returns the exception for an answer of this `status`; `too_long` are the statuses that may mean that the
        conversation is too long."""
        if status in too_long and TOO_LONG.search(said):
            return self.too_long(said, *numbers_in(said))
        if status in _RETRIED:
            return Busy(f"it answered {status}: {said}", wait_s)
        if status in {401, 403}:
            return self.refused_key(status)
        return ModelFailed(f"`{self.host}` refused the request ({status})", said, fix)

    def too_long(self, said: str, window: int, tokens: int) -> PromptTooLong:
        """Returns the exception for a conversation that does not fit; a count is zero if the server did not tell it."""
        what, fix = "the conversation does not fit the model", "ask for less at once, or use a larger model"
        return PromptTooLong(what, said, fix, tokens=tokens, window=window)

    def refused_key(self, status: int) -> ModelUnavailable:
        """Returns the exception for a request that was refused because of its key, or because it had none."""
        named = "".join(f", or set {variable}" for variable in PROVIDERS[self.provider].key_variables[:1])
        fix = f"store a key with `remit auth set {self.provider}`{named}"
        return ModelUnavailable(f"`{self.host}` does not accept the key", f"it answered {status}", fix)

    def unreachable(self, error: BaseException, fix: str) -> ModelUnavailable:
        """Returns the exception for a server that cannot be reached."""
        return ModelUnavailable(f"`{self.host}` cannot be reached", told_cause(error), fix)

    def broken_off(self, said: str) -> ModelFailed:
        """Returns the exception for an error in the middle of an answer."""
        fix = "ask again; the server's log says more"
        return ModelFailed(f"`{self.host}` ended its answer with an error", said, fix)

    def cannot_fill(self, status: int, said: str) -> CannotFill | None:
        """Returns the exception for a server that does not complete at a cursor, or None if the answer does not mean
        that."""
        return CannotFill(self.host, said) if status in _CANNOT_FILL and not TOO_LONG.search(said) else None


def not_reached(error: BaseException) -> Busy:
    """Returns the exception for a request that did not get through; the next one may."""
    return Busy(f"it cannot be reached: {told_cause(error)}")
