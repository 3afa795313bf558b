"""AGT-09: a conversation of 200 turns with a real model of a small window never ends because the window is full."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench_runtime import project
from random_model import random_model

from remit_server.contract import ContextCondensed, UsageEvent
from remit_server.harness.ports import NobodyToAsk

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]
WINDOW = 12_000
WORDS = ["cart", "total", "discount", "rename", "function", "src/shop/cart.py", "add", "tests", "why", "42", "é"]


async def test_AGT_09_two_hundred_turns_over_a_window_of_12_000_tokens(tmp_path: Path) -> None:
    model = str(random_model(tmp_path / "model", WINDOW))
    seeded = random.Random(1)
    async with project(tmp_path, {}, name=model, max_steps=2, max_tokens=48) as bench:
        for number in range(200):
            text = f"turn {number}: " + " ".join(seeded.choices(WORDS, k=seeded.choice([5, 60, 400])))
            result = await bench.ask(text, asker=NobodyToAsk())
            assert result.error is None or result.error.code != "model_failed", (number, result.error)
    events = bench.events
    condensed = [event for event in events if isinstance(event, ContextCondensed)]
    assert len(condensed) >= 2
    assert {event.window for event in events if isinstance(event, UsageEvent)} == {WINDOW}
    print(
        [(e.before_tokens, e.after_tokens, len(e.summary)) for e in condensed],
        sorted(e.usage.prompt_tokens for e in events if isinstance(e, UsageEvent))[-5:],
    )
    assert all(event.after_tokens < event.before_tokens for event in condensed)
    assert max(event.usage.prompt_tokens for event in events if isinstance(event, UsageEvent)) <= WINDOW
