"""What the harness needs from the runtime: a place for events, a history, and a person to ask (APP-02)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from remit_governance.permissions.permissions import PermissionRule
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import NOBODY_KNOWS, AgentWork, TestFiles
from remit_server.contract import ApprovalAnswer, ApprovalRequired, ErrorCode, Event, WorkflowMoved
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange
from remit_server.workspace.history import History, NoHistory

Emit = Callable[[Event], None]
"""Takes each event of a turn, in order, without blocking. An exception means the client is lost."""

AskingStyle = Literal["stream", "callback", "beforehand", "never"]


class CannotAsk(ToolError):
    """A question that this transport cannot put. It counts as a deny, but not as the person's."""

    code = ErrorCode.APPROVAL_UNAVAILABLE


class KeptHistory(History, Protocol):
    """A session's history, with what the harness adds to it."""

    async def keep(self, call_id: str, changes: Sequence[FileChange], undoes: Sequence[str] = ()) -> str:
        """Keeps the contents of files before and after a change, before the files change; returns the change set's
        name.

        Raises OSError.
        """
        ...

    def keep_left(self, change: str, paths: Sequence[str]) -> None:
        """Keeps which files of a change set were not changed after all."""
        ...

    async def keep_tests(self, tests: TestFiles) -> None:
        """Keeps the test files that a proof is about. If that fails, a later server does not take the proof up
        again."""
        ...

    async def agent_work(self, now: TestFiles) -> AgentWork:
        """Returns what this session and all others of the workspace changed in these test files."""
        ...

    def keep_position(self, position: Position) -> None:
        """Keeps the position in the workflow that the session is about to take (FLW-12)."""
        ...

    def positions(self) -> Sequence[WorkflowMoved]:
        """Returns the last positions that were kept, the oldest first."""
        ...

    def tests(self, digest: str) -> TestFiles | None:
        """Returns the test files with this digest, or None if not all of them were kept."""
        ...


class NothingKept(NoHistory):
    """The history of a session that is not saved."""

    async def keep(self, call_id: str, changes: Sequence[FileChange], undoes: Sequence[str] = ()) -> str:
        """Keeps nothing."""
        del changes, undoes
        return call_id

    def keep_left(self, change: str, paths: Sequence[str]) -> None:
        """Keeps nothing."""
        del change, paths

    async def keep_tests(self, tests: TestFiles) -> None:
        """Keeps nothing."""
        del tests

    async def agent_work(self, now: TestFiles) -> AgentWork:
        """Returns that it is not known."""
        del now
        return NOBODY_KNOWS

    def keep_position(self, position: Position) -> None:
        """Keeps nothing."""
        del position

    def positions(self) -> Sequence[WorkflowMoved]:
        """Returns none."""
        return ()

    def tests(self, digest: str) -> TestFiles | None:
        """Returns none."""
        del digest
        return None


class Keep(Protocol):
    """Writes a permanent answer into the person's permission file."""

    async def __call__(self, rule: PermissionRule, decision: Literal["allow", "deny"]) -> str | None:
        """Writes exactly this rule and puts it in force. Returns None, or in words why that failed."""
        ...


class Asker(Protocol):
    """How a client is asked for approvals, by its style.

    `stream`: the client reads `approval_required` events and answers through `Runtime.answer`;
    `callback`: the harness calls `ask`, and the transport puts the question by its own means;
    `beforehand`: like `callback`, but the person gave the answer before there was a question;
    `never`: nobody can be asked, so each question is shown and denied at once, because of `unasked`.
    """

    @property
    def style(self) -> AskingStyle:
        """The style in which this client is asked."""
        ...

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Puts the question (styles `callback` and `beforehand` only). None means that the person closed it: a deny.

        Raises CannotAsk if not all of the question can be shown.
        """
        ...


@dataclass(frozen=True, slots=True)
class Unasked:
    """Why a client is not asked, and what would change that, in words for a person."""

    why: str = "nobody can be asked here"
    fix: str = "run it in an editor or a terminal, use `--approve session`, or allow it in the policy"


NEVER_ASK = Unasked(
    "`--approve never` answers no to every question",
    "leave out `--approve never`, or allow it in the policy",
)
"""For a command or a server that was started with `--approve never`."""


@dataclass(frozen=True, slots=True)
class NobodyToAsk:
    """The asker of a client that cannot be asked, or that is not to be asked."""

    unasked: Unasked = Unasked()
    style: AskingStyle = "never"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Returns no answer, which is a deny."""
        del question
        return None


def why_unasked(asker: Asker) -> Unasked:
    """Returns why an asker of the style `never` does not ask."""
    unasked: object = getattr(asker, "unasked", None)
    return unasked if isinstance(unasked, Unasked) else Unasked()


class StreamAsker:
    """The asker of a client that answers through `Runtime.answer`."""

    style: AskingStyle = "stream"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Never called in this style."""
        raise AssertionError(f"asked out of the stream: {question.approval_id}")
