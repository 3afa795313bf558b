"""Thinking and calls without a grammar, in the real model process with random weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec

import pytest
import pytest_asyncio
from tiny_model import MARKERS, TEMPLATE, ask, collect, governed_calls, last, tiny_model

from remit_server.errors import ModelFailed
from remit_server.models.dialects.table import Dialect
from remit_server.models.local.host.grammar.arguments import Spelling
from remit_server.models.local.host.output.native import ToolFormat, dialect_formats
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.provider import MlxProvider
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Message,
    ModelEvent,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    UserMessage,
)

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
]

THINKING = (*MARKERS, "<think>", "</think>")
OPENING = TEMPLATE + "{%- if enable_thinking -%}<think>\n{%- endif -%}"
ALWAYS_OPENING = TEMPLATE + "<think>\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened() -> AsyncIterator[MlxProvider]:
    provider = MlxProvider(str(tiny_model("thinks-opened", THINKING, OPENING)), EngineOptions(thinking=True))
    yield provider
    await provider.close()


def spelled(events: Sequence[ModelEvent]) -> tuple[str, str]:
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return text, "".join(event.text for event in events if isinstance(event, ThinkingDelta))


def governed(events: Sequence[ModelEvent]) -> int:
    """Checks the calls of a step against its intent; returns their number."""
    return governed_calls(events, None).total()


async def test_thinking_that_the_template_begins_ends_before_the_answer(opened: MlxProvider) -> None:
    """THR-model-outside-intent: a random model thinks first, ends its thinking, and is then held by the grammar."""
    counts: Counter[str] = Counter()
    for seed in range(12):
        events = await collect(opened, ask(session=f"o{seed}", temperature=1.0, seed=seed, max_tokens=120))
        text, thought = spelled(events)
        counts["thought"] += bool(thought.strip())
        counts["answered"] += bool(text) or governed(events) > 0
        governed(events)
        assert "<think>" not in text + thought
        assert "</think>" not in text + thought
    assert counts["thought"] >= 10
    assert counts["answered"] >= 10


@pytest.mark.parametrize("markers", [THINKING, (*MARKERS[:6], *THINKING[-2:])], ids=["tokens", "plain-calls"])
async def test_thinking_is_the_models_choice(markers: tuple[str, ...]) -> None:
    """THR-model-outside-intent: if the template does not begin the thinking, a model may think or not; also if the
    markers of calls are plain text."""
    folder = tiny_model(f"thinks-{len(markers)}", markers, TEMPLATE)
    provider = MlxProvider(str(folder), EngineOptions(thinking=True))
    counts: Counter[str] = Counter()
    try:
        for seed in range(16):
            events = await collect(provider, ask(session=f"c{seed}", temperature=1.0, seed=seed, max_tokens=120))
            counts["thought" if spelled(events)[1] else "not"] += 1
            counts["calls"] += governed(events)
    finally:
        await provider.close()
    assert min(counts["thought"], counts["calls"]) >= 1, counts


async def test_no_thinking_where_nobody_wants_it() -> None:
    """The template always begins with thinking, so the prompt ends the thinking at once."""
    provider = MlxProvider(str(tiny_model("thinks-always", THINKING, ALWAYS_OPENING)), EngineOptions(profile="large"))
    try:
        for seed in range(6):
            events = await collect(provider, ask(session=f"n{seed}", temperature=1.0, seed=seed, max_tokens=40))
            assert not any(isinstance(event, ThinkingDelta) for event in events)
            governed(events)
    finally:
        await provider.close()


async def test_an_answer_of_a_schema_has_no_thinking(opened: MlxProvider) -> None:
    """No other answer outside a turn has any: a completion at the cursor cannot wait for it."""
    request = ask(intents={}, session="v", max_tokens=40, answer_schema={"type": "integer", "minimum": 0})
    text, thought = spelled(await collect(opened, request))
    assert int(text) >= 0
    assert not thought
    assert not spelled(await collect(opened, ask(intents={}, session="w", max_tokens=40)))[1]


async def test_the_prompt_cache_outlasts_thinking_that_is_forgotten(opened: MlxProvider) -> None:
    """MOD-05: later prompts do not contain the thinking, and only the tokens after it are read again."""
    messages: tuple[Message, ...] = (SystemMessage("be brief " * 40), UserMessage("rename a to b"))
    first = await collect(opened, ask(messages=messages, session="m", temperature=1.0, seed=3, max_tokens=80))
    text, thought = spelled(first)
    assert thought
    calls = tuple(event.call for event in first if isinstance(event, CallProposed))
    results = tuple(ToolMessage(call.id, call.name, "done") for call in calls)
    messages = (*messages, AssistantMessage(text, calls), *(results or (UserMessage("go on"),)))
    warm = await collect(opened, ask(messages=messages, session="m", temperature=1.0, seed=4, max_tokens=40))
    cold = await collect(opened, ask(messages=messages, session="new", temperature=1.0, seed=4, max_tokens=40))
    assert last(warm).prompt_tokens == last(cold).prompt_tokens
    # Only the template's own `<think>` and newline are in the first prompt and not in the second.
    assert last(warm).cached_tokens >= last(first).prompt_tokens - 3
    assert spelled(warm) == spelled(cold)


async def test_without_a_grammar_noise_brings_no_call_that_is_none() -> None:
    """Whatever the unguided model writes, the generation ends normally, and only real calls are proposed."""
    folder = tiny_model("markers", MARKERS, TEMPLATE)
    provider = MlxProvider(str(folder), EngineOptions(guided=False))
    try:
        for seed in range(6):
            events = await collect(provider, ask(session=f"u{seed}", temperature=1.0, seed=seed, max_tokens=80))
            last(events)
            names = {event.call.name for event in events if isinstance(event, CallProposed)}
            assert names <= {"unreadable_call"}
        with pytest.raises(ModelFailed):
            await collect(provider, ask(intents={}, session="v", max_tokens=30, answer_schema={"type": "integer"}))
    finally:
        await provider.close()


async def test_a_tokenizer_that_cannot_be_guided_is_used_without() -> None:
    """A tokenizer that llguidance cannot read is a warning, not an error."""
    from remit_server.models.local.host.model_adapter import ModelAdapter

    class Unreadable:
        name, begin, end = "other", "", ""
        control_tokens, template_source = (), ""
        fill_in, ends_in_gap = None, frozenset[int]()

        def spelling(self, dialect: Dialect) -> Spelling:
            return Spelling(dialect)

        def think_markers(self, spelling: Spelling) -> None:
            return None

        def tool_formats(self, dialect: Dialect) -> tuple[ToolFormat, ...]:
            return dialect_formats(dialect)

        def grammar_tokenizer(self, spelling: Spelling) -> object:
            raise ValueError("not a fast tokenizer")

        def template(self, *, thinking: bool) -> None:
            return None

    assert not ModelAdapter(Unreadable(), guided=True, thinking=True).guided  # type: ignore[arg-type]
