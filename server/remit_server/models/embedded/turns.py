"""Reads the state of a turn: the request, the last call and its result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from remit_server.models.embedded.requests import Request, parse_request
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, UserMessage

_SHOWN = re.compile(r"(\d+)[|:](.*)")


@dataclass(frozen=True, slots=True)
class Turn:
    """The last request, the last call for it with its result, and the preceding search, if there was one."""

    request: Request
    call: ProposedCall | None = None
    result: str = ""
    searched: str = ""

    @property
    def refused(self) -> bool:
        """Whether the last call was refused or failed."""
        return self.result.startswith("error ")

    @property
    def shown(self) -> tuple[int, str] | None:
        """The single numbered line in the result, if there is exactly one."""
        lines = [match for text in self.result.split("\n")[1:] if (match := _SHOWN.fullmatch(text))]
        return (int(lines[0][1]), lines[0][2]) if len(lines) == 1 else None


def turn_of(messages: Sequence[Message]) -> Turn:
    """Returns the state of a conversation's last turn."""
    request, call, result, searched = "", None, "", ""
    for message in messages:
        match message:
            case UserMessage(text):
                request, call, result, searched = text, None, "", ""
            case AssistantMessage(_, calls):
                call = calls[-1] if calls else None
                searched = str(call.arguments.get("pattern", searched)) if call else ""
            case ToolMessage(_, _, text):
                result = text
            case _:
                pass
    return Turn(parse_request(request), call, result, searched)
