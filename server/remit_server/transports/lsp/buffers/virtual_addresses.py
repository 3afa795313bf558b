"""The addresses of virtual documents, which are no files (LSP-14); pure.

`remit-review:/ID/question.diff` is a whole question. `remit-review:/ID/before/PATH` is a file's present text, and
`…/after/PATH` its text with the parts taken so far. `remit-audit:/NUMBER` describes a call as `remit audit why` does;
if several folders are open, `?workspace_folder=…` names one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, quote, unquote, urlsplit

REVIEW = "remit-review"
AUDIT = "remit-audit"
SCHEMES = (REVIEW, AUDIT)
QUESTION = "question.diff"
Side: TypeAlias = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class QuestionDocument:
    """A whole question."""

    approval_id: str


@dataclass(frozen=True, slots=True)
class FileDocument:
    """One side of a file that a question is about."""

    approval_id: str
    side: Side
    path: str


@dataclass(frozen=True, slots=True)
class CallDocument:
    """A call of the audit log, by its id or the number of any of its records; `folder` is a workspace folder."""

    call: str
    folder: str | None


def question_uri(approval_id: str) -> str:
    """Returns the address of a whole question."""
    return f"{REVIEW}:/{quote(approval_id, safe='')}/{QUESTION}"


def file_uri(approval_id: str, side: Side, path: str) -> str:
    """Returns the address of one side of a file."""
    return f"{REVIEW}:/{quote(approval_id, safe='')}/{side}/{quote(path)}"


def parse_address(uri: str) -> QuestionDocument | FileDocument | CallDocument | None:
    """Returns the document that an address names, in any percent-encoding, or None if it names none."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path).removeprefix("/")
    match (parts.scheme, path.split("/", 2)):
        case ("remit-review", [name, "question.diff"]) if name:
            return QuestionDocument(name)
        case ("remit-review", [name, ("before" | "after") as side, file]) if name and file:
            return FileDocument(name, side, file)
        case ("remit-audit", [call]) if call:
            folders = parse_qs(unquote(parts.query)).get("workspace_folder", [None])
            return CallDocument(call, folders[0])
        case _:
            return None
