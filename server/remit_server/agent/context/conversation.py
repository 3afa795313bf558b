"""A session's conversation: all of its messages, and those that the model is sent (AGT-09)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from remit_server.agent.context.budget import Count, count_chars
from remit_server.models.ports import Message, UserMessage


@dataclass(frozen=True, slots=True)
class Condensed:
    """The prefix that is sent in place of the messages before `upto`. It begins with the system message."""

    prefix: tuple[Message, ...]
    upto: int


Entry = Message | Condensed
"""One thing that is added to a conversation."""


def keep_nothing(entry: Entry, words: str | None) -> None:
    """Does nothing: the `keep` of a conversation that is not saved."""


@dataclass(slots=True)
class Conversation:
    """All messages of a session so far, oldest first. Messages are only appended; condensing changes only what is sent.

    `counted` is the model's last count, or None until it has counted. `pins` are sent as they are. `keep` gets each
    entry, and for a message of the person the words that are their own.
    """

    messages: list[Message] = field(default_factory=list[Message])
    condensed: Condensed | None = None
    pins: tuple[str, ...] = ()
    counted: Count | None = None
    keep: Callable[[Entry, str | None], None] = keep_nothing
    _chars: list[int] = field(default_factory=list[int], init=False, repr=False, compare=False)
    """Characters of each of the first messages, kept so that each message is counted only once."""

    def say(self, message: Message, words: str | None = None) -> None:
        """Appends a message. `words` are the person's own words in it, or None for a message that Remit or the model
        wrote."""
        self.messages.append(message)
        self.keep(message, words)

    def condense(self, condensed: Condensed) -> None:
        """Sends `condensed` from now on in place of the messages before its `upto`."""
        self.condensed = condensed
        self.keep(condensed, None)

    @property
    def asked(self) -> tuple[str, ...]:
        """The person's messages, without what an editor or an attachment added below them."""
        return tuple(each.text.partition("\n\n")[0] for each in self.messages if isinstance(each, UserMessage))

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages that the model is sent."""
        if self.condensed is None:
            return tuple(self.messages)
        return (*self.condensed.prefix, *self.messages[self.condensed.upto :])

    @property
    def sent_chars(self) -> int:
        """The number of characters of the messages that the model is sent."""
        self._chars += [count_chars((message,)) for message in self.messages[len(self._chars) :]]
        if self.condensed is None:
            return sum(self._chars)
        return count_chars(self.condensed.prefix) + sum(self._chars[self.condensed.upto :])
