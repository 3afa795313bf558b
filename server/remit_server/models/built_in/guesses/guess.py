"""A guess: the plain sentence that says what another sentence may mean (MOD-29). Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guess:
    """The plain sentence, which a rule takes. If it is `sure`, nothing else can be meant. If it is `in_part`, more is
    wished for."""

    plain: str
    sure: bool = False
    in_part: bool = False


def quoted(text: str) -> str | None:
    """Returns a text in quotes that it does not have itself, or None if it has all of them."""
    marks = (('"', '"'), ("`", "`"), ("“", "”"), ("«", "»"))
    return next((f"{left}{text}{right}" for left, right in marks if left not in text and right not in text), None)
