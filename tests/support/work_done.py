"""How much a piece of work does, counted in calls, which no other load on the machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls_made_by(work: Callable[[], object], *, in_c: bool = False) -> int:
    """Counts the calls of Python functions, and `in_c` those of functions in C; a generator that goes on is called."""
    made, counted = 0, {"call", "c_call"} if in_c else {"call"}

    def count(_: object, event: str, __: object) -> None:
        nonlocal made
        made += event in counted

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made
