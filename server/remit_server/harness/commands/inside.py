"""Checks and audits what a command does by itself in its sandbox: under a token that is bound to its process (APP-12).

Each attempt to reach a host is audited before it goes on, and the attempts are reported to the model in a few words
(BOX-03).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType

from remit_governance.audit.record import AuditKind
from remit_governance.visible import visible
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.judgement import standing_answer
from remit_server.harness.permit import HandedOn, Permit, not_in_force
from remit_server.harness.record.call_record import CallRecord
from remit_server.sandbox.network.proxy import Attempt
from remit_server.sandbox.ports import CommandOutput, Wait

log = logging.getLogger(__name__)


MEANS: Mapping[Wait, str] = MappingProxyType(
    {
        "queued": "the command waits until others have ended",
        "started": "the command begins now",
        "paused": "the command is paused for a more urgent one",
        "resumed": "the command goes on",
    }
)
_WAITS: Mapping[Wait, AuditKind] = MappingProxyType(
    {
        "queued": AuditKind.SANDBOX_QUEUED,
        "paused": AuditKind.SANDBOX_PAUSED,
        "resumed": AuditKind.SANDBOX_RESUMED,
    }
)
"""The audit events of waits. `started` needs none, because the sandbox is created and audited then."""


@dataclass(slots=True)
class Inside:
    """One sandbox of one call, from its creation to its end. `ended` is the output of its command."""

    permit: Permit
    record: CallRecord
    runtime: str
    template: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    ended: CommandOutput | None = None
    _handed: HandedOn | None = None
    _begun: bool = False

    def __enter__(self) -> None:
        """Does nothing: the sandbox is audited in `begin`, when its process exists."""

    def begin(self, pid: int) -> None:
        """Audits the sandbox, and binds a token to the process in it. Raises ToolError if either fails."""
        about = {"runtime": self.runtime, "template": self.template, "pid": str(pid)}
        self.record.record_sandbox(AuditKind.SANDBOX_CREATED, self.id, **about)
        self._begun = True
        self._handed = self.permit.hand_on(self.id, pid)
        if self._handed is not None:
            given = {"parent": self.permit.id, "sandbox": self.id, "pid": str(pid)}
            self.record.record_capability(AuditKind.CAPABILITY_ISSUED, str(self._handed.nonce), **given)

    def note_wait(self, wait: Wait) -> None:
        """Shows and audits that the command waits, or goes on. A failed audit is only logged, because the caller has
        other commands to run."""
        self.record.show_wait(wait, MEANS[wait])
        kind = _WAITS.get(wait)
        try:
            if kind is not None:
                self.record.record_sandbox(kind, self.id, template=self.template)
        except ToolError:
            log.exception("what sandbox %s waits for could not be audited", self.id)

    def admit(self, attempt: Attempt) -> None:
        """Spends a use of the token on a connection that is allowed. Raises ToolError if the token is not in force, or
        if the person's standing answers deny the connection by now (APP-06).
        """
        if attempt.allowed:
            if self._is_denied(attempt.target):
                raise denied_since()
            self._token().connect(attempt.target, attempt.by.first if attempt.by else 0)

    def record_attempt(self, attempt: Attempt) -> None:
        """Audits a connection that the command tries, and the use of the token if it is allowed. Raises ToolError."""
        if attempt.allowed:
            by = {"host": attempt.target, "pid": str(attempt.by.pid if attempt.by else 0)}
            self.record.record_capability(AuditKind.CAPABILITY_USED, str(self._token().nonce), **by)
        self.record.record_attempt(attempt)

    def in_force(self, host: str) -> bool:
        """Returns whether an open connection may go on: the token is in force, and nothing denies the host now
        (APP-13)."""
        held = self._handed is not None and self._handed.state == "in_force"
        return held and not self._is_denied(host)

    def _is_denied(self, host: str) -> bool:
        judged = self._token().judged.get(host)
        if judged is None:
            return True
        return standing_answer(self.permit.rulebook, self.record.turn.memory.standing, [judged]).word in {
            "deny",
            "final_deny",
        }

    def _token(self) -> HandedOn:
        if self._handed is None:
            raise not_in_force("unknown")
        return self._handed

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Audits how the sandbox ended, and revokes the token of its process."""
        if self._handed is not None:
            self.record.record_end_of_token(str(self._handed.nonce), self._handed.state)
            self._handed.revoke()
        how = AuditKind.SANDBOX_FAILED if isinstance(error, ToolError) else AuditKind.SANDBOX_DESTROYED
        about = {"why": error.why} if isinstance(error, ToolError) else self._end()
        if not self._begun and how is AuditKind.SANDBOX_DESTROYED:
            return
        try:
            self.record.record_sandbox(how, self.id, **about)
        except ToolError:
            log.exception("the end of sandbox %s could not be audited", self.id)

    def _end(self) -> dict[str, str]:
        if self.ended is None:
            return {"ended": "stopped"}
        if self.ended.exit_code is None:
            return {"ended": "timed out" if self.ended.timed_out else "at a limit"}
        return {"ended": "by itself", "exit_code": str(self.ended.exit_code)}


def denied_since() -> ToolError:
    """Returns the refusal of a connection that the person denied after the command was judged."""
    fix = "leave it; a person can change the permissions"
    return ToolError("not done", "a person has denied it since it was judged", fix, code=ErrorCode.DENIED)


MAX_DENIED = 100
"""The most different denied attempts of one command that are audited, because a command may make any number."""

MAX_REPORTED = 20


@dataclass(slots=True)
class Attempts:
    """The different attempts of one command, and how often each was made.

    `admit` must admit each attempt, and `record` audits the first of its kind; either may raise ToolError.
    """

    admit: Callable[[Attempt], None]
    record: Callable[[Attempt], None]
    seen: dict[Attempt, int] = field(default_factory=dict[Attempt, int])

    def note(self, attempt: Attempt) -> None:
        """Admits an attempt, and audits it the first time. Raises ToolError if it must not go on."""
        self.admit(attempt)
        if attempt not in self.seen:
            if not attempt.allowed and sum(not attempt.allowed for attempt in self.seen) >= MAX_DENIED:
                attempt = Attempt("others", allowed=False, why=f"more than {MAX_DENIED} were denied")
            if attempt not in self.seen:
                self.record(attempt)
        self.seen[attempt] = self.seen.get(attempt, 0) + 1

    def report(self) -> str:
        """Returns what a model is told of allowed and denied attempts, or an empty text if there were none."""
        lines = [f"network: {_describe(attempt, times)}" for attempt, times in self.seen.items()]
        more = len(lines) - MAX_REPORTED
        return "\n".join([*lines[:MAX_REPORTED], *([f"network: and {more} more"] if more > 0 else [])])


def _describe(attempt: Attempt, times: int) -> str:
    text = f"{'allowed' if attempt.allowed else 'denied'} {visible(attempt.target, 'show')}"
    text += f", {times} times" if times > 1 else ""
    return f"{text}: {attempt.why}" if attempt.why else text
