"""Which commands show what files held in the past: git keeps it, whatever has since been hidden (threats.md, Shell)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

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
