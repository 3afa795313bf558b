"""How a question ended and who or what ended it, in words for a person (CLI-05). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from remit_server.contract import Scope

_ALLOWED: Mapping[Scope, str] = {
    Scope.ONCE: "allowed once",
    Scope.SESSION: "allowed for this session",
    Scope.EDITS: "all edits of this session allowed",
    Scope.ALWAYS: "always allowed in this workspace",
    Scope.EVERYWHERE: "always allowed in every workspace",
}
_SOMEBODY: Mapping[str, str] = {
    "person": "you",
    "beforehand": "an answer from the command line",
    "standing_answer": "an answer you gave before",
    "review": "the review of the work",
}
_EVENTS: Mapping[str, str] = {
    "deadline": "nobody answered in time",
    "disconnected": "the connection was lost",
    "unavailable": "nobody was there to ask",
    "cancelled": "the turn ended",
    "withdrawn": "one of its files was renamed, deleted or created",
}


def answer_words(decision: Literal["allow", "deny"], scope: Scope, by: str, reason: str | None = None) -> str:
    """Returns one line such as "allowed once by you" or "denied: nobody answered in time". A `reason` is told in place
    of who answered. A `by` that is not known, such as one of a newer version, is told as it is."""
    how = "denied" if decision == "deny" else _ALLOWED[scope]
    if reason is None and by in _SOMEBODY:
        return f"{how} by {_SOMEBODY[by]}"
    return f"{how}: {reason or _EVENTS.get(by, by)}"
