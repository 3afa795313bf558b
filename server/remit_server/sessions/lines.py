"""Lines of a session file: records to bytes and back. Lines that cannot be read are told of, and skipped (SES-03)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from remit_server.contract import FilesChanged, NotChanged, SessionRecord

_RECORDS: TypeAdapter[SessionRecord] = TypeAdapter(SessionRecord, config=ConfigDict(defer_build=True))
Redact = Callable[[list[Any]], list[Any]]
"""Takes secrets out of JSON values; gives as many back."""

MAX_TOLD = 5
"""Bad lines that are told of by number; the others are counted."""


def _as_it_is(values: list[Any]) -> list[Any]:
    return values


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record of a session, counted from 1."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds: its records, and the lines that are none. `torn` are the bytes behind the last whole line."""

    records: tuple[SessionRecord, ...]
    bad: tuple[BadLine, ...] = ()
    torn: int = 0

    @property
    def problem(self) -> str | None:
        """Returns in words what was skipped; None where nothing was."""
        if not self.bad:
            return None
        numbers = ", ".join(str(line.number) for line in self.bad[:MAX_TOLD])
        more = f" and {len(self.bad) - MAX_TOLD} more" if len(self.bad) > MAX_TOLD else ""
        return f"line {numbers}{more} of the session's file cannot be read and was skipped: {self.bad[0].why}"


def to_lines(records: Iterable[SessionRecord], redact: Redact = _as_it_is) -> bytes:
    """Returns the records as lines, without secrets wherever they stand, in keys that somebody else chose too.

    What undo goes by (paths, digests) stays as it is: a file could not be found by another name. Half a surrogate pair,
    which no UTF-8 can hold, becomes a question mark.
    """
    return b"".join(_to_line(record, redact) for record in records)


def _to_line(record: SessionRecord, redact: Redact) -> bytes:
    data = record.model_dump(mode="json")
    if not isinstance(record, FilesChanged | NotChanged):
        # A record's own keys are ours, and are left as they are.
        data = dict(zip(data, redact(list(data.values())), strict=True))
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def parse_lines(data: bytes, first: int = 1, *, of: Sequence[str] = ()) -> Lines:
    """Parses a file, or its end from line `first` on; with `of` the lines alone that may be records of these types.
    Never raises: what cannot be read is in `bad`.
    """
    marks = [f'"type":"{kind}"'.encode() for kind in of]
    whole, newline, rest = data.rpartition(b"\n")
    records: list[SessionRecord] = []
    bad: list[BadLine] = []
    for number, line in enumerate(whole.split(b"\n") if newline else (), first):
        if not line.strip() or (marks and not any(mark in line for mark in marks)):
            continue
        try:
            records.append(_RECORDS.validate_json(line))
        except ValidationError as error:
            bad.append(
                BadLine(number, error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"])
            )
    return Lines(tuple(records), tuple(bad), len(rest))
