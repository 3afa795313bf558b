"""Looks for words in what sessions say; pure (SES-04)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit_server.contract import AssistantSaid, CallEnded, CallMade, SessionRecord, UserSaid
from remit_server.sessions.fork import is_message

AROUND = 60
"""Characters of text that are shown on both sides."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where the words stand: the number of the message, whose it is, and the text around them on one line."""

    message: int
    who: str
    text: str


def search(records: Sequence[SessionRecord], words: str) -> Iterator[Hit]:
    """Yields one hit for each record that has the words, in any case of letters."""
    wanted, number = words.casefold(), 0
    for record in records:
        number += is_message(record)
        for who, text in _texts(record):
            if (at := text.casefold().find(wanted)) >= 0:
                yield Hit(number, who, _excerpt(text, at, len(words)))
                break


def _texts(record: SessionRecord) -> Iterator[tuple[str, str]]:
    match record:
        case UserSaid():
            yield ("you" if record.origin == "person" else "remit"), record.content
        case AssistantSaid():
            yield "model", record.content
        case CallMade():
            yield record.name, f"{record.name} {record.arguments}"
        case CallEnded():
            yield record.name, record.output
        case _:
            return


def _excerpt(text: str, at: int, length: int) -> str:
    start, end = max(0, at - AROUND), at + length + AROUND
    shown = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"
