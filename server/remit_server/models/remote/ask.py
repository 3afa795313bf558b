"""One request to an engine, and what comes back, before anything of a library is known (MOD-11)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from remit_server.errors import ModelFailed
from remit_server.models.ports import CallProposed, Effort, Gap, Message, PromptRead, TextDelta, ThinkingDelta, ToolSpec
from remit_server.models.remote.stages import Filling


@dataclass(frozen=True, slots=True)
class Forced:
    """The tool that has to be called."""

    name: str


@dataclass(frozen=True, slots=True)
class Among:
    """The tools that may be called, maybe none at all."""

    names: tuple[str, ...]


Choice = Forced | Among | None
"""None: any tool of the list, or none."""


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
    """One request for what stands at a cursor, and how the engine takes it (LSP-12)."""

    model: str
    gap: Gap
    filling: Filling
    max_tokens: int
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How an answer ended, and its tokens by the engine's own count; of the prompt's, some were `cached` before, and
    some are `written` into the cache now, where that is charged for. It was ended as `alike` where it only went on
    repeating itself. A call was `dropped` where the server says that the answer ends with calls and sends none: it
    could not read what the model wrote.
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
    """What is known of the served model: the engine's row, the tokens that it reads, its name where none was given,
    how many weights it has, and whether it fills gaps; None where the server does not say.
    """

    engine: str
    window: int | None
    model: str = ""
    parameters: int | None = None
    fills: bool | None = None


class Client(Protocol):
    """One library's way to an engine. Its errors come as ModelUnavailable, `Busy`, PromptTooLong and ModelFailed."""

    async def describe(self, model: str) -> Served:
        """Ask what serves the model. Raises ModelUnavailable where nobody answers."""
        ...

    def stream(self, ask: Ask) -> AsyncGenerator[Piece]:
        """Ask, and stream the answer, ending with exactly one `Ended`. Closing it ends the request."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


@runtime_checkable
class GapClient(Protocol):
    """A client whose protocol has a request for a cursor."""

    def fill(self, ask: GapAsk) -> AsyncGenerator[Piece]:
        """Stream what stands in a gap, as `Client.stream` does. Raises CannotFill where the server refuses to."""
        ...


class CannotFill(ModelFailed):
    """The server completes at no cursor, or not with this model."""

    def __init__(self, host: str, why: str) -> None:
        fix = "name a model that fills gaps in `completion.model`, or switch completion off"
        super().__init__(f"`{host}` does not complete at a cursor", why, fix)


class Busy(Exception):
    """The engine cannot answer now; `wait_s` is what it asked for, None where it did not say."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.why, self.wait_s = why, wait_s
