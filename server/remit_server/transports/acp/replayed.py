"""Converts a kept session's records to the protocol's updates: the whole conversation, as a client would have followed
it (TRN-12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from acp import schema

from remit_governance.intents import SELECT_INTENT, canonical_tool
from remit_governance.visible import visible, visible_again
from remit_server.contract import (
    AssistantSaid,
    CallEnded,
    CallMade,
    ChangedFile,
    FilesChanged,
    IntentDeclared,
    Named,
    NotChanged,
    Pinned,
    PrefixSent,
    QuestionAnswered,
    SessionEnd,
    SessionRecord,
    SessionStart,
    SystemSaid,
    TurnEnded,
    TurnStarted,
    UserSaid,
    Warned,
    WorkflowMoved,
)
from remit_server.harness.approval.proposed_texts import MOST_CHARS, ProposedText
from remit_server.sessions.history import Contents
from remit_server.transports.acp.updates import (
    Update,
    asked_by_person,
    call_begun,
    call_update,
    diff_of,
    in_text,
    intent_text,
    message_id,
    plan_of,
    said,
    thought,
)


@dataclass(slots=True)
class Replaying:
    """Converts a session's records to updates. `contents` has the kept contents of changed files."""

    session: str
    root: Path
    contents: Contents
    _number: int = 0
    _spoke: bool = False
    _changed: dict[str, list[ChangedFile]] = field(default_factory=dict[str, list[ChangedFile]])

    def all(self, records: Iterable[SessionRecord]) -> Iterator[Update]:
        """Yields the updates of all records."""
        moved: WorkflowMoved | None = None
        for record in records:
            self._number += 1
            moved = record if isinstance(record, WorkflowMoved) else moved
            yield from self._of(record)
        if moved is not None:
            yield from plan_of(moved.position.mode, moved.position.state)

    def _of(self, record: SessionRecord) -> Iterator[Update]:
        match record:
            case UserSaid(content=text, origin="person"):
                self._spoke = False
                yield asked_by_person(text, self._message(record.turn_id))
            case AssistantSaid(content=text) if text:
                self._spoke = True
                yield said(text, message_id(self.session, record.turn_id, record.step))
            case IntentDeclared():
                yield thought(intent_text(record.intent, record.justification), self._message(record.turn_id))
            case CallMade(name=name) | CallEnded(name=name) if canonical_tool(name) == SELECT_INTENT:
                return  # the record IntentDeclared shows it
            case CallMade() | CallEnded() | FilesChanged():
                yield from self._call(record)
            case Warned(message=text):
                yield said(f"⚠ {text}\n\n", self._message(record.turn_id))
            case TurnEnded():
                yield from self._ended(record)
            case UserSaid() | AssistantSaid() | SystemSaid() | SessionStart() | TurnStarted() | QuestionAnswered():
                return
            case PrefixSent() | Pinned() | NotChanged() | WorkflowMoved() | Named() | SessionEnd():
                return
            case _:
                assert_never(record)

    def _call(self, record: CallMade | CallEnded | FilesChanged) -> Iterator[Update]:
        match record:
            case CallMade():
                yield call_begun(self.root, record.id, record.name, record.arguments, record.parent)
            case FilesChanged():
                self._changed.setdefault(record.call_id, []).extend(record.files)
            case CallEnded():
                changed = self._changed.pop(record.id, []) if record.success else []
                texts = [text for each in changed if (text := self._text(each)) is not None]
                diffs = [diff_of(self.root, text) for text in texts]
                status: schema.ToolCallStatus = "completed" if record.success else "failed"
                yield call_update(record.id, status, diffs or [in_text(visible_again(record.output))])

    def _ended(self, record: TurnEnded) -> Iterator[Update]:
        text = "" if self._spoke else record.final_output or ""
        why = record.reason or (record.error.message if record.error else None)
        words = "\n\n".join(filter(None, (text, why and f"∅ {why}")))
        if words:
            yield said(f"{words}\n\n", self._message(record.turn_id))

    def _text(self, file: ChangedFile) -> ProposedText | None:
        before, after = (self._read(digest) for digest in (file.before, file.after))
        return None if before is None or after is None else ProposedText(file.path, visible(before), visible(after))

    def _read(self, digest: str | None) -> str | None:
        """Returns the kept text with this digest, or None if it is no text, too large, or gone."""
        data = b"" if digest is None else self.contents.get(digest)
        try:
            return None if data is None or len(data) > MOST_CHARS else data.decode()
        except UnicodeDecodeError:
            return None

    def _message(self, turn: str) -> str:
        return message_id(self.session, turn, -self._number)
