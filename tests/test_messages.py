"""Every sentence that tests look for is one of the product's, and is written down only once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType

from messages import FILE, SAYS

ROOT = Path(__file__).parents[1]
SAMPLES = {"sample", "tdd"}
"""Folders of the demo, whose files belong to a sample project."""


@cache
def constants() -> str:
    """Returns all texts in the source, joined as the compiler joins them, without docstrings, which the compiler drops
    and nobody is shown."""
    files = (path for folder in ("server", "governance") for path in (ROOT / folder).rglob("*.py"))
    sources = ((path, path.read_text("utf-8")) for path in files if not SAMPLES & {*path.parts})
    return "\0".join({text for path, source in sources for text in texts_in(compile(source, path, "exec", optimize=2))})


def texts_in(constant: object) -> Iterator[str]:
    match constant:
        case str():
            yield constant
        case CodeType(co_consts=parts) | tuple(parts) | frozenset(parts):
            for part in parts:
                yield from texts_in(part)


def test_each_message_is_one_that_the_product_says() -> None:
    """If this fails, the sentence was reworded: write the new one into tests/messages.yaml."""
    assert [name for name, text in vars(SAYS).items() if text not in constants()] == []


def test_each_message_is_looked_for_and_written_down_once() -> None:
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    looked_for = {*re.findall(r"\bSAYS\.(\w+)", tests)}
    assert looked_for == vars(SAYS).keys()
    assert [text for text, count in Counter(vars(SAYS).values()).items() if count > 1] == []
    names = re.findall(r"^(\w+):", FILE.read_text("utf-8"), re.MULTILINE)
    assert names == sorted(names)
