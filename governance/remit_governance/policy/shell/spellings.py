"""Words that mean the same to a program: modes of files, signals, refspecs of git (CMD-03)."""

from __future__ import annotations

import re

_SIGNALS = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE"),
    *("KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM"),
)
"""By number, from 1 on, as every Linux and macOS has them but for 7, 10 and 12."""
_CLAUSE = re.compile(r"([ugoa]*)([-+=])([rwxX]*)")
_BITS = {"r": 4, "w": 2, "x": 1, "X": 1}
_PLACES = {"u": 6, "g": 3, "o": 0}


def signal_name(text: str) -> str:
    """Returns a signal by its name without `SIG`: of `9`, `KILL`, `SIGKILL` and `sigkill` always `KILL`."""
    if text.isdigit() and 0 < int(text) <= len(_SIGNALS):
        return _SIGNALS[int(text) - 1]
    return text.upper().removeprefix("SIG")


def mode_spellings(text: str) -> set[str]:
    """Returns a file's mode as written, and in octal without leading zeros where it is one: `a+rwx` is 777 at the
    least."""
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
    """Returns the branch that a refspec of `git push` changes, by each of its names, and the options its signs stand
    for."""
    plain = text.removeprefix("+")
    source, colon, target = plain.partition(":")
    implied = {"--force"} if text.startswith("+") else set[str]()
    if colon and not source:
        implied.add("--delete")
    branch = target or source
    return {text, plain, branch, branch.removeprefix("refs/heads/"), branch.removeprefix("refs/tags/")}, implied
