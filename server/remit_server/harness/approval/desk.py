"""Asks the person. A question is bound to one digest and answered once; anything but a clear yes in time is a no
(APP-02)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from remit_governance.approvals import Accepted, ApprovalBook, ApprovalSubject, Pending, Refused
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.permissions.permissions import remember
from remit_governance.permissions.remembered import Offer, rule_text
from remit_server.contract import (
    AnsweredBy,
    ApprovalAnswer,
    ApprovalReceipt,
    ApprovalRequired,
    ApprovalResolved,
    ErrorCode,
    Scope,
)
from remit_server.errors import PERSON_SAID_NO, ToolError
from remit_server.harness.approval.question import Question
from remit_server.harness.approval.review import Review, describe_parts, not_shown
from remit_server.harness.calls import RunDenied
from remit_server.harness.ports import CannotAsk, Keep, why_unasked
from remit_server.harness.record.audit_events import append
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.machine.wall_clock import timestamp
from remit_server.tools.spec import FileChange

UNANSWERED = frozenset({ErrorCode.APPROVAL_DENIED, ErrorCode.APPROVAL_EXPIRED, ErrorCode.APPROVAL_UNAVAILABLE})
"""The error codes of a call that nobody approved."""
REFUSALS = {
    "unknown": "there is no such question",
    "used": "this question was already answered",
    "expired": "this question was not answered in time",
    "crossed": "this answer belongs to another question",
    "not_offered": "this answer was not offered",
}
NOT_SHOWN = "it leaves out a hunk that was not shown"
NOT_FOR_PARTS = "a part can only be allowed once"


class Withdrawn(ToolError):
    """The subject of a question is gone, or was moved, while the question was open."""

    code = ErrorCode.STALE


@dataclass(frozen=True, slots=True)
class Answered:
    """An accepted answer, and which of the shown changes the person takes."""

    accepted: Accepted
    review: Review


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits for an answer about `changes`. `shown` is the number of parts of each file that can be left
    out."""

    answer: asyncio.Future[Answered]
    shown: Mapping[str, int]
    changes: Sequence[FileChange]


