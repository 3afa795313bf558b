"""A session's messages, counted from 1: copies them up to a message as the beginning of a new session, and searches
them for words; pure (SES-04).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit_server.contract import (
    AssistantSaid,
    CallEnded,
    CallMade,
    ErrorCode,
    ForkedFrom,
    Named,
    SessionEnd,
    SessionRecord,
    SessionStart,
    TurnStarted,
    UserSaid,
    WorkflowMoved,
)
from remit_server.counted import counted
from remit_server.sessions.session_file import SessionError


def is_message(record: SessionRecord) -> bool:
    """Returns whether a record is a message of the person or the model. Only these are counted, from 1."""
    return isinstance(record, UserSaid | AssistantSaid)


def fork(records: Sequence[SessionRecord], session_id: str, now: str, upto: int | None = None) -> list[SessionRecord]:
    """Returns the records of a new session: the first `upto` messages (None: all), and the records that follow the
    last.

    The new session begins the workflow anew, because proofs of one session must not count in another (FLW-12).

    Raises SessionError if there are fewer messages.
    """
    start = next((each for each in records if isinstance(each, SessionStart)), None)
    total = sum(map(is_message, records))
    if start is None or (upto is not None and not 0 < upto <= total):
        why = "its file does not say which session it is" if start is None else f"it has {counted(total, 'message')}"
        known = f"give a number from 1 to {total}" if total else "say something in it first"
        fix = "take a session that `remit session list` shows" if start is None else known
        raise SessionError("the session cannot be forked there", why, fix, code=ErrorCode.INVALID_REQUEST)
    count = total if upto is None else upto
    update = {"session_id": session_id, "timestamp": now}
    first = start.model_copy(update=update | {"forked_from": ForkedFrom(session_id=start.session_id, message=count)})
    kept, seen = list[SessionRecord]([first]), 0
    for record in records:
        seen += is_message(record)
        if seen > count:
            break
        if not isinstance(record, SessionStart | SessionEnd | Named | WorkflowMoved):
            kept.append(record)
    # Leave out the beginning of a turn whose first message is not copied.
    while isinstance(kept[-1], TurnStarted):
        kept.pop()
    return kept


AROUND = 60
"""Characters of text that are shown on each side of a hit."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place with the words: the number of its message, who wrote it, and the text around the words on one line."""

    message: int
    who: str
    text: str


def search(records: Sequence[SessionRecord], words: str) -> Iterator[Hit]:
    """Yields one hit for each record that has all the words, in any order and in upper or lower case. For a call, the
    tool's name counts too. The shown text is the one around the first of the words that stands in the text."""
    wanted, number = words.casefold().split(), 0
    for record in records:
        number += is_message(record)
        for who, text in _texts(record):
            said, named = text.casefold(), who if isinstance(record, CallMade) else ""
            if wanted and all(word in said or word in named for word in wanted):
                first = next((word for word in wanted if word in said), "")
                yield Hit(number, who, _excerpt(text, said.find(first), len(first)))
                break


def _texts(record: SessionRecord) -> Iterator[tuple[str, str]]:
    match record:
        case UserSaid():
            yield ("you" if record.origin == "person" else "remit"), record.content
        case AssistantSaid():
            yield "model", record.content
        case CallMade():
            yield record.name, json.dumps(record.arguments, ensure_ascii=False)
        case CallEnded():
            yield record.name, record.output
        case _:
            return


def _excerpt(text: str, at: int, length: int) -> str:
    start, end = max(0, at - AROUND), at + length + AROUND
    shown = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"
