"""What a transport gives the runtime, and gets from it (AGT-06). Transports do framing and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from remit_governance.intents import Matrix
from remit_server.contract import (
    ApprovalAnswer,
    ApprovalReceipt,
    EditsAsked,
    GenerationRequest,
    GenerationResult,
    LeftOut,
    ModelStats,
    RunRequest,
    RunResult,
    StatusResult,
)
from remit_server.harness.approval.proposed_texts import ProposedText
from remit_server.harness.ports import Asker, Emit
from remit_server.models.answers import OnText
from remit_server.runtime.own_files.external_tools import ExternalTools
from remit_server.runtime.turns.taken_up import TakenUp
from remit_server.sessions.folder import SessionFolder


@dataclass(frozen=True, slots=True)
class Notice:
    """What a person should know of a change on disk: whether it is in force, and a sentence."""

    good: bool
    message: str


class AgentRuntime(Protocol):
    """The runtime as transports see it; `runtime.runtime.Runtime` is the real one."""

    async def run(self, request: RunRequest, emit: Emit, asker: Asker, taken_up: TakenUp | None = None) -> RunResult:
        """Run one turn. The same ids again give the same result, without running again.

        Cancelling the awaiting task cancels the turn, which still emits its `run_completed`. With `taken_up` another
        process had begun the turn: if that one only read, the turn begins again and says so, otherwise it ends.
        """
        ...

    async def generate(self, request: GenerationRequest, on_text: OnText | None) -> GenerationResult:
        """Let the model answer by itself, without tools. Cancelling the awaiting task stops it.

        Raises ModelUnavailable and ModelFailed.
        """
        ...

    async def complete(self, path: str, text: str, offset: int) -> str | None:
        """Returns what could stand at an offset of an open document, or None if nothing is offered.

        Cancelling the awaiting task stops the model.
        """
        ...

    @property
    def sessions(self) -> SessionFolder:
        """The sessions of this workspace, which other processes may write, too."""
        ...

    @property
    def matrix(self) -> Matrix:
        """The tools that each intent opens, as the policy in force has it."""
        ...

    @property
    def tools(self) -> ExternalTools:
        """All tools, the person's own included."""
        ...

    def cancel(self, session_id: str | None = None, turn_id: str | None = None) -> int:
        """Cancel the running turns that match (None matches all); returns how many there were."""
        ...

    def answer(self, answer: ApprovalAnswer) -> ApprovalReceipt:
        """Answer a pending approval (`stream` style)."""
        ...

    def asked(self, approval_id: str) -> bool:
        """Returns whether this approval is pending here."""
        ...

    def send_to_background(self, session_id: str) -> str:
        """Makes the command that a turn of this session waits for go on in the background; returns its id there.

        Raises ToolError if no command runs, or if it has to stay in the foreground.
        """
        ...

    def withdraw(self, approval_id: str, why: str) -> bool:
        """Take a pending approval back, which counts as a no, and tell the model why; False if it is not pending."""
        ...

    def proposed(self, approval_id: str, path: str, left_out: Sequence[LeftOut]) -> ProposedText | None:
        """Returns the texts of a file that a pending approval is about, without what is left out; None if it is about
        no such file."""
        ...

    def status(self, session_id: str | None = None, model: str | None = None) -> StatusResult:
        """Returns what a status bar shows: mode and state of the named session, else of the last used one, and the
        model of the session's next message, which is `model` if the person just chose it.
        """
        ...

    async def recall(self, session_id: str) -> None:
        """Make `status` show the position of a kept session, before its first turn here (FLW-12)."""
        ...

    def budget(self) -> tuple[str, ...]:
        """Returns how the coverage budget stands, in sentences. Raises RemitError if its file cannot be read."""
        ...

    def edits(self, session_id: str, asked: EditsAsked | None = None) -> EditsAsked:
        """Returns when the session asks about edits, after setting it to `asked`: `each` and `turn` from its next turn
        on (APP-10), `allow` at once (APP-15).

        Raises ToolError (`audit_broken`) if that cannot be recorded, and changes nothing then.
        """
        ...

    async def model_stats(self) -> ModelStats | None:
        """Returns the figures of the local model's process, or None if there is none."""
        ...

    async def reload(self) -> tuple[Notice, ...]:
        """Put policy, configuration and own tools in force as their files are now. What cannot be used stays as it was.

        Returns what there is to tell that was not told before.
        """
        ...

    async def verify_audit(self) -> tuple[bool, str]:
        """Verify the audit chain; the sentence names the first bad record, or says how many were verified."""
        ...

    async def close(self) -> None:
        """Cancel what runs, stop the model, flush the audit. Idempotent."""
        ...
