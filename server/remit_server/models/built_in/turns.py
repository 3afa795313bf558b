"""Reads the state of a turn: the sentence, the last call and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, UserMessage


@dataclass(frozen=True, slots=True)
class Turn:
    """The last sentence of the person, and the last call for it with its result."""

    text: str
    call: ProposedCall | None = None
    result: str = ""

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
                turn = Turn(turn.text, calls[-1] if calls else None)
            case ToolMessage(_, _, text):
                turn = Turn(turn.text, turn.call, text)
            case _:
                pass
    return turn
