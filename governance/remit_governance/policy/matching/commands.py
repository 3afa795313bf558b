"""A command line as policy sees it: its words where they are plain, the whole text under a shell where they are not
(CMD-01).
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ \t'\"-]*", re.ASCII)
_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./ -]*", re.ASCII)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# What a shell reads as syntax where a command's name stands, and what has it read its words once more.
_SHELL = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "do", "done", "in", "select"),
        *("time", "function", "coproc", "eval", "exec", "command", "builtin", ".", "source", "trap", "alias"),
    }
)
_SCRIPT = ("sh", "-c")


def command_words(command: str) -> tuple[str, ...]:
    """The words of a command without shell syntax, else `("sh", "-c", command)`.

    So a rule for `pytest` never matches `pytest; rm -rf .`: what is not known to be plain words is a shell's business.
    """
    whole = (*_SCRIPT, command)
    if not _PLAIN.fullmatch(command):
        return whole
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return whole
    known = bool(words) and words[0] not in {"", *_SHELL} and not _ASSIGNMENT.match(words[0])
    return words if known else whole


def is_script(command: tuple[str, ...] | None) -> bool:
    """Tells whether this is a text that only a shell knows the meaning of. No rule can have meant to allow it."""
    return command is not None and command[:2] == _SCRIPT


@lru_cache(maxsize=4096)
def command_prefix(text: str) -> tuple[str, ...]:
    """The leading words a rule's `command` names. Raises ValueError where there are none, or its quotes are open."""
    try:
        words = tuple(text.split() if _BARE.fullmatch(text) else shlex.split(text))
    except ValueError:
        words = ()
    if not words:
        raise ValueError(f"the command `{text}` has no words: write the words a command starts with")
    return words


def starts_with(command: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """Tells whether the leading words of `command` are exactly `prefix`."""
    return command[: len(prefix)] == prefix
