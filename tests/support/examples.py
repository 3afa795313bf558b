"""How many examples a property is tried with."""

from __future__ import annotations

import os

from hypothesis import settings

USUAL = 100


def examples(usual: int) -> int:
    """So many, at least one; in a profile that looks at fewer than the usual hundred, fewer in proportion."""
    return max(1, usual * settings.default.max_examples // USUAL)


def rounds(thorough: int, otherwise: int) -> int:
    """Returns `thorough` where each is wanted (`make test-thorough`), `otherwise` in every other run."""
    return thorough if os.environ.get("REMIT_THOROUGH") else otherwise
