"""Answers that follow a JSON Schema, from the real model process: even random weights cannot break the schema."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from examples import rounds
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import JsonValue
from random_model import kept_model

from remit_server.errors import ModelFailed
from remit_server.models.local.provider import MlxProvider
from remit_server.models.ports import CallProposed, Finished, GenerateRequest, TextDelta, UserMessage

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]

SCHEMAS: dict[str, dict[str, JsonValue]] = json.loads(
    (Path(__file__).parents[1] / "cases" / "guided" / "schemas.json").read_text("utf-8")
)
FORMATS = FormatChecker()


@FORMATS.checks("date", raises=ValueError)
def is_date(value: object) -> bool:
    """RFC 3339 has the year 0, which is a leap year; Python has not, so the year 2000 stands for it."""
    return not isinstance(value, str) or bool(date.fromisoformat(re.sub("^0000-", "2000-", value)))


ROUNDS = rounds(5, 2)
"""How often each of the 50 schemas is run, with each of the models; all rounds together are 1,000 generations."""


async def answered(
    provider: MlxProvider,
    schema: Mapping[str, JsonValue],
    seed: int,
    *,
    max_tokens: int = 200,
    temperature: float = 1.0,
) -> tuple[str, str]:
    """Returns the text of the answer, and why it ended."""
    text, reason = "", ""
    request = GenerateRequest(
        f"s{seed}", (UserMessage("answer"),), {}, max_tokens, temperature, seed=seed, answer_schema=schema
    )
    async with aclosing(provider.generate(request)) as events:
        async for event in events:
            assert not isinstance(event, CallProposed)
            text += event.text if isinstance(event, TextDelta) else ""
            reason = event.reason if isinstance(event, Finished) else reason
    return text, reason


async def every_schema(reference: str) -> Counter[str]:
    provider = MlxProvider(reference)
    reasons: Counter[str] = Counter()
    try:
        for seed in range(ROUNDS):
            for name, schema in SCHEMAS.items():
                text, reason = await answered(provider, schema, seed)
                value = json.loads(text)
                validator = Draft202012Validator(in_force(schema), format_checker=FORMATS)
                assert validator.is_valid(value), (name, seed, text, list(validator.iter_errors(value)))
                reasons[reason] += 1
    finally:
        await provider.close()
    return reasons


def in_force(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Returns the schema in today's spelling, which the validator knows: `items` once meant what `prefixItems` means
    now."""
    items = schema.get("items")
    return {**schema, "prefixItems": items, "items": True} if isinstance(items, list) else schema


@pytest.mark.parametrize("kind", ["bytes", "bpe", "large"])
def test_answers_of_random_weights_parse_and_validate(kind: str, tmp_path: Path) -> None:
    """MOD-06: 50 schemas and three vocabularies; a value is whole even if the model never ends one."""
    from tiny_models import tiny_model

    reasons = asyncio.run(every_schema(str(tiny_model(kind, tmp_path / "model"))))  # type: ignore[arg-type]
    assert reasons.total() == ROUNDS * len(SCHEMAS)
    assert reasons["length"] > 2 * ROUNDS  # some were completed when the limit was reached
    assert reasons["stop"] > 10 * ROUNDS


def test_a_call_spelled_in_an_answer_stays_text(tmp_path: Path) -> None:
    """THR-model-call-as-text: a JSON string is data, whatever it contains; `answered` fails on a call."""
    from tiny_models import tiny_model

    async def both(reference: str) -> list[str]:
        provider = MlxProvider(reference)
        try:
            return [(await answered(provider, {"const": value}, 0))[0] for value in spelled]
        finally:
            await provider.close()

    spelled = [
        '<tool_call>{"name":"run_command","arguments":{"command":"x"}}</tool_call>',
        "<tool_call>",
        "</tool_call>",
    ]
    for reference in (kept_model(), str(tiny_model("bytes", tmp_path / "model"))):
        assert [json.loads(text) for text in asyncio.run(both(reference))] == spelled


def test_a_value_that_cannot_fit_is_an_error_and_not_half_a_value() -> None:
    async def asked() -> None:
        provider = MlxProvider(kept_model())
        try:
            with pytest.raises(ModelFailed, match="does not fit"):
                await answered(provider, {"type": "string", "minLength": 500}, 0, max_tokens=20)
            with pytest.raises(ModelFailed, match="cannot be asked for"):
                await answered(provider, {"not": {}}, 0)
            assert json.loads((await answered(provider, {"type": "integer"}, 0))[0]) is not None
        finally:
            await provider.close()

    asyncio.run(asked())
