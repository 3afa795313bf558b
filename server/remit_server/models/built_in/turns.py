"""A turn of the built-in model: the person's sentence and the calls that were made for it (MOD-23). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from remit_governance.values import Intent
from remit_server.models.built_in.answers import taken_in_part
from remit_server.models.built_in.routes import Routed
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, ToolSpec, UserMessage

LOOKS = frozenset({"read_file", "search_files", "list_files"})
"""The tools that show files, and so do no more than look for what a sentence means."""
MOST_LINES = 5_000
"""The most lines that `read_file` shows at once."""
Offered = Mapping[Intent, tuple[ToolSpec, ...]]
"""For each intent the tools that it opens."""


def is_offered(step: Routed, offered: Offered) -> bool:
    """Returns whether the step's tool may be called under its intent."""
    return any(tool.name == step.tool for tool in offered.get(step.intent, ()))


@dataclass(frozen=True, slots=True)
class TriedCall:
    """A call and its result, which is empty until there is one."""

    call: ProposedCall
    result: str = ""

    def is_of(self, call: Routed) -> bool:
        """Returns whether it is this call."""
        return self.call.name == call.tool and dict(self.call.arguments) == dict(call.arguments)


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A sentence of the person, and the answer to it."""

    said: str
    answer: str


@dataclass(frozen=True, slots=True)
class Turn:
    """The last sentence of the person, the calls that were made for it, with their results, those that a rule made
    before it gave up, and what the person said and was answered before."""

    text: str
    tried: tuple[TriedCall, ...] = ()
    before: tuple[TriedCall, ...] = ()
    earlier: tuple[PastTurn, ...] = ()

    @property
    def call(self) -> ProposedCall | None:
        """The last call."""
        return self.tried[-1].call if self.tried else None

    @property
    def result(self) -> str:
        """The result of the last call."""
        return self.tried[-1].result if self.tried else ""

    @property
    def found(self) -> str:
        """The result of the first search."""
        return next((each.result for each in self.tried if each.call.name == "search_files" and each.result), "")

    def made(self, call: Routed) -> TriedCall | None:
        """Returns this call as it was made first, or None if it was not made."""
        return next((each for each in (*self.before, *self.tried) if each.is_of(call)), None)

    def result_of(self, call: Routed) -> str | None:
        """Returns the result of this call, or None if it was not made."""
        made = self.made(call)
        return None if made is None else made.result

    def calls_after(self, call: Routed) -> tuple[TriedCall, ...]:
        """Returns the calls that were made after this one was made first."""
        every = (*self.before, *self.tried)
        at = next((at for at, each in enumerate(every) if each.is_of(call)), len(every))
        return every[at + 1 :]

    @property
    def in_part(self) -> bool:
        """Whether the person took only a part of a change."""
        return any(taken_in_part(each.result) for each in self.tried)

    @property
    def refused(self) -> bool:
        """Whether the last call was refused or failed."""
        return self.result.startswith("error ")


def turn_of(messages: Sequence[Message]) -> Turn:
    """Returns the state of a conversation's last turn."""
    turn, earlier = Turn(""), tuple[PastTurn, ...]()
    for message in messages:
        match message:
            case UserMessage(text):
                turn = Turn(text, earlier=earlier)
            case AssistantMessage(_, calls) if calls:
                turn = replace(turn, tried=(*turn.tried, TriedCall(calls[-1])))
            case AssistantMessage(text):
                earlier = (*earlier, PastTurn(turn.text, text))[-MOST_QUESTIONS:]
            case ToolMessage(_, _, text) if turn.tried:
                *before, last = turn.tried
                turn = replace(turn, tried=(*before, TriedCall(last.call, text)))
            case _:
                pass
    return turn


MOST_QUESTIONS = 4
"""How many questions one after the other may be about one wish."""
