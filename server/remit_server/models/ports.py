"""What the agent asks of a model, whichever model it is (MOD-01)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.contract import Ability

Priority = Literal["interactive", "turn", "background"]
"""A completion at the cursor, a turn, work that nobody waits for."""
ModelState = Literal["stopped", "starting", "ready", "busy", "failed"]


EVERY_ABILITY = frozenset(Ability)
"""Those of a model that was trained for no task in particular."""

UNREADABLE_CALL = "unreadable_call"
"""Name of a proposed call that could not be read: no tool has it. Its arguments are `why`, and how it was `spelled`."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Standing instructions. Byte-stable from step to step, so that the prompt cache holds."""

    text: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person asked."""

    text: str


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call a model asks for. Nothing about it has been checked."""

    id: str
    name: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One generation: its text, then its calls."""

    text: str
    calls: tuple[ProposedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """What a call came to, as text for the model."""

    call_id: str
    tool: str
    text: str


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class Nameable:
    """The paths that may be named: those of `files` that are there, and those that the person `said`."""

    files: frozenset[str]
    said: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All of them, in order."""
        return tuple(sorted(self.files.union(self.said)))


@dataclass(frozen=True, slots=True)
class PathsOnOffer:
    """The paths that some tools' arguments may name, for providers that can hold a model to them.

    `arguments` maps tools to the argument that is meant; `list` finds the paths, None where any may be named. It is a
    limit besides those that the tools' own schemas set: a path has to satisfy both.
    """

    arguments: Mapping[str, str]
    list: Callable[[], Awaitable[Nameable | None]]


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One step's generation.

    `intents` maps each intent that may be declared to the tools it opens; a provider must offer nothing else, in the
    strongest way it can. `select_active_intent` itself is implied and belongs to no entry.
    With `answer_schema`, a JSON Schema, the answer's text is one JSON value that satisfies it; `intents` is empty then.
    Where it finishes with `length`, the value is whole, but was cut short to fit `max_tokens`.
    With `must_call` the model calls a tool, without any text before it.
    Where several requests wait for one model, those of a higher `priority` come first.
    """

    session_id: str
    messages: tuple[Message, ...]
    intents: Mapping[Intent, tuple[ToolSpec, ...]]
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    answer_schema: Mapping[str, JsonValue] | None = None
    paths: PathsOnOffer | None = None
    priority: Priority = "turn"
    must_call: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some more of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Some more of what the model thinks aloud."""

    text: str


@dataclass(frozen=True, slots=True)
class CallProposed:
    """A complete tool call, in the order the model made them."""

    call: ProposedCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The generation ended by itself. Tokens are counted by the model's own tokenizer.

    With `declined` the model says that it did not do what it was asked.
    """

    reason: Literal["stop", "length", "declined"]
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


ModelEvent = TextDelta | ThinkingDelta | CallProposed | Finished


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What a local model's process holds now, and sums since it started.

    `cache_bytes` are held for the next step of `sessions`; `hits` generations found part of their prompt there,
    `shared` of them in another session's; of their prompts' tokens some were `cached`, the others `read`.
    """

    sessions: int
    cache_bytes: int
    waiting: int
    running: int
    generations: int
    hits: int
    shared: int
    cached_tokens: int
    read_tokens: int
    generated_tokens: int
    tokens_per_s: float


@runtime_checkable
class LocalEngine(Protocol):
    """What a provider with a model process of its own can also tell."""

    @property
    def loaded_share(self) -> float | None:
        """How much of the model is in memory, from 0 to 1, while it is loaded; None otherwise."""
        ...

    async def stats(self) -> EngineStats | None:
        """Says what the process holds and has done; None where there is none."""
        ...


class ModelProvider(Protocol):
    """A model, wherever it runs."""

    @property
    def name(self) -> str:
        """How the model is called in events and logs."""
        ...

    @property
    def state(self) -> ModelState:
        """What a status bar shows."""
        ...

    @property
    def reads_context(self) -> bool:
        """Whether it is told what the editor shows. A small model takes a name there for the one that is meant."""
        ...

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can be asked for by an offer: one that it could only decline is not made."""
        ...

    def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent, None]:
        """Streams one generation, ending with exactly one `Finished`.

        Cancelling the consuming task (or closing the iterator) stops the model within one token. Raises
        ModelUnavailable when there is no model to ask, ModelFailed when its answer is unusable.
        """
        ...

    async def close(self) -> None:
        """Frees what the provider holds. Idempotent."""
        ...
