"""Finds what a small model copies from its examples, as if the person had named it (MOD-20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from remit_server.models.ports import UNREADABLE_CALL, Message, ToolMessage, UserMessage
from remit_server.models.steps.dialogues import DIALOGUES, FILES

EXAMPLE_TEXTS = frozenset(
    value for each in DIALOGUES for value in each.use.arguments.values() if isinstance(value, str)
) | frozenset(FILES)
"""The texts of the examples that could be taken for arguments."""
COPIED = "`{text}` is of the examples: nothing in this conversation names it"


def find_copied(arguments: Mapping[str, JsonValue], messages: Sequence[Message]) -> str | None:
    """Returns the first argument that is a text of the examples, and neither said nor shown in the conversation; None
    where there is none.

    What the model was told of its copy shows nothing: made again, the call is a copy again.
    """
    shown = [each.text for each in messages if _shows(each)]
    texts = (value for value in arguments.values() if isinstance(value, str) and value in EXAMPLE_TEXTS)
    return next((text for text in texts if not any(text in each for each in shown)), None)


def _shows(message: Message) -> bool:
    match message:
        case UserMessage():
            return True
        case ToolMessage(tool=tool):
            return tool != UNREADABLE_CALL
        case _:
            return False
