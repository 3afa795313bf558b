"""Whether a model only repeats itself: small ones do, until their last token, if nobody stops them (MOD-22). Pure."""

from __future__ import annotations

LONGEST_PERIOD = 200
ENOUGH = 1_500
"""Characters that are alike: no table and no rule of a text is so long, hardly ever."""
_LOOKED_AT = 64
"""Characters between two looks."""


def goes_on_alike(text: str, before: int, least: int = ENOUGH) -> bool:
    """Returns whether the last `least` characters are one piece of up to `LONGEST_PERIOD` over and over.

    `before` is how long the text was at the last look; nothing is looked at until enough has come since.
    """
    if len(text) < least or len(text) // _LOOKED_AT == before // _LOOKED_AT:
        return False
    tail = text[-least:]
    period = (tail + tail).find(tail[: least - LONGEST_PERIOD], 1)
    return 0 < period <= LONGEST_PERIOD and tail[period:] == tail[:-period]
