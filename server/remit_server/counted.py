"""Counts in words, as a person reads them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Returns the number with its noun: `1 call`, `1,200 calls`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
