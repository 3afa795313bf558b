"""What the harness asks of whoever runs it: a place for events, and a person to ask (APP-02)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """A question that cannot be put by the means of this transport: it is a deny, and not the person's."""

    code = ErrorCode.APPROVAL_UNAVAILABLE


class KeptHistory(History, Protocol):
    """A session's history, as the harness adds to it."""

    async def keep(self, call_id: str, changes: Sequence[FileChange], undoes: Sequence[str] = ()) -> str:
        """Keeps what files hold and will hold, before they change; returns the name of this change set.

        Raises OSError.
        """
        ...

    def keep_left(self, change: str, paths: Sequence[str]) -> None:
        """Keeps which files of a change set were left as they were."""
        ...

    async def keep_tests(self, tests: TestFiles) -> None:
        """Keeps the files of tests that a proof is of. Where that cannot be done, the proof is not taken up again."""
        ...

    async def agent_work(self, now: TestFiles) -> AgentWork:
        """Returns what this session and all others of the workspace changed in these files of tests."""
        ...

    def keep_position(self, position: Position) -> None:
        """Keeps where the session is about to stand in the workflow (FLW-12)."""
        ...

    def positions(self) -> Sequence[WorkflowMoved]:
        """Returns the last places that were kept, the oldest first."""
        ...

    def tests(self, digest: str) -> TestFiles | None:
        """Returns the files of tests of a digest; None where not all of them were kept."""
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
        """Returns that nobody knows."""
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
    """Writes what was answered for good into the person's permission file."""

    async def __call__(self, rule: PermissionRule, decision: Literal["allow", "deny"]) -> str | None:
        """Writes exactly this rule, and has it in force; where that cannot be done, why, in words."""
        ...


class Asker(Protocol):
    """How this client is asked for approvals.

    `stream`: it reads `approval_required` events and answers through `Runtime.answer`;
    `callback`: the runtime calls `ask` and the transport puts the question by its own means;
    `beforehand`: the same, and the answer was given before there was a question;
    `never`: nobody can be asked, and what would be asked is shown and denied at once.
    """

    @property
    def style(self) -> AskingStyle:
        """How this client is asked."""
        ...

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Puts the question (`callback` and `beforehand` style only); None means the person closed it, which is a deny.

        Raises CannotAsk where not all of it could be shown.
        """
        ...


class NobodyToAsk:
    """The asker of a client that cannot be asked."""

    style: AskingStyle = "never"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """No answer, which is a deny."""
        del question
        return None


class StreamAsker:
    """The asker of a client that answers through `Runtime.answer`."""

    style: AskingStyle = "stream"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Never called in this style."""
        raise AssertionError(f"asked out of the stream: {question.approval_id}")
