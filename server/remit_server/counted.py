"""Counts and lists in words, as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Returns the number with its noun: `1 call`, `1,200 calls`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def list_some(names: Sequence[str], most: int, between: str = ", ") -> str:
    """Returns the names in a row; of many only the first `most`, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more
