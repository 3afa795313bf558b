"""A command line as policy sees it: its words where they are plain, the whole text under a shell where they are not
(governance.md §2, Commands).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence

from remit_governance.policy.shell.programs import git_words

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ \t'\"-]*", re.ASCII)
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
    """Whether this is a text that only a shell knows the meaning of. No rule can have meant to allow it."""
    return command is not None and command[:2] == _SCRIPT


def command_prefix(text: str) -> tuple[str, ...]:
    """The leading words a rule's `command` names. Raises ValueError where there are none, or its quotes are open."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        words = ()
    if not words:
        raise ValueError(f"the command `{text}` has no words: write the words a command starts with")
    return words


def resembles(command: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """Whether a rule that stops `prefix` means this command, too: the program wherever it is kept, its options in any
    order, bundled or spelled out, its other words from the first on. A word behind an option may be its value.
    """
    if not command or posixpath.basename(command[0]) not in {prefix[0], posixpath.basename(prefix[0])}:
        return False
    words = ("git", *git_words(command[1:])) if prefix[0] == "git" else command
    wanted = [word for word in prefix[1:] if not word.startswith("-")]
    given = _options(words[1:])
    return _begin(words[1:], wanted) and all(_among(word, given) for word in prefix[1:] if word.startswith("-"))


def _begin(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the words that are no options, or may be none, begin with those that are wanted."""
    # How many were found, and whether the next word may be an option's value.
    states = {(0, False)}
    for word in words:
        found = {(count, False) for count, value in states if value}
        if word.startswith("-"):
            found |= {(count, "=" not in word) for count, _ in states}
        else:
            found |= {(count + 1, False) for count, _ in states if wanted[count : count + 1] == [word]}
        states = found | {state for state in states if state[0] == len(wanted)}
    return any(count == len(wanted) for count, _ in states)


def _among(option: str, given: frozenset[str]) -> bool:
    """Whether the option is among those given, as it is or in another spelling."""
    other = _options((option,)) - {option}
    cut = any(len(each) > 2 and option.startswith(each) for each in given if each.startswith("--"))
    return option in given or cut or (bool(other) and other <= given)


_LETTERS = {"--recursive": "-r", "-R": "-r", "--force": "-f", "--all": "-a", "--delete": "-d"}


def _options(words: tuple[str, ...]) -> frozenset[str]:
    """The options among the words: letters one by one, long names without their values."""
    found: set[str] = set()
    for word in words:
        if word.startswith("--"):
            found.add(word.partition("=")[0])
        elif word.startswith("-"):
            found |= {word, *(f"-{letter}" for letter in word[1:])}
    # Long names may be cut short, as getopt allows.
    return frozenset(found | {_LETTERS[name] for name in _LETTERS for option in found if _names(option, name)})


def _names(option: str, name: str) -> bool:
    return option == name or (len(option) > 2 and option.startswith("--") and name.startswith(option))


def starts_with(command: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """Whether the leading words of `command` are exactly `prefix`."""
    return command[: len(prefix)] == prefix
