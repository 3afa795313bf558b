"""What a page shows of everything that goes on in a folder: questions that wait, and the sessions of all agents."""

from __future__ import annotations

from pydantic import Field

from remit_server.contract.events import ApprovalRequired
from remit_server.contract.reviews import ReviewHunk
from remit_server.contract.values import Wire


class WaitingQuestion(Wire):
    """A question that waits for an answer, with its parts where it is about changes. An answer may leave parts out
    where the question is `by_hunk`."""

    question: ApprovalRequired
    hunks: tuple[ReviewHunk, ...]


class AgentSession(Wire):
    """A session in this folder as the audit log has it: of Remit's own agent (`remit`), or of one that calls
    `remit hook`.

    `title` is the beginning of what the person said first, as far as it was recorded. `calls` are counted by decision:
    `asked` are those that a person had to be asked about. `since` and `last` are UTC in RFC 3339.
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
