"""The words that say an idea, in six languages (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"


@cache
def word_table() -> Mapping[str, Sequence[str]]:
    """Returns for each idea the words that say it."""
    table: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text("utf-8"))
    return table


@cache
def filling() -> frozenset[str]:
    """Returns the words that every sentence has, and that say nothing of what is wanted."""
    return frozenset(word_table()["filling"])


@cache
def saying(idea: str) -> re.Pattern[str]:
    """Returns a pattern of any word that says it. Where words are not parted by spaces it may stand in the midst of
    others."""
    words = word_table()[idea]
    parted = [word for word in words if word.isascii() or word[0] < "\u3000"]
    inside = [word for word in words if word not in parted]
    return re.compile("|".join([rf"(?<!\w)(?:{'|'.join(parted)})(?!\w)", *inside]), re.IGNORECASE)


def says(idea: str, text: str) -> bool:
    """Returns whether one of its words stands in the text."""
    return saying(idea).search(text) is not None
