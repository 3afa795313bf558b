"""A stream is read piece by piece, and the cost of a piece does not grow with the whole (MOD-13)."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from remit_server.cli.chat.transcript import Blocks
from remit_server.models.ports import TextDelta
from remit_server.models.remote.leaked import Held
from remit_server.models.sameness import Sameness
from remit_server.models.steps.held import StepReader
from remit_server.models.thinking import ThoughtReader

READERS: dict[str, Callable[[], Callable[[str], object]]] = {
    "a step": lambda: (reader := StepReader()) and (lambda piece: list(reader.feed(piece))),
    "calls in text": lambda: (held := Held()) and held.feed,
    "thinking": lambda: (reader := ThoughtReader()) and (lambda piece: list(reader.feed(piece))),
    "sameness": lambda: (heard := Sameness()) and (lambda piece: heard.take(TextDelta(piece))),
    "Markdown": lambda: (blocks := Blocks()) and blocks.take,
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "beginning",
    [
        '{"answer": "',
        '{"tool": "write_file", "arguments": {"content": "',
        "\n<tool_call>\n",
        "<think>",
        "```\n",
        " ",
        "- ",
    ],
)
def test_MOD_13_a_piece_of_a_long_answer_costs_no_more_than_itself(kind: str, beginning: str) -> None:
    """A reader that reads everything again, or appends each piece to the whole, would need memory for a copy of it."""
    feed = READERS[kind]()
    feed(beginning)
    for line in range(100):
        feed(f"{line} " * 3_000)
        feed("\n")
    tracemalloc.start()
    try:
        feed("a")
        assert tracemalloc.get_traced_memory()[1] < 50_000
    finally:
        tracemalloc.stop()
