"""A chat in a session that has one answer."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Bench

from remit_server.chat.replies import Chat


@pytest.fixture
async def chat(make_bench: Any) -> Chat:
    bench: Bench = await make_bench({"text": "an answer"})
    await bench.ask("a question", session="here")
    numbers = iter(range(100))
    return Chat(bench.runtime, bench.settings, "here", lambda: f"new-{next(numbers)}")
