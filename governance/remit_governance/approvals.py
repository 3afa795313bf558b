"""Approvals: questions that are bound to the digest of exactly what will run, and that are answered once and in time
(APP-01).

No I/O and no clock: the caller passes times, as seconds of one monotonic clock.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit_governance.canonical import Json, digest
from remit_governance.permissions.permissions import PermissionRule, StandingRule
from remit_governance.permissions.remembered import ApprovalScope, rule_text
from remit_governance.values import Intent

ApprovalDecision = Literal["allow", "deny"]
RefusedReason = Literal["unknown", "used", "expired", "crossed", "not_offered"]

REMEMBERED_IDS = 10_000
"""The number of closed questions that are remembered, so that a late answer gets the reason why it is refused."""


@dataclass(frozen=True, slots=True)
class PathBinding:
    """One file of an action: its resolved path and the digests of its content now and afterwards (None: no file)."""

    path: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalSubject:
    """Everything an approval is about. Two subjects that differ anywhere have different digests.

    `standing` are the rules that an answer with scope `session` would remember. `always` and `everywhere` are the rules
    that a permanent answer would write, for this workspace and for every workspace. `edits` tells whether an answer may
    be about every edit of the session. The person is shown all of these.
    """

    tool: str
    arguments: Mapping[str, Json]
    policy_version: str
    session: str
    intent: Intent | None = None
    paths: tuple[PathBinding, ...] = ()
    argv: tuple[str, ...] | None = None
    cwd: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    standing: tuple[StandingRule, ...] = ()
    always: PermissionRule | None = None
    everywhere: PermissionRule | None = None
    edits: bool = False
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole = digest(
            {
                "tool": self.tool,
                "arguments": self.arguments,
                "policy_version": self.policy_version,
                "session": self.session,
                "intent": self.intent,
                "paths": [[p.path, p.before, p.after] for p in self.paths],
                "argv": self.argv,
                "cwd": self.cwd,
                "environment": self.environment,
                "standing": [[r.tool, r.syscall, r.path, r.command, r.cwd] for r in self.standing],
                "always": None if self.always is None else rule_text(self.always),
                "everywhere": None if self.everywhere is None else rule_text(self.everywhere),
                "edits": self.edits,
            }
        )
        object.__setattr__(self, "digest", whole)


@dataclass(frozen=True, slots=True)
class Pending:
    """An open question."""

    id: str
    digest: str
    deadline: float
    subject: ApprovalSubject
    scopes: tuple[ApprovalScope, ...]


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that counts, with the rules to remember for the session (`standing`) and the rule to write (`always`).

    `standing` is empty for the scopes `once` and `edits`; `always` is None unless the answer is permanent.
    """

    pending: Pending
    decision: ApprovalDecision
    scope: ApprovalScope
    standing: tuple[StandingRule, ...]
    always: PermissionRule | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that does not count, and why."""

    reason: RefusedReason


class ApprovalBook:
    """The open questions of a server, and the ids of those that are closed."""

    def __init__(self) -> None:
        self._open: dict[str, Pending] = {}
        self._closed: OrderedDict[str, Literal["used", "expired"]] = OrderedDict()

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The open questions, oldest first."""
        return tuple(self._open.values())

    def open(
        self, subject: ApprovalSubject, now: float, ttl: float, scopes: tuple[ApprovalScope, ...] = ("once",)
    ) -> Pending:
        """Opens a question about `subject`, to be answered before `now + ttl` seconds with one of `scopes`."""
        question = Pending(secrets.token_urlsafe(24), subject.digest, now + ttl, subject, scopes)
        self._open[question.id] = question
        return question

    def answer(
        self,
        approval_id: str,
        decision: ApprovalDecision,
        scope: ApprovalScope,
        subject_digest: str | None,
        now: float,
        *,
        session: str | None = None,
    ) -> Accepted | Refused:
        """Accepts the answer if the question is open, in time, about this subject, and offers this scope.

        `subject_digest` and `session` are what the answer claims to be about; None claims nothing. An answer that is
        refused as `crossed` or `not_offered` leaves the question open, so that nobody can close it with a wrong guess.
        """
        question = self._open.get(approval_id)
        if question is None:
            return Refused(self._closed.get(approval_id, "unknown"))
        if now >= question.deadline:
            self._close(approval_id, "expired")
            return Refused("expired")
        if subject_digest not in (None, question.digest) or session not in (None, question.subject.session):
            return Refused("crossed")
        if scope not in question.scopes or (scope == "edits" and decision == "deny"):
            return Refused("not_offered")
        self._close(approval_id, "used")
        about = question.subject
        standing = () if scope in {"once", "edits"} else about.standing
        kept = {"always": about.always, "everywhere": about.everywhere}.get(scope)
        return Accepted(question, decision, scope, standing, kept)

    def close(self, approval_id: str) -> bool:
        """Withdraws a question, for example because its call was cancelled; returns False if it was not open."""
        if approval_id not in self._open:
            return False
        self._close(approval_id, "used")
        return True

    def _close(self, approval_id: str, how: Literal["used", "expired"]) -> None:
        del self._open[approval_id]
        self._closed[approval_id] = how
        while len(self._closed) > REMEMBERED_IDS:
            self._closed.popitem(last=False)
