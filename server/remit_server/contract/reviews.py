"""Waiting questions about changes, as clients list them and answer them in parts (LSP-14).

It also has what the page of `remit http` shows of a folder: waiting questions, and the sessions of all agents.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from remit_server.contract.events import ApprovalRequired
from remit_server.contract.requests import LeftOut
from remit_server.contract.values import FileDiff, Wire


class ReviewListRequest(Wire):
    """`remit/review/list`: asks for the waiting questions of one workspace folder, or of all if it is null."""

    workspace_folder: str | None = None


class ReviewHunksRequest(Wire):
    """`remit/review/hunks`: asks for the parts of one question, each with its text."""

    approval_id: str


class ReviewResolveRequest(Wire):
    """`remit/review/resolve`: the answer to one question. An `allow` is for once, a `deny` for the whole question.

    Without `left_out`, the parts that `remit.review.toggle` left out so far stay out. `comment` is for the model.
    """

    approval_id: str
    decision: Literal["allow", "deny"]
    digest: str | None = None
    left_out: tuple[LeftOut, ...] | None = Field(default=None, max_length=1_000)
    comment: str | None = Field(default=None, max_length=2_000)


class ReviewPart(Wire):
    """A hunk, or with `hunk` null a whole file; `line` is the first changed line of the present text."""

    path: str
    hunk: int | None
    line: int | None
    left_out: bool
    comment: str | None


class ReviewDocument(Wire):
    """The addresses of one file's text as it is and as it would be, for `workspace/textDocumentContent`."""

    path: str
    before: str
    after: str


class WaitingReview(Wire):
    """One question about changes; `parts` is empty if it can be answered only as a whole.

    `documents` is empty for a client that cannot read such documents.
    """

    approval_id: str
    digest: str
    title: str
    workspace_folder: str
    deadline: str
    taken: int
    parts: tuple[ReviewPart, ...]
    diffs: tuple[FileDiff, ...]
    documents: tuple[ReviewDocument, ...]


class ReviewList(Wire):
    """The answer to `remit/review/list`, the oldest question first."""

    reviews: tuple[WaitingReview, ...]


class ReviewHunk(Wire):
    """A part with its text: a hunk of a unified diff, or the whole diff of a file."""

    path: str
    hunk: int | None
    line: int | None
    left_out: bool
    comment: str | None
    text: str


class ReviewHunks(Wire):
    """The answer to `remit/review/hunks`."""

    approval_id: str
    digest: str
    by_hunk: bool
    hunks: tuple[ReviewHunk, ...]


class WaitingQuestion(Wire):
    """A question that waits for an answer, with its parts if it is about changes. An answer may leave parts out if the
    question is `by_hunk`."""

    question: ApprovalRequired
    hunks: tuple[ReviewHunk, ...]


class AgentSession(Wire):
    """A session in this folder as the audit log has it: of Remit's own agent (`remit`), or of an agent that calls
    `remit hook`.

    `title` is the beginning of what the person said first, as far as it was recorded. `asked` and `denied` count the
    `calls` that a person had to be asked about, and those that were denied. `since` and `last` are UTC in RFC 3339.
    """

    agent: str
    session_id: str
    title: str
    since: str
    last: str
    calls: int = Field(ge=0)
    asked: int = Field(ge=0)
    denied: int = Field(ge=0)
    ended: bool
