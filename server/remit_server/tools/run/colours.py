"""What programs print, without the codes that colour it on a terminal (TOOL-08)."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
"""SGR of ECMA-48: how what follows looks, and nothing that it says."""


def without_colours(text: str) -> str:
    """Returns the text alone, for whoever reads it elsewhere than on a terminal, and for what searches it."""
    return _COLOURS.sub("", text)
