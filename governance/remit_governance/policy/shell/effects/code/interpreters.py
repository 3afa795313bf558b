"""Interpreters that are given code on their command line: little of it only shows something, or runs the project."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit_governance.policy.shell.catalogue.rows import Effect
from remit_governance.policy.shell.effects.code.languages import of_code

Words = Sequence[str]


def of_node(arguments: Words) -> Effect | None:
    """A check, the project's tests, or code that only shows something."""
    match list(arguments):
        case ["-v" | "--version" | "-h" | "--help"]:
            return "reads"
        case ["--check" | "-c", _]:
            return "reads"
        case ["--test", *_]:
            return "runs"
        case ["-e" | "--eval" | "-p" | "--print" | "-pe", code]:
            return of_code("node", code)
        case _:
            return "unknown"


def of_ruby(arguments: Words) -> Effect | None:
    """A constant that is printed."""
    match list(arguments):
        case ["-e", code]:
            return of_code("ruby", code)
        case _:
            return None


_PERL_LOOPS = re.compile(r"-[npla0]*e")


def of_perl(arguments: Words) -> Effect | None:
    """Lines that are chosen or changed, and printed."""
    match list(arguments):
        case [option, code, *files] if _PERL_LOOPS.fullmatch(option) and not any(
            set(file) & set("|<>&") or file[:1] in "-+" for file in files
        ):
            return of_code("perl", code)
        case _:
            return None


def of_julia(arguments: Words) -> Effect | None:
    """The package's own tests, and what is installed."""
    match [word for word in arguments if word not in {"--project", "--project=.", "-q"}]:
        case ["-e", code]:
            return of_code("julia", code)
        case _:
            return None


def of_r(arguments: Words) -> Effect:
    """The package's own tests, and what is installed."""
    match [word for word in arguments if word != "--vanilla"]:
        case ["-e", code]:
            return of_code("r", code)
        case ["--version"]:
            return "reads"
        case _:
            return "unknown"
