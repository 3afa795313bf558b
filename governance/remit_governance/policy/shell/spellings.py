"""Words that mean the same to a program: modes of files, signals, refspecs of git (CMD-03)."""

from __future__ import annotations

import re

_SIGNALS = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE"),
    *("KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM"),
)
"""By number, from 1 on. Linux and macOS agree on them except for 7, 10 and 12, which are Linux's here."""
_CLAUSE = re.compile(r"([ugoa]*)([-+=])([rwxX]*)")
_BITS = {"r": 4, "w": 2, "x": 1, "X": 1}
_PLACES = {"u": 6, "g": 3, "o": 0}


def signal_name(text: str) -> str:
    """Returns the name of a signal without `SIG`: `KILL` for `9`, `KILL`, `SIGKILL` and `sigkill`."""
    if text.isdigit() and 0 < int(text) <= len(_SIGNALS):
        return _SIGNALS[int(text) - 1]
    return text.upper().removeprefix("SIG")


def mode_spellings(text: str) -> set[str]:
    """Returns the spellings of a file's mode: as written, and in octal without leading zeros.

    A symbolic mode that only adds or sets bits is given as the bits that it adds, so `a+rwx` gives `777`.
    """
    if re.fullmatch("[0-7]+", text):
        return {text, text.lstrip("0") or "0"}
    clauses = [_CLAUSE.fullmatch(part) for part in text.split(",")]
    bits = 0
    for clause in clauses:
        if clause is None or clause[2] == "-":
            return {text}
        given = sum({_BITS[letter] for letter in clause[3]})
        whom = set("ugo") if not clause[1] or "a" in clause[1] else set(clause[1])
        for each in whom:
            bits |= given << _PLACES[each]
    return {text, f"{bits:o}"}


def refspec_spellings(text: str) -> tuple[set[str], set[str]]:
    """Returns the names of the branch that a refspec of `git push` changes, and the options that its `+` or its empty
    source stands for."""
    plain = text.removeprefix("+")
    source, colon, target = plain.partition(":")
    implied = {"--force"} if text.startswith("+") else set[str]()
    if colon and not source:
        implied.add("--delete")
    branch = target or source
    return {text, plain, branch, branch.removeprefix("refs/heads/"), branch.removeprefix("refs/tags/")}, implied
