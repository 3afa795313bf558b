"""The port to models: what the agent asks of any of them (MOD-01)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.contract import Ability
from remit_server.models.profile import Profile

Priority = Literal["turn", "background", "cursor"]
"""The order of waiting requests: a turn, background work, a completion at the cursor."""
Effort = Literal["low", "medium", "high"]
"""How long a model thinks, where it knows of that."""
ModelState = Literal["stopped", "starting", "ready", "busy", "failed"]


EVERY_ABILITY = frozenset(Ability)
"""The abilities of a model that was trained for no particular task."""

IN_TURNS = EVERY_ABILITY - {Ability.COMPLETE}
"""The abilities of one that is asked in a conversation only."""

UNREADABLE_CALL = "unreadable_call"
"""The name of a proposed call that could not be read; no tool has it. Its arguments are `why`, and its spelling,
`spelled`.
"""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The standing instructions. Byte for byte the same in every step, so that the prompt cache holds."""

    text: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The person's request."""

    text: str


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call that a model asks for. Nothing about it has been checked."""

    id: str
    name: str
    arguments: Mapping[str, JsonValue]


def new_call_id() -> str:
    """Returns an id for a call: as short as Mistral's service wants it, and without what Anthropic's refuses.

    What an engine calls it is not used: some count from zero in every answer.
    """
    return uuid.uuid4().hex[:9]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One generation: its text, then its calls."""

    text: str
    calls: tuple[ProposedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """A call's result, as text for the model."""

    call_id: str
    tool: str
    text: str


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class Nameable:
    """The paths that may be named: those of `files` that exist, and those that the person `said`."""

    files: frozenset[str]
    said: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, in order."""
        return tuple(sorted(self.files.union(self.said)))


@dataclass(frozen=True, slots=True)
class PathsOnOffer:
    """The paths that some tools' arguments may name, for providers that can constrain a model to them.

    `arguments` maps tools to the names of those arguments; `list` returns the paths, None where any may be named. The
    limit applies in addition to the tools' own schemas: a path has to satisfy both.
    """

    arguments: Mapping[str, tuple[str, ...]]
    list: Callable[[], Awaitable[Nameable | None]]


@dataclass(frozen=True, slots=True)
class Gap:
    """A place in a document that a model is to fill: the text before it, and the text after it."""

    before: str
    after: str


def _tell_nothing(arguments: Mapping[str, JsonValue]) -> None:
    """Of a request that nobody dispatches."""
    del arguments


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One step's generation.

    `intents` maps each intent that may be declared to the tools it opens; a provider must offer nothing else, in the
    strongest way it can. `select_active_intent` itself is implied and belongs to no entry.
    `temperature` and `top_p` are the model's own where they are None. `effort` is how much it may think, where it can.
    With `answer_schema`, a JSON Schema, the answer's text is one JSON value that satisfies it; `intents` is empty then.
    Where it finishes with `length`, the value is whole, but was cut short to fit `max_tokens`.
    With `must_answer` the model calls no tool.
    With a `gap` the answer's text is what goes there; `messages` and `intents` are empty then. Only a model with the
    ability to complete is asked for it.
    Where several requests wait for one model, those of a higher `priority` come first.
    `work_items` are those that a declaration may name; `selected` says what a declaration with these arguments comes
    to, None where it would be refused.
    """

    session_id: str
    messages: tuple[Message, ...]
    intents: Mapping[Intent, tuple[ToolSpec, ...]]
    max_tokens: int = 1024
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int = 0
    effort: Effort | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    answer_schema: Mapping[str, JsonValue] | None = None
    paths: PathsOnOffer | None = None
    priority: Priority = "turn"
    must_answer: bool = False
    gap: Gap | None = None
    work_items: tuple[str, ...] = ()
    selected: Callable[[Mapping[str, JsonValue]], str | None] = _tell_nothing


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The next part of the thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptRead:
    """So many tokens of the prompt have been read, of `total`; nothing of the answer came yet (MOD-24)."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class CallProposed:
    """A complete tool call, in the order that the model made them."""

    call: ProposedCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The generation ended by itself. Tokens are counted by the model's own tokenizer.

    With `declined` the model says that it did not do what it was asked, with `alike` it was ended because it only
    repeated itself. `longest_prompt` are the tokens of the longest
    of several requests that it took; 0 where it was one. `price_usd` is None where it costs what is not known.
    """

    reason: Literal["stop", "length", "alike", "declined"]
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    longest_prompt: int = 0
    price_usd: float | None = 0.0

    @property
    def context_tokens(self) -> int:
        """Tokens of the conversation, as the model counts."""
        return self.longest_prompt or self.prompt_tokens


ModelEvent = TextDelta | ThinkingDelta | PromptRead | CallProposed | Finished


@dataclass(frozen=True, slots=True)
class EngineStats:
    """A local model process's state now, and sums since it started.

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
    """The further reports of a provider with a model process of its own."""

    @property
    def loaded_share(self) -> float | None:
        """The share of the model that is in memory, from 0 to 1, while it is loading; None otherwise."""
        ...

    async def stats(self) -> EngineStats | None:
        """Returns the process's statistics; None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a model by now.

    `name` is for events and logs. `context_tokens` is what it reads, prompt and answer together; None where that is not
    known, or does not matter. One that does not read the editor's context is not sent it: a small model takes any name
    there for the one that is meant. `abilities` are the kinds of request it can do: the editor offers nothing that it
    would only decline.
    """

    name: str
    context_tokens: int | None = None
    reads_context: bool = True
    abilities: frozenset[Ability] = EVERY_ABILITY


class ModelProvider(Protocol):
    """A model, wherever it runs. One that stands before another has that one's traits and state."""

    @property
    def traits(self) -> Traits:
        """What is known of it by now."""
        ...

    @property
    def state(self) -> ModelState:
        """The state for a status bar."""
        ...

    @property
    def name(self) -> str:
        """The model's name in events and logs."""
        return self.traits.name

    @property
    def reads_context(self) -> bool:
        """Whether it receives the editor's context."""
        return self.traits.reads_context

    @property
    def abilities(self) -> frozenset[Ability]:
        """The kinds of request it can do."""
        return self.traits.abilities

    @property
    def context_tokens(self) -> int | None:
        """Tokens that it reads, prompt and answer together, where that is known."""
        return self.traits.context_tokens

    async def meet(self) -> Profile:
        """Returns how it is spoken to, and knows its window from then on; asks its server, or loads it, for that.

        Where that fails it is spoken to as far as it is known: `generate` says what is wrong, and asks again.
        """
        ...

    def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent, None]:
        """Streams one generation, ending with exactly one `Finished`.

        Cancelling the consuming task (or closing the iterator) stops the model within one token. Raises
        ModelUnavailable when there is no model to ask, PromptTooLong when it reads less than it is sent, ModelFailed
        when its answer is unusable.
        """
        ...

    async def close(self) -> None:
        """Frees what the provider holds. Idempotent."""
        ...
