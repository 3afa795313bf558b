"""A session's conversation: all of it, and what of it the model is sent (AGT-09)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from remit_server.agent.context.budget import Count, count_chars
from remit_server.models.ports import Message


@dataclass(frozen=True, slots=True)
class Condensed:
    """The messages before `upto` as they are sent now: the new prefix, the system message first."""

    prefix: tuple[Message, ...]
    upto: int


Entry = Message | Condensed
"""What a conversation goes on by."""


def keep_nothing(entry: Entry, words: str | None) -> None:
    """Keeps nothing of a conversation that is not saved."""


@dataclass(slots=True)
class Conversation:
    """What a session has said so far, oldest first; only ever appended to. Condensing changes what is sent, never this.

    `counted` is the model's last count, None until it counted. `pins` are sent as they are. `keep` is told of each
    entry, and of the person's words where a message holds more than them.
    """

    messages: list[Message] = field(default_factory=list[Message])
    condensed: Condensed | None = None
    pins: tuple[str, ...] = ()
    counted: Count | None = None
    keep: Callable[[Entry, str | None], None] = keep_nothing
    _chars: list[int] = field(default_factory=list[int], init=False, repr=False, compare=False)
    """Characters of each message, the first ones: what is said once is counted once."""

    def say(self, message: Message, words: str | None = None) -> None:
        """Appends a message; `words` are the person's own ones in it, None for a message of Remit's."""
        self.messages.append(message)
        self.keep(message, words)

    def condense(self, condensed: Condensed) -> None:
        """Sends this in place of the messages before its end."""
        self.condensed = condensed
        self.keep(condensed, None)

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages that the model is sent."""
        if self.condensed is None:
            return tuple(self.messages)
        return (*self.condensed.prefix, *self.messages[self.condensed.upto :])

    @property
    def sent_chars(self) -> int:
        """What the messages that the model is sent come to in characters."""
        self._chars += [count_chars((message,)) for message in self.messages[len(self._chars) :]]
        if self.condensed is None:
            return sum(self._chars)
        return count_chars(self.condensed.prefix) + sum(self._chars[self.condensed.upto :])

    def rewind(self) -> None:
        """Sends everything again."""
        self.condensed = None
