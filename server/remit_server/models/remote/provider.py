"""A model that another program serves, as a provider (MOD-11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import assert_never

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.contract import Ability, TokenUsage
from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.ports import (
    EVERY_ABILITY,
    IN_TURNS,
    AssistantMessage,
    CallProposed,
    Finished,
    Gap,
    GenerateRequest,
    Message,
    ModelEvent,
    ModelProvider,
    ModelState,
    PromptRead,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    Traits,
    UserMessage,
)
from remit_server.models.profile import LARGE, ChosenProfile, Profile, choose_profile
from remit_server.models.remote.ask import (
    Among,
    Ask,
    CannotFill,
    Client,
    Ended,
    Forced,
    GapAsk,
    GapClient,
    Piece,
    Served,
)
from remit_server.models.remote.engines import ENGINES, PROVIDERS, EngineRow, Filling, Hold, RemoteReference
from remit_server.models.remote.leaked import Held, Leaked, find_leaked_calls
from remit_server.models.remote.patience import Patience, read_as_foreign, stream_patiently
from remit_server.models.remote.prices import price_of
from remit_server.models.remote.two_requests import all_tools, split_steps, with_declaration
from remit_server.models.remote.understood import understand
from remit_server.models.sameness import Sameness, end_where_alike
from remit_server.models.steps.held import held_request, read_step
from remit_server.models.unreadable import refuse_fenced, unreadable

MakeClient = Callable[[RemoteReference, Patience], Client]


@dataclass(slots=True)
class _Counted:
    """The sums of the tokens of all requests that one step took."""

    usage: TokenUsage = field(default_factory=TokenUsage)
    longest: int = 0

    def add(self, ended: Ended, price: float | None) -> Finished:
        counts = {"prompt_tokens": ended.prompt_tokens, "cached_tokens": ended.cached_tokens}
        self.usage = self.usage.plus(TokenUsage(**counts, completion_tokens=ended.completion_tokens, price_usd=price))
        self.longest = max(self.longest, ended.prompt_tokens)
        sums = self.usage.prompt_tokens, self.usage.cached_tokens, self.usage.completion_tokens
        return Finished(ended.reason, *sums, self.longest, self.usage.price_usd)


class RemoteProvider(ModelProvider):
    """A `ModelProvider` over a library's client, which is made on another thread at the first request.

    Everything that is sent is redacted first, because it leaves this process.
    """

    def __init__(
        self,
        reference: RemoteReference,
        make: MakeClient,
        redact: Callable[[str], str],
        *,
        engine: str | None = None,
        profile: ChosenProfile | None = None,
        patience: Patience | None = None,
    ) -> None:
        """`engine` and `profile` are the person's choices, which replace what the provider finds out itself."""
        self._reference, self._make = reference, make
        self._redact = lru_cache(maxsize=2_000)(redact)
        self._chosen = engine
        self._chosen_profile: ChosenProfile | None = profile
        self._patience = patience or Patience()
        self._client: Client | None = None
        self._served: Served | None = None
        self._opening = asyncio.Lock()
        self._running = 0
        self._failed = False
        self._refuses_gaps = False

    @property
    def _model(self) -> str:
        return self._reference.model or (self._served.model if self._served else "")

    @property
    def traits(self) -> Traits:
        """The model's name, if it is known, with its host, and its window as the engine or else the engine's row says.

        The model can do any task in a conversation. It counts as able to complete at a cursor until it is known that
        the server is not.
        """
        host, served = self._reference.host, self._served
        name = f"{self._model} at {host}" if self._model else host
        if served is None:
            return Traits(name, abilities=self._abilities(fills=PROVIDERS[self._reference.provider].fills))
        window = served.window or self._engine(served).window
        return Traits(name, window, abilities=self._abilities(fills=self._filling(served) is not None))

    def _abilities(self, *, fills: bool) -> frozenset[Ability]:
        return EVERY_ABILITY if fills and not self._refuses_gaps else IN_TURNS

    @property
    def state(self) -> ModelState:
        """The state for a status bar."""
        if self._running:
            return "busy"
        if self._failed:
            return "failed"
        return "stopped" if self._served is None else "ready"

    async def meet(self) -> Profile:
        """Returns the profile by the number of weights, as the engine tells it, or else the model's name."""
        with suppress(ModelUnavailable, ModelFailed):
            await self._open()
        return self._profile()

    def _profile(self) -> Profile:
        if self._served is None:
            return LARGE
        by_schema = self._engine(self._served).intent is Hold.SCHEMA
        known = self._served.parameters
        return choose_profile(known, self._model, by_schema=by_schema, chosen=self._chosen_profile)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Stream one generation, as `ModelProvider.generate` says."""
        self._running += 1
        try:
            client, served = await self._open()
            steps = (
                self._step(client, self._engine(served), request)
                if request.gap is None
                else self._fill(client, served, request, request.gap)
            )
            async with aclosing(steps) as events:
                async for event in events:
                    yield event
            self._failed = False
        except CannotFill:  # this is raised once: from now on the model does not have the ability
            self._refuses_gaps = True
            raise
        except (ModelUnavailable, ModelFailed):
            self._failed = True
            raise
        finally:
            self._running -= 1

    async def served(self) -> tuple[Served, EngineRow]:
        """Returns what serves the model, and the engine's row. Raises ModelUnavailable."""
        _, served = await self._open()
        return served, self._engine(served)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        client, self._client, self._served = self._client, None, None
        if client is not None:
            await client.close()

    async def _open(self) -> tuple[Client, Served]:
        async with self._opening:
            if self._client is None:
                # The libraries take a second or two to import.
                self._client = await asyncio.to_thread(self._make, self._reference, self._patience)
            if self._served is None:
                with read_as_foreign(self.name):
                    self._served = await self._client.describe(self._reference.model)
            return self._client, self._served

    def _engine(self, served: Served) -> EngineRow:
        return ENGINES[self._chosen or served.engine]

    def _filling(self, served: Served) -> Filling | None:
        """Returns how the server is asked to fill a gap, or None if it is known that the server does not."""
        filling = self._engine(served).filling
        if served.fills is False or (filling is Filling.LISTED and not served.fills):
            return None
        return filling

    async def _fill(
        self, client: Client, served: Served, request: GenerateRequest, gap: Gap
    ) -> AsyncGenerator[ModelEvent]:
        """Streams the text for a gap at the cursor (LSP-12). Asks nothing if a secret spans the cursor."""
        filling = self._filling(served)
        if filling is None or not isinstance(client, GapClient):
            raise CannotFill(self.name, f"its server ({self._chosen or served.engine}) cannot do that")
        clean = Gap(self._redact(gap.before), self._redact(gap.after))
        if self._redact(gap.before + gap.after) != clean.before + clean.after:
            yield Finished("stop")
            return
        counted = _Counted()
        ask = GapAsk(self._model, clean, filling, request.max_tokens, request.temperature)
        async with aclosing(stream_patiently(lambda: client.fill(ask), self._patience, self.name)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Ended):
                    yield await self._count(counted, piece)
                elif isinstance(piece, TextDelta):
                    yield piece

    def _step(self, client: Client, engine: EngineRow, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        messages = tuple(map(self._redacted, request.messages))
        profile = self._profile()
        usual = engine.temperature if profile.temperature is None else profile.temperature
        ask = Ask(
            self._model,
            messages,
            (),
            None,
            min(request.max_tokens, profile.most_tokens or request.max_tokens),
            usual if request.temperature is None else request.temperature,
            request.top_p,
            request.seed,
            request.effort,
            request.answer_schema,
        )
        if not request.intents:
            return self._plain(client, ask)
        if engine.intent is Hold.SCHEMA:
            return self._by_schema(client, ask, request)
        # Every request of a turn has the same tools, so that the engine's cache holds.
        ask = replace(ask, tools=all_tools(request.intents, request.work_items))
        if request.must_answer:
            messages = ask.messages if engine.requests == 1 else split_steps(ask.messages)
            return self._plain(client, replace(ask, messages=messages, choice=Among(())))
        return (
            self._calls(client, ask, _Counted()) if engine.requests == 1 else self._in_two(client, ask, request, engine)
        )

    async def _plain(self, client: Client, ask: Ask) -> AsyncGenerator[ModelEvent]:
        counted = _Counted()
        async with aclosing(self._stream(client, ask)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Ended):
                    yield await self._count(counted, piece)
                elif not isinstance(piece, CallProposed):
                    yield piece

    async def _by_schema(self, client: Client, ask: Ask, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        nameable = None if request.paths is None else await request.paths.list()
        held = held_request(request, ask.messages, self._profile(), nameable)
        tools = [tool for offered in request.intents.values() for tool in offered]
        asked = replace(ask, messages=held.messages, schema=held.answer_schema)
        async with aclosing(read_step(self._plain(client, asked))) as events:
            async for event in events:
                yield CallProposed(understand(event.call, tools)) if isinstance(event, CallProposed) else event

    async def _in_two(
        self, client: Client, ask: Ask, request: GenerateRequest, engine: EngineRow
    ) -> AsyncGenerator[ModelEvent]:
        """Passes the declaration on with the first call only, because a step that only answers declares nothing."""
        asked = replace(ask, messages=split_steps(ask.messages))
        counted = _Counted()
        declared = await self._declaration(client, replace(asked, choice=Forced(SELECT_INTENT)), counted)
        opened = request.intents.get(_intent_of(declared, request.intents), ())
        names = (SELECT_INTENT, *(tool.name for tool in opened))
        held = Among(names) if engine.tools is Hold.ALLOWED else None
        said = request.selected(declared.arguments)
        told = with_declaration(asked.messages, declared, said and self._redact(said))
        second = replace(asked, messages=told, choice=held)
        waiting: CallProposed | None = CallProposed(declared)
        async with aclosing(self._calls(client, second, counted)) as events:
            async for event in events:
                if isinstance(event, CallProposed) and waiting is not None:
                    yield waiting
                    waiting = None
                yield event

    async def _declaration(self, client: Client, ask: Ask, counted: _Counted) -> ProposedCall:
        """Returns the call that declares the intent. Raises ModelFailed if the engine did not make this call."""
        found: ProposedCall | None = None
        async with aclosing(self._stream(client, ask)) as pieces:
            async for piece in pieces:
                if isinstance(piece, CallProposed) and found is None:
                    found = understand(piece.call, ask.tools)
                elif isinstance(piece, Ended):
                    await self._count(counted, piece)
        if found is None or found.name != SELECT_INTENT:
            did = "it called nothing" if found is None else f"it called `{found.name}`"
            fix = "choose another row with REMIT_ENGINE: docs/models.md lists them"
            raise ModelFailed(f"`{self.name}` did not declare an intent", did, fix)
        return found

    async def _calls(self, client: Client, ask: Ask, counted: _Counted) -> AsyncGenerator[ModelEvent]:
        """Passes on text and calls. A call that the server left in the text is passed on as a call, not as text."""
        held, called = Held(), False
        async with aclosing(self._stream(client, ask)) as pieces:
            async for piece in pieces:
                match piece:
                    case Ended():
                        finished = await self._count(counted, piece)
                        leaked = Leaked() if called else find_leaked_calls(held.text, ask.tools)
                        if rest := held.rest(leaked.at):
                            yield TextDelta(rest)
                        for call in leaked.calls:
                            yield CallProposed(understand(call, ask.tools))
                        if not (called or leaked.calls) and (refused := _no_call(ask, held.text, piece)):
                            yield CallProposed(refused)
                        yield finished
                    case CallProposed(call=call):
                        called = True
                        yield CallProposed(understand(call, ask.tools))
                    case TextDelta(text=more):
                        if certain := held.feed(more):
                            yield TextDelta(certain)
                    case ThinkingDelta() | PromptRead():
                        yield piece
                    case _:
                        assert_never(piece)

    async def _count(self, counted: _Counted, ended: Ended) -> Finished:
        """Adds a finished request to the sums. Returns the step's `Finished` with the sums so far."""
        untold = ended.reason == "alike" and not ended.prompt_tokens  # it was stopped before the engine counted
        price = None if untold else await asyncio.to_thread(price_of, ended, self._reference, self._model)
        return counted.add(ended, price)

    def _stream(self, client: Client, ask: Ask) -> AsyncGenerator[Piece]:
        pieces = stream_patiently(lambda: client.stream(ask), self._patience, self.name)
        return end_where_alike(pieces, self._profile().alike, ended_alike)

    def _redacted(self, message: Message) -> Message:
        match message:
            case SystemMessage(text=text):
                return SystemMessage(self._redact(text))
            case UserMessage(text=text):
                return UserMessage(self._redact(text))
            case ToolMessage(text=text):
                return replace(message, text=self._redact(text))
            case AssistantMessage(text=text, calls=calls):
                return AssistantMessage(
                    self._redact(text), tuple(replace(call, arguments=self._clean(call.arguments)) for call in calls)
                )
            case _:
                assert_never(message)

    def _clean(self, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {name: self._redact(value) if isinstance(value, str) else value for name, value in arguments.items()}


def _no_call(ask: Ask, text: str, ended: Ended) -> ProposedCall | None:
    """Returns an unreadable call for a call that did not come through, because the server dropped it or it stands in a
    code fence; None if there was no such call."""
    if ended.dropped:
        return unreadable("the server could not read it, so it left it out", "")
    return refuse_fenced(text, ask.messages, [tool.name for tool in ask.tools])


def ended_alike(heard: Sameness) -> Piece:
    """Returns the end of an answer that only repeated itself."""
    return Ended("alike", prompt_tokens=heard.read, completion_tokens=heard.written)


def _intent_of(call: ProposedCall, intents: Mapping[Intent, object]) -> Intent:
    """Returns the declared intent, or the first one if the declaration names none, which the dispatcher refuses."""
    named = call.arguments.get("intent")
    return next((intent for intent in intents if intent.value == named), next(iter(intents)))
