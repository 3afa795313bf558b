"""Measures a piece of work by its number of calls, which other load on the machine does not change."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls_made_by(work: Callable[[], object], *, in_c: bool = False) -> int:
    """Counts the calls of Python functions, and `in_c` those of functions in C; each resumption of a generator counts
    as a call."""
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
