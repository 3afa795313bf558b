"""AGT-09: a conversation of 200 turns with a real model of a small window never ends because the window is full."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest
from configured import configured
from random_model import random_model

from remit_server.contract import ContextCondensed, Event, RunRequest, TextInput, UsageEvent
from remit_server.harness.ports import NobodyToAsk
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]
WINDOW = 12_000
WORDS = ["cart", "total", "discount", "rename", "function", "src/shop/cart.py", "add", "tests", "why", "42", "é"]


async def test_AGT_09_two_hundred_turns_over_a_window_of_12_000_tokens(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    settings = Settings(
        tmp_path / "shop",
        tmp_path / "state",
        tmp_path / "no-policy.yaml",
        configured(name=str(random_model(tmp_path / "model", WINDOW)), max_steps=2, max_tokens=48),
    )
    runtime = await open_runtime(settings, NoDocuments())
    seeded = random.Random(1)
    events: list[Event] = []
    try:
        for number in range(200):
            text = f"turn {number}: " + " ".join(seeded.choices(WORDS, k=seeded.choice([5, 60, 400])))
            request = RunRequest(session_id="s", turn_id=str(number), input=TextInput(text=text))
            result = await runtime.run(request, events.append, NobodyToAsk())
            assert result.error is None or result.error.code != "model_failed", (number, result.error)
    finally:
        await runtime.close()
    condensed = [event for event in events if isinstance(event, ContextCondensed)]
    assert len(condensed) >= 2
    assert {event.window for event in events if isinstance(event, UsageEvent)} == {WINDOW}
    print(
        [(e.before_tokens, e.after_tokens, len(e.summary)) for e in condensed],
        sorted(e.usage.prompt_tokens for e in events if isinstance(e, UsageEvent))[-5:],
    )
    assert all(event.after_tokens < event.before_tokens for event in condensed)
    assert max(event.usage.prompt_tokens for event in events if isinstance(event, UsageEvent)) <= WINDOW
