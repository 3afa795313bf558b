"""A command line as policy sees it: its words where they are plain, the whole text under a shell where they are not
(CMD-01); and which commands show what files held in the past: git keeps it, whatever has since been hidden (POL-16).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
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
    """Returns the words of a command without shell syntax, else `("sh", "-c", command)`.

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
    """Returns the leading words a rule's `command` names. Raises ValueError where there are none, or its quotes are
    open."""
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


_HARMLESS = frozenset(
    {
        *(
            "add",
            "branch",
            "check-ignore",
            "clean",
            "commit",
            "config",
            "count-objects",
            "describe",
            "fetch",
            "for-each-ref",
        ),
        *("fsck", "gc", "help", "init", "log", "ls-files", "merge-base", "mv", "push", "reflog", "remote", "rev-list"),
        *("rev-parse", "rm", "shortlog", "show-ref", "status", "submodule", "symbolic-ref", "tag", "var", "version"),
    }
)
"""Subcommands that show names and messages, and of files no more than what they hold now."""

_SHOWING = (
    *("-p", "-u", "-U", "-L", "-G", "-S", "-c", "-v", "--patch", "--unified", "--cc", "--word-diff", "--diff"),
    *("--color-words", "--binary", "--full-diff", "--ext-diff", "--textconv", "--verbose", "--remerge"),
)
_VERBOSE = frozenset({"branch", "remote"})
"""Of these `-v` shows names and messages only."""

_BEFORE = ("--no-pager", "--paginate", "--no-optional-locks", "--literal-pathspecs", "-P", "-p", "--bare")


def is_git(command: Sequence[str]) -> bool:
    """Tells whether the command is git's."""
    return bool(command) and posixpath.basename(command[0]) == "git"


def reads_history(commands: Iterable[Sequence[str]]) -> bool:
    """Tells whether one of the commands is git's and may show what a file held in a commit."""
    return any(is_git(command) and not _is_harmless(command[1:]) for command in commands)


def _is_harmless(words: Sequence[str]) -> bool:
    rest = list(words)
    while rest and rest[0] in _BEFORE:
        rest.pop(0)
    if not rest or rest[0] in {"--version", "--help"}:
        return True
    subcommand, *others = rest
    if subcommand in _VERBOSE:
        others = [word for word in others if word not in {"-v", "-vv"}]
    return subcommand in _HARMLESS and not any(word.startswith(_SHOWING) for word in others)
