"""What class of thing a command is, by its words: it reads, changes files, runs the project, or nobody knows
(004 §Future Extensions).

Tables of what is known. What is in none of them, or makes the shell's reader doubt, is `unknown`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from remit_governance.policy.shell.programs import BUILTINS, READERS, WRITERS, examine, git_words, is_known_place
from remit_governance.policy.shell.words import Word

CommandClass = Literal["reads", "changes", "runs", "unknown"]

READING = frozenset(
    {
        *(READERS | BUILTINS),
        *(
            "awk",
            "date",
            "df",
            "fd",
            "fdfind",
            "file",
            "find",
            "free",
            "gawk",
            "groups",
            "hostname",
            "id",
            "jq",
            "mawk",
        ),
        *("nawk", "ps", "rg", "sed", "sort", "tr", "tree", "uname", "uniq", "uptime", "which", "whoami", "xxd"),
    }
)
"""Programs that change nothing, unless their arguments name a file to write or give the reader a doubt."""

CHANGING = frozenset({"chmod", "cp", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "tee", "touch", "unlink"})
"""Programs that change files, and run nothing."""

GONE = frozenset({"dd", "rm", "shred", "truncate", "unlink"})
"""Programs after which what was there is gone."""

_GIT_READS = frozenset(
    {
        *("blame", "cat-file", "check-ignore", "count-objects", "describe", "diff", "diff-files", "diff-index"),
        *("diff-tree", "for-each-ref", "grep", "help", "log", "ls-files", "ls-tree", "merge-base", "name-rev"),
        *("range-diff", "rev-list", "rev-parse", "shortlog", "show", "show-ref", "status", "version", "whatchanged"),
    }
)
_GIT_CHANGES = frozenset(
    {
        *("add", "branch", "checkout", "cherry-pick", "commit", "merge", "mv", "rebase", "remote", "reset", "restore"),
        *("revert", "rm", "stash", "switch", "symbolic-ref", "tag"),
    }
)

_RUNNING: tuple[tuple[str, ...], ...] = (
    *((name,) for name in ("black", "eslint", "flake8", "isort", "jest", "mypy", "prettier", "pylint", "pyright")),
    *((name,) for name in ("pytest", "ruff", "tsc", "vitest")),
    *((python, "-m", name) for python in ("python", "python3") for name in ("pytest", "unittest", "mypy", "ruff")),
    *(("cargo", word) for word in ("bench", "build", "check", "clippy", "doc", "fmt", "test")),
    *(("go", word) for word in ("build", "fmt", "test", "vet")),
    *((name, "test") for name in ("npm", "pnpm", "yarn", "make")),
    *((name, "run", word) for name in ("npm", "pnpm", "yarn") for word in ("build", "check", "lint", "test", "types")),
    *(("make", word) for word in ("build", "check", "lint", "types")),
)
RUNNING: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {program: tuple(words for words in _RUNNING if words[0] == program) for program, *_ in _RUNNING}
)
"""Program → leading words of commands that run, build or check the project: its own code, in the sandbox."""


def class_of(command: tuple[str, ...]) -> CommandClass:
    """The class of one command, which wraps no other: its words, at least one."""
    program = posixpath.basename(command[0])
    if not is_known_place(command[0]) or examine([Word(word) for word in command]).doubts:
        return "unknown"
    words = (program, *command[1:])
    if program == "git":
        return _class_of_git(git_words(command[1:]))
    if program in READING or words[:2] == ("command", "-v"):
        writes = WRITERS.get(program)
        return "changes" if writes is not None and any(writes(command[1:])) else "reads"
    if program in CHANGING or program in GONE:
        return "changes"
    return "runs" if any(words[: len(known)] == known for known in RUNNING.get(program, ())) else "unknown"


def _class_of_git(words: tuple[str, ...]) -> CommandClass:
    if not words or words[0] in _GIT_READS or words in {("branch",), ("branch", "--show-current"), ("tag",)}:
        return "reads"
    return "changes" if words[0] in _GIT_CHANGES else "unknown"


def irreversible(command: tuple[str, ...]) -> bool:
    """Whether what this command takes away cannot be had back, as far as its class is known."""
    program = posixpath.basename(command[0])
    if program != "git":
        return program in GONE
    words = git_words(command[1:])
    return bool(words) and words[0] in _GIT_LOSES and _GIT_LOSES[words[0]](words[1:])


def _given(*options: str) -> Callable[[tuple[str, ...]], bool]:
    return lambda words: not frozenset(options).isdisjoint(words)


_GIT_LOSES: Mapping[str, Callable[[tuple[str, ...]], bool]] = MappingProxyType(
    {
        "branch": _given("-d", "-D", "--delete", "-f", "--force", "-M", "-C"),
        "checkout": _given("--", ".", "-f", "--force", "-B"),
        "clean": lambda _: True,
        "push": lambda _: True,
        "rebase": lambda _: True,
        "reset": _given("--hard", "--merge", "--keep"),
        "restore": lambda words: "--staged" not in words or "--worktree" in words,
        "rm": _given("-f", "--force"),
        "stash": _given("drop", "clear"),
        "switch": _given("-f", "--force", "--discard-changes", "-C"),
        "tag": _given("-d", "--delete", "-f", "--force"),
    }
)
"""Subcommand of git → whether these words after it lose work, or send it where it cannot be taken back."""
