"""What has a terminal show a notification of the desktop (CLI-10); pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from remit_governance.visible import visible

MOST = 120
_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "ghostty", "WarpTerminal"})
_TERMS = frozenset({"xterm-kitty", "xterm-ghostty", "wezterm", "foot"})
_MULTIPLEXERS = ("TMUX", "STY")
"""Inside of these a sequence that they do not know may be shown as text."""


def notification(words: str, environment: Mapping[str, str]) -> str:
    """Returns the sequence OSC 9 for terminals that are known to take it; for others nothing."""
    known = environment.get("TERM_PROGRAM") in _PROGRAMS or environment.get("TERM") in _TERMS
    if not known or any(environment.get(name) for name in _MULTIPLEXERS):
        return ""
    text = textwrap.shorten(visible(f"Remit {words}", "show"), MOST, placeholder=" …")
    return f"\x1b]9;{text}\x07"
