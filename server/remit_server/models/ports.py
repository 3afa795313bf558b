"""The port to models: what the agent can ask of any model (MOD-01)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.contract import Ability, ModelStats
from remit_server.models.profile import Profile

Priority = Literal["turn", "background", "cursor"]
"""The order of waiting requests: a turn, background work, a completion at the cursor."""
Effort = Literal["low", "medium", "high"]
"""How long a model thinks, if it can be told."""
ModelState = Literal["stopped", "starting", "ready", "busy", "failed"]


EVERY_ABILITY = frozenset(Ability)
"""The abilities of a model that was trained for no particular task."""

IN_TURNS = EVERY_ABILITY - {Ability.COMPLETE}
"""The abilities of a model that can only be asked in a conversation."""

UNREADABLE_CALL = "unreadable_call"
"""The name of a proposed call that could not be read; no tool has this name. Its arguments are `why`, and `spelled`,
the call as the model wrote it.
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
    """Returns an id for a call: as short as Mistral's service wants it, without characters that Anthropic's refuses.

    The engine's own ids are not used, because some engines count from zero in every answer.
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
    """The paths that may be named: `files`, which exist, and the paths that the person `said`."""

    files: frozenset[str]
    said: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, sorted."""
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
    """The `selected` of a request whose calls nobody dispatches."""
    del arguments


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One step's generation.

    `intents` maps each intent that may be declared to the tools it opens; a provider must offer nothing else, in the
    strongest way it can. `select_active_intent` itself is implied and belongs to no entry.
    If `temperature` or `top_p` is None, the model's own is used. `effort` is how much the model may think, if it can.
    With `answer_schema`, a JSON Schema, the answer's text is one JSON value that satisfies it; `intents` is empty then.
    If the answer finishes with `length`, the value is complete, but was cut short to fit `max_tokens`.
    With `must_answer` the model calls no tool.
    With a `gap` the answer's text fills the gap; `messages` and `intents` are empty then. Only a model with the ability
    to complete is asked for that.
    If several requests wait for one model, those of a higher `priority` come first.
    `work_items` are those that a declaration may name. `selected` returns the result of a declaration with the given
    arguments, as text for the model, or None if the declaration would be refused.
    """

    session_id: str
    messages: tuple[Message, ...]
    intents: Mapping[Intent, tuple[ToolSpec, ...]]
    max_tokens: int = 1024
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int = 0
    effort: Effort | None = None
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
    """`done` of the prompt's `total` tokens have been read, and the answer has not begun yet (MOD-24)."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class CallProposed:
    """A complete tool call; calls come in the order in which the model made them."""

    call: ProposedCall


EndReason = Literal["stop", "length", "alike", "declined", "asks"]
Declined = Literal["declined", "asks"]
"""How a model says that it did not do what it was asked: it cannot, or it asks for something that is missing."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The generation ended by itself. Tokens are counted by the model's own tokenizer.

    `declined` means that the model says that it did not do what it was asked, `asks` that it needs an answer before it
    does it, `alike` that it was stopped because it only repeated itself. `suggestion` is the sentence that a yes to its
    question stands for, None if it asks for more than a yes. `longest_prompt` is the number of tokens of
    the longest prompt if the generation took several requests, and may be 0 if it took one. `price_usd` is None if the
    price is not known.
    """

    reason: EndReason
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    longest_prompt: int = 0
    price_usd: float | None = 0.0
    suggestion: str | None = None

    @property
    def context_tokens(self) -> int:
        """The tokens of the conversation, as the model counts them."""
        return self.longest_prompt or self.prompt_tokens


ModelEvent = TextDelta | ThinkingDelta | PromptRead | CallProposed | Finished


@runtime_checkable
class LocalEngine(Protocol):
    """The further reports of a provider with a model process of its own."""

    @property
    def loaded_share(self) -> float | None:
        """The share of the model that is in memory, from 0 to 1, while it is loading; None otherwise."""
        ...

    async def stats(self) -> ModelStats | None:
        """Returns the process's statistics, or None if there is no process."""
        ...


ATTACHED = "Attached file: "
"""The words before the path of an attachment, in the message to a model that does not read attachments."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a model by now.

    `name` is for events and logs. `context_tokens` is the model's window, prompt and answer together, or None if it is
    not known or does not matter. Without `reads_context` the model is not sent the editor's context, because a small
    model takes any name there for the one that is meant. `abilities` are the kinds of request that the model can do,
    so that the editor offers nothing that the model would only decline.
    """

    name: str
    context_tokens: int | None = None
    reads_context: bool = True
    abilities: frozenset[Ability] = EVERY_ABILITY


class ModelProvider(Protocol):
    """A model, wherever it runs. A provider that wraps another one has the traits and state of that one."""

    @property
    def traits(self) -> Traits:
        """What is known of the model by now."""
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
        """Whether the model receives the editor's context."""
        return self.traits.reads_context

    @property
    def abilities(self) -> frozenset[Ability]:
        """The kinds of request that the model can do."""
        return self.traits.abilities

    @property
    def context_tokens(self) -> int | None:
        """The model's window in tokens, prompt and answer together, or None if it is not known."""
        return self.traits.context_tokens

    async def meet(self) -> Profile:
        """Returns the model's profile, and knows its window from then on; asks the server or loads the model for that.

        If that fails, returns a profile by what is known so far; `generate` tries again and says what is wrong.
        """
        ...

    def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent, None]:
        """Streams one generation, ending with exactly one `Finished`.

        Cancelling the consuming task (or closing the iterator) stops the model within one token. Raises
        ModelUnavailable when there is no model to ask, PromptTooLong when the prompt does not fit the model's window,
        ModelFailed when its answer is unusable.
        """
        ...

    async def close(self) -> None:
        """Frees what the provider holds. Idempotent."""
        ...
