"""Markdown for the terminal, by rich: text in, lines with or without colour out."""

from __future__ import annotations

import io
import os
import sys

from rich.console import Console
from rich.markdown import Markdown

from remit_governance.visible import visible_again

WIDEST = 100
"""Columns of text: longer lines are hard to read."""

MOST_DRAWN = 10_000
MOST_BARS = 2_500
"""Bars of tables in one text: drawing a cell takes many times as long as drawing a word."""


def wants_colour() -> bool:
    """Whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def draw_markdown(text: str, columns: int) -> str:
    """Returns Markdown as lines of at most so many columns. What hides text is spelled out, and no link is active.

    A text of more than `MOST_DRAWN` characters, or with more than `MOST_BARS` of a table, is returned as it was
    written: a person waits for it.
    """
    if len(text) > MOST_DRAWN or text.count("|") > MOST_BARS:
        return visible_again(text)
    out = io.StringIO()
    colour = wants_colour()
    console = Console(
        file=out,
        width=max(20, min(columns, WIDEST)),
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    console.print(Markdown(visible_again(text), hyperlinks=False, code_theme="ansi_dark"))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))
