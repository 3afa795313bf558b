"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100


def examples(usual: int) -> int:
    """So many, at least one; in a profile that looks at fewer than the usual hundred, fewer in proportion."""
    return max(1, usual * settings.default.max_examples // USUAL)
