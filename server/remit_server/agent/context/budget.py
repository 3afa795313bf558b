"""How much of a model's window a conversation may take, in the model's own tokens (AGT-09)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remit_governance.values import Intent
from remit_server.models.ports import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage

GUESSED_TOKENS_PER_CHAR = 1 / 3
"""The guess until the model has counted twice. Most texts take fewer tokens."""

MOST_RESERVED = 4_000
CONDENSE_AT = 0.7
KEPT_RECENT = 0.3
_PER_CHAR = (0.1, 1.5)
_TELLING_CHARS = 500
"""How many characters two counts must differ by before the tokens of a character are computed from them."""
_FRAME_CHARS = 24
"""Characters that a message takes besides its text, for its role and markers."""


@dataclass(frozen=True, slots=True)
class Count:
    """The tokens of a prompt by the model's own count, the characters of its messages, and tokens per further
    character."""

    chars: int
    tokens: int
    per_char: float = GUESSED_TOKENS_PER_CHAR

    def estimate(self, chars: int) -> int:
        """Returns the estimated tokens of a prompt whose messages have `chars` characters."""
        return max(round(self.tokens + (chars - self.chars) * self.per_char), 0)

    def then(self, chars: int, tokens: int) -> Count:
        """Returns the next count, with the tokens per character that follow from both counts."""
        if abs(chars - self.chars) < _TELLING_CHARS:
            return Count(chars, tokens, self.per_char)
        least, most = _PER_CHAR
        return Count(chars, tokens, min(max((tokens - self.tokens) / (chars - self.chars), least), most))


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a window: all of them, those reserved for the answer, and those that the standing instructions and
    the tools take."""

    window: int
    reserved: int
    standing: int = 0

    @classmethod
    def of(cls, window: int, max_tokens: int, standing: int = 0) -> Budget:
        """Returns the budget of a window in which an answer may take up to `max_tokens`."""
        return cls(window, min(max_tokens, MOST_RESERVED, window // 4), standing)

    @property
    def room(self) -> int:
        """Tokens that the messages may take."""
        return max(self.window - self.reserved - self.standing, 0)

    @property
    def threshold(self) -> int:
        """Tokens of a prompt above which the conversation is condensed."""
        return self.standing + int(self.room * CONDENSE_AT)

    @property
    def recent(self) -> int:
        """Tokens that the newest messages, which stay as they are, may take."""
        return int(self.room * KEPT_RECENT)


def count_chars(messages: Iterable[Message]) -> int:
    """Returns the number of characters of the messages as a prompt spells them."""
    return sum(map(_chars, messages))


def tools_chars(intents: Mapping[Intent, tuple[ToolSpec, ...]]) -> int:
    """Returns the number of characters of the descriptions of the tools, each tool counted once."""
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return sum(
        len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters))) for tool in tools.values()
    )


def _chars(message: Message) -> int:
    match message:
        case SystemMessage(text=text) | UserMessage(text=text) | ToolMessage(text=text):
            return len(text) + _FRAME_CHARS
        case AssistantMessage(text=text, calls=calls):
            spelled = sum(len(call.name) + len(json.dumps(dict(call.arguments))) + _FRAME_CHARS for call in calls)
            return len(text) + spelled + _FRAME_CHARS
