"""The errors for a client whose message does not follow the contract (AGT-08)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.contract.values import ErrorCode, ErrorPayload

if TYPE_CHECKING:
    from pydantic import ValidationError

_PROBLEMS_SHOWN = 8


def refuse_request(what: str, why: str, fix: str) -> ErrorPayload:
    """Returns the error for a message that cannot be used."""
    return ErrorPayload(code=ErrorCode.INVALID_REQUEST, message=f"{what}: {why}", what=what, why=why, fix=fix)


def describe_problems(error: ValidationError, whole: str = "") -> str:
    """Describes the fields that the contract refuses (the first eight), each with its problem and never its value,
    which may be a secret. A problem of the message as a whole is named `whole`, if that is given."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [
        (".".join(map(str, e["loc"])) or whole, e["msg"].removeprefix("Value error, ")) for e in found[:_PROBLEMS_SHOWN]
    ]
    shown = [f"`{place}`: {why[:1].lower()}{why[1:]}" if place else why for place, why in problems]
    more = f"; and {len(found) - _PROBLEMS_SHOWN} more" if len(found) > _PROBLEMS_SHOWN else ""
    return "; ".join(shown) + more