class ApprovalDesk:
    """The open questions of a server, and the calls that wait for their answers."""

    def __init__(self, audit: AuditLog, ttl_s: float, keep: Keep) -> None:
        self._book = ApprovalBook()
        self._audit, self._keep = audit, keep
        self.ttl_s = ttl_s
        self._waiting: dict[str, Waiting] = {}

    @property
    def pending(self) -> int:
        """The number of open questions."""
        return len(self._waiting)

    def asks(self, approval_id: str) -> bool:
        """Returns whether this question is open."""
        return approval_id in self._waiting

    def answer(self, answer: ApprovalAnswer) -> ApprovalReceipt:
        """Takes an answer. It is accepted only once, in time, and for the question that it names."""
        waiting = self._waiting.get(answer.approval_id)
        if waiting is not None and (problem := _problem_of_parts(answer, waiting.shown)) is not None:
            self._record_refusal(answer, Refused("not_offered"))
            return ApprovalReceipt(accepted=False, reason=problem)
        taken = self._book.answer(
            answer.approval_id, answer.decision, answer.scope.value, answer.digest, time.monotonic()
        )
        if isinstance(taken, Refused):
            self._record_refusal(answer, taken)
            return ApprovalReceipt(accepted=False, reason=REFUSALS[taken.reason])
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(Answered(taken, Review(answer.left_out, answer.comment)))
        return ApprovalReceipt(accepted=True)

    def changes(self, approval_id: str) -> Sequence[FileChange]:
        """Returns the file changes that an open question is about."""
        waiting = self._waiting.get(approval_id)
        return () if waiting is None else waiting.changes

    def withdraw(self, approval_id: str, why: str) -> bool:
        """Withdraws an open question because its subject is gone; counts as a no, but not the person's. Returns whether
        the question was open."""
        waiting = self._waiting.get(approval_id)
        if waiting is None or waiting.answer.done():
            return False
        waiting.answer.set_exception(
            Withdrawn(
                "nothing was written", why, "look at what is there now, and propose the change again if it still fits"
            )
        )
        return True

    async def ask(
        self, subject: ApprovalSubject, shown: Question, record: CallRecord, changes: Sequence[FileChange] = ()
    ) -> Review:
        """Asks about exactly `subject`, showing `shown`; returns only on a yes. Remembers a standing answer.

        Raises RunDenied if nobody can be asked, else ToolError: `approval_denied`, `approval_expired`, `stale` if the
        question was withdrawn, `approval_unavailable` if it cannot be shown.
        """
        turn = record.turn
        scopes = Offer(subject.standing, subject.always, subject.edits).scopes
        question = self._book.open(subject, time.monotonic(), self.ttl_s, scopes)
        record.record_question(question.id, question.digest)
        if turn.asker.style == "never":
            self._announce(question, shown, turn)
            self._book.close(question.id)
            unasked = why_unasked(turn.asker)
            self._close(record, question, None, "unavailable", unasked.why)
            why = f"it needs approval, but {unasked.why}"
            raise RunDenied("not done", why, unasked.fix, code=ErrorCode.APPROVAL_UNAVAILABLE)
        answered = await self._wait_for_answer(question, shown, record, changes)
        if answered is None:
            raise ToolError(
                "not done",
                f"nobody answered within {self.ttl_s:g} seconds",
                "ask again when somebody is there",
                code=ErrorCode.APPROVAL_EXPIRED,
                for_person="ask for it again",
            )
        await self._remember(answered.accepted, turn)
        if answered.accepted.decision == "deny":
            raise refuse_by_person(answered.review)
        return answered.review

    async def _remember(self, accepted: Accepted, turn: Turn) -> None:
        """Remembers a standing answer: as a rule in the permission file if the person wants that and it can be written,
        else for the session."""
        if accepted.always is not None:
            problem = await self._keep(accepted.always, accepted.decision)
            if problem is None:
                return
            turn.warn(f"your answer holds for this session only: {problem}")
        if accepted.scope == "edits":
            turn.memory.standing = replace(turn.memory.standing, edits=True)
        turn.memory.standing = remember(turn.memory.standing, accepted.standing, accepted.decision)

    async def _wait_for_answer(
        self, question: Pending, shown: Question, record: CallRecord, changes: Sequence[FileChange]
    ) -> Answered | None:
        """Waits for the answer, or returns None at the deadline. However the wait ends, the question is closed, and its
        end is audited and shown."""
        waiting: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = Waiting(waiting, shown.parts, changes)
        answered: Answered | None = None
        by: AnsweredBy = "disconnected"
        try:
            event = self._announce(question, shown, record.turn)
            answered = await self._wait(question, event, waiting, record.turn)
            by = _answerer(record.turn) if answered else "deadline"
        except asyncio.CancelledError:
            by = "cancelled"
            raise
        except CannotAsk:
            by = "unavailable"
            raise
        except Withdrawn:
            by = "withdrawn"
            raise
        finally:
            del self._waiting[question.id]
            self._book.close(question.id)
            self._close(record, question, answered, by)
        return answered

    def _announce(self, question: Pending, shown: Question, turn: Turn) -> ApprovalRequired:
        deadline = datetime.now(UTC) + timedelta(seconds=self.ttl_s)
        return turn.emit(shown.asked(turn.stamp(), question, turn.asks_as(), timestamp(deadline)))

    async def _wait(
        self, question: Pending, event: ApprovalRequired, waiting: asyncio.Future[Answered], turn: Turn
    ) -> Answered | None:
        calls = turn.asker.style in {"callback", "beforehand"}
        asking = asyncio.create_task(self._ask(event, waiting, turn)) if calls else None
        try:
            async with asyncio.timeout(max(0.0, question.deadline - time.monotonic())):
                return await waiting
        except TimeoutError:
            return None
        finally:
            if asking is not None:
                asking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asking

    async def _ask(self, event: ApprovalRequired, waiting: asyncio.Future[Answered], turn: Turn) -> None:
        """Asks by the transport's own means. A closed prompt, a lost client and a failing prompt all count as a no."""
        no = ApprovalAnswer(approval_id=event.approval_id, decision="deny")
        try:
            answer = await turn.asker.ask(event)
        except CannotAsk as error:
            if not waiting.done():
                waiting.set_exception(error)
            return
        except Exception:  # whatever failed, nobody said yes
            answer = None
        self.answer(answer or no)

    def _close(
        self,
        record: CallRecord,
        question: Pending,
        answered: Answered | None,
        by: AnsweredBy,
        reason: str | None = None,
    ) -> None:
        accepted = answered.accepted if answered else None
        decision = accepted.decision if accepted else "deny"
        scope = Scope(accepted.scope) if accepted else Scope.ONCE
        always = accepted.always if accepted else None
        parts = describe_parts(answered.review.left_out) if answered else []
        rule = None if always is None else rule_text(always)
        record.record_answer(decision, by, scope, rule=rule, left_out=", ".join(parts), why=reason)
        if by != "disconnected":
            stamp = record.turn.stamp()
            record.turn.emit(
                ApprovalResolved(**stamp, approval_id=question.id, decision=decision, scope=scope, by=by, reason=reason)
            )

    def _record_refusal(self, answer: ApprovalAnswer, refused: Refused) -> None:
        append(
            self._audit,
            AuditEvent(
                AuditKind.APPROVAL_REFUSED,
                caller="client",
                approval_id=answer.approval_id[:64],
                deny_reason=refused.reason,
            ),
        )


@contextlib.asynccontextmanager
async def one_question(record: CallRecord) -> AsyncGenerator[bool]:
    """Makes the calls of a turn ask one after the other. Yields whether this call had to wait for others."""
    waits, since = record.turn.asking.locked(), time.monotonic()
    async with record.turn.asking:
        record.note_waiting(time.monotonic() - since)
        yield waits


def allow_edits(memory: SessionMemory, audit: AuditLog, *, allow: bool) -> None:
    """Sets whether a session's edits run without a question. The change is recorded before it takes effect (APP-15).

    Raises ToolError if it cannot be recorded; then nothing has changed.
    """
    if memory.standing.edits is allow:
        return
    metadata = {"decision": "allow" if allow else "ask"}
    append(audit, AuditEvent(AuditKind.EDITS_CHANGE, "human", memory.session_id, metadata=metadata))
    memory.standing = replace(memory.standing, edits=allow)


def _answerer(turn: Turn) -> AnsweredBy:
    return "beforehand" if turn.asker.style == "beforehand" else "person"


def refuse_by_person(review: Review) -> ToolError:
    """Returns the refusal of a call that a person said no to, with their comments. Leaving out every part is a no
    too."""
    words = [review.comment] if review.comment else []
    words += [each.comment for each in review.left_out if each.comment]
    return ToolError(
        "not done",
        "".join([PERSON_SAID_NO, *(f": {' '.join(each.split())}" for each in words)]),
        "do as they say" if words else "do not try it again; say what was refused, or ask what to do instead",
        code=ErrorCode.APPROVAL_DENIED,
        for_person="",
    )


def _problem_of_parts(answer: ApprovalAnswer, shown: Mapping[str, int]) -> str | None:
    if not answer.left_out:
        return None
    if answer.scope is not Scope.ONCE:
        return NOT_FOR_PARTS
    return NOT_SHOWN if not_shown(answer.left_out, shown) is not None else None
