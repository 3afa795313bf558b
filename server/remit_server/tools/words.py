"""A command line as plain words, only where every shell would see the same ones; pure (threats.md, Shell)."""

from __future__ import annotations

import re
import shlex

# Expansion, control, redirection, quoting that shells differ on, comments, line ends, other control characters.
_SPECIAL = re.compile(r"[|&;<>()$`\\*?\[\]{}~#!^\x00-\x08\x0a-\x1f\x7f]")
_RESERVED = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "do", "done", "in"),
        *("time", "function", "select", "coproc"),
    }
)


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a simple command, or None where a shell could make anything else of it.

    None means that nothing is known: no rule for a program may match such a command.
    """
    if _SPECIAL.search(command):
        return None
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return None
    if not words or not words[0] or "=" in words[0] or words[0] in _RESERVED:
        return None
    return words


def judged_argv(command: str) -> tuple[str, ...]:
    """What policy judges: the plain words, or the whole string as a script, which no rule for a program matches."""
    return plain_words(command) or ("sh", "-c", command)
