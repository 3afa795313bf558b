"""Reads the state of a turn: the sentence, the last call and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit_server.models.built_in.answers import taken_in_part
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, UserMessage


@dataclass(frozen=True, slots=True)
class Turn:
    """The last sentence of the person, the last call for it with its result, what its first search found, and whether
    the person took a change of it `in_part`."""

    text: str
    call: ProposedCall | None = None
    result: str = ""
    made: int = 0
    found: str = ""
    in_part: bool = False

    @property
    def refused(self) -> bool:
        """Whether the last call was refused or failed."""
        return self.result.startswith("error ")


def turn_of(messages: Sequence[Message]) -> Turn:
    """Returns the state of a conversation's last turn."""
    turn = Turn("")
    for message in messages:
        match message:
            case UserMessage(text):
                turn = Turn(text)
            case AssistantMessage(_, calls):
                turn = replace(turn, call=calls[-1] if calls else None, result="", made=turn.made + bool(calls))
            case ToolMessage(_, tool, text):
                found = text if tool == "search_files" and not turn.found else turn.found
                turn = replace(turn, result=text, found=found, in_part=turn.in_part or taken_in_part(text))
            case _:
                pass
    return turn
