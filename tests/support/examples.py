"""How many examples a property is tried with."""

from __future__ import annotations

import os

from hypothesis import settings

USUAL = 100


def examples(usual: int) -> int:
    """Returns `usual`, or proportionally fewer in a profile with fewer than the usual hundred examples; at least
    one."""
    return max(1, usual * settings.default.max_examples // USUAL)


def rounds(thorough: int, otherwise: int) -> int:
    """Returns `thorough` in a thorough run (`make test-thorough`), `otherwise` in every other run."""
    return thorough if os.environ.get("REMIT_THOROUGH") else otherwise
