"""The errors for a client whose message does not follow the contract (AGT-08)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from remit_server.contract.values import ErrorCode, ErrorPayload

if TYPE_CHECKING:
    from pydantic import ValidationError

_PROBLEMS_SHOWN = 8
MOST_NAME = 80
_MOST_PARTS = 10
_MOST_SAID = 1_000


def refuse_request(what: str, why: str, fix: str) -> ErrorPayload:
    """Returns the error for a message that cannot be used."""
    return ErrorPayload(code=ErrorCode.INVALID_REQUEST, message=f"{what}: {why}", what=what, why=why, fix=fix)


def bounded_name(name: str) -> str:
    """Returns a name that somebody else chose, or its length if it is too long to be told. A part of it is not told,
    because that may be half of a secret."""
    return name if len(name) <= MOST_NAME else f"({len(name):,} characters)"


def place_of(location: Iterable[int | str]) -> str:
    """Returns where in a message a problem is, as names with dots between them; empty for the whole message."""
    parts = list(location)
    names = [bounded_name(str(part)) for part in parts[:_MOST_PARTS]]
    return ".".join((*names, "…") if len(parts) > _MOST_PARTS else names)


def bounded_problem(said: str) -> str:
    """Returns what a library says about a value, or less if the value itself is in it and long."""
    return said if len(said) <= _MOST_SAID else f"it cannot be used ({len(said):,} characters say why)"


def describe_problems(error: ValidationError, whole: str = "") -> str:
    """Describes the fields that the contract refuses (the first eight), each with its problem and never its value,
    which may be a secret. A problem of the message as a whole is named `whole`, if that is given."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    taken = found[:_PROBLEMS_SHOWN]
    problems = [(place_of(e["loc"]) or whole, bounded_problem(e["msg"].removeprefix("Value error, "))) for e in taken]
    shown = [f"`{place}`: {why[:1].lower()}{why[1:]}" if place else why for place, why in problems]
    more = f"; and {len(found) - _PROBLEMS_SHOWN} more" if len(found) > _PROBLEMS_SHOWN else ""
    return "; ".join(shown) + more
