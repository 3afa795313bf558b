"""What one call leaves behind: two chained audit records, one `tool_result`, one line of the run's trace
(002 §4.5, architecture.md invariant 6)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from remit_governance.audit.log.durability import READING
from remit_governance.audit.record import MAX_SUMMARY, AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.canonical import digest
from remit_governance.permissions import Answer
from remit_governance.policy.recorded import recorded
from remit_governance.redaction import Redactor, truncate
from remit_governance.values import Action, Decision, Verdict, strictest
from remit_governance.visible import visible
from remit_server.contract import (
    ApprovalResolved,
    ErrorCode,
    ErrorPayload,
    ReasonPayload,
    Scope,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    ToolTrace,
)
from remit_server.errors import ToolError
from remit_server.harness.arguments import ToolCall
from remit_server.harness.recording import append
from remit_server.harness.telling import (
    MAX_ERROR,
    asking,
    clean_data,
    clean_payload,
    cut_short,
    reason_payload,
    redacted_json,
    shortened,
)
from remit_server.harness.turn import EndedCall, Turn
from remit_server.sandbox.proxy import Attempt
from remit_server.tools.spec import Outcome, Plan, WritePlan

log = logging.getLogger(__name__)

WORDS = {Verdict.ALLOW: "allowed", Verdict.REQUIRE_REVIEW: "review_required", Verdict.DENY: "denied"}
GATE_CODES = {ErrorCode.INTENT_REQUIRED, ErrorCode.TOOL_NOT_ALLOWED_FOR_INTENT}


class RunDenied(ToolError):
    """A refusal that ends the run: nobody can be asked, or the person's configuration says it is final (002 §5)."""

    code = ErrorCode.DENIED


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended, for the model: `text` is redacted and cut."""

    ok: bool
    text: str
    args_digest: str = ""


@dataclass(frozen=True, slots=True)
class _Named:
    """How records name a judgement: who decided in a word, the rules, where the deciding one is written, and of the
    actions the first that does more than read, else the first."""

    word: str | None = None
    rules: tuple[str, ...] = ()
    rule: str | None = None
    rule_at: str | None = None
    syscall: str | None = None

    @classmethod
    def of(cls, decision: Decision, actions: Sequence[Action]) -> _Named:
        """Made once, for each record of a call says it."""
        rules, deciding = decision.rules, decision.deciding
        syscalls = [action.syscall for action in actions]
        return cls(
            WORDS[decision.verdict],
            rules,
            ", ".join(rules) or None,
            f"{deciding.file}:{deciding.line}" if deciding.file else None,
            next((s for s in syscalls if s not in READING), syscalls[0] if syscalls else None),
        )


_UNJUDGED = _Named()


@dataclass(slots=True)
class Trail:
    """One call on its way through the dispatcher, and what is known of it so far.

    `tool` is its name as it is shown, `shown` its arguments without secrets, `waited` the seconds a person took.
    `most_chars` is how much of a result the model sees, which its tool says. `judged_by` is all that the judgement came
    from: what is the same is not judged again.
    """

    call: ToolCall
    turn: Turn
    audit: AuditLog
    redactor: Redactor
    policy_version: str
    args_digest: str
    started: float
    tool: str
    shown: dict[str, JsonValue]
    decision: Decision | None = None
    named: _Named = _UNJUDGED
    answer: Answer | None = None
    actions: tuple[Action, ...] = ()
    decisions: tuple[Decision, ...] = ()
    judged_by: object = None
    approval_id: str | None = None
    capability_id: str | None = None
    changed: list[str] = field(default_factory=list[str])
    rebased: list[str] = field(default_factory=list[str])
    recorded_before: bool = False
    asked_at: float | None = None
    waited: float = 0.0
    most_chars: int = MAX_ERROR

    @classmethod
    def begin(cls, call: ToolCall, turn: Turn, audit: AuditLog, redactor: Redactor, policy_version: str) -> Trail:
        """Announce the call; nothing has been decided."""
        tool = redactor.redact(visible(call.name, "show")).text
        shown = redacted_json(call.arguments, redactor)
        trail = cls(call, turn, audit, redactor, policy_version, digest(call.arguments), time.monotonic(), tool, shown)
        turn.emit(
            ToolCallEvent,
            tool_call_id=call.id,
            tool=tool,
            intent=turn.intent.active,
            arguments=shown,
        )
        return trail

    def judged(self, actions: tuple[Action, ...], decisions: tuple[Decision, ...], answer: Answer) -> bool:
        """Note what policy said of each action, and the person's standing answers; True where they have to be asked.

        Raises ToolError (`denied`) on a deny, RunDenied on a final one.
        """
        self.actions, self.decisions, self.answer = actions, decisions, answer
        self.decision = decision = strictest(decisions)
        self.named = _Named.of(decision, actions)
        if answer.word not in {"deny", "final_deny"}:
            return self.asks
        self.answered_before()
        kind = RunDenied if answer.word == "final_deny" else ToolError
        rules = (self.named.rule or "") if decision.verdict is Verdict.DENY else answer.source
        unruled = "default deny" if decision.deciding.layer == "default" else f"the {decision.deciding.layer} layer"
        addable = not rules and decision.deciding.layer == "default"
        raise kind(
            f"`{self.tool}` was denied by {rules or unruled}",
            answer.reason,
            "a person can add a rule that allows it"
            if addable
            else "leave it as it is; a person can change the policy",
            code=ErrorCode.DENIED,
        )

    def answered_before(self) -> None:
        """Audit and show that a review was answered in advance, where it was: nobody is asked, and should know why."""
        answer, decision = self.answer, self.decision
        if answer is None or decision is None or decision.verdict is not Verdict.REQUIRE_REVIEW:
            return
        word: Literal["allow", "deny"] = "allow" if answer.word == "allow" else "deny"
        scope = Scope.SESSION if answer.source == "session" else Scope.ALWAYS
        self.resolved(word, "standing_answer", scope)
        self.turn.emit(ApprovalResolved, approval_id=self.call.id, decision=word, scope=scope, by="standing_answer")

    def before(self) -> None:
        """Audit the intent to run, durably, before anything runs. Raises ToolError where that cannot be done."""
        if self.recorded_before:
            return
        self._announce()
        self.recorded_before = True

    def fitted(self, shown: Plan, now: Plan) -> None:
        """Note which changes go into a text that has changed since they were prepared or shown."""
        if isinstance(shown, WritePlan) and isinstance(now, WritePlan):
            pairs = zip(shown.changes, now.changes, strict=True)
            moved = ((old.touched[-1][2], *new.touched[-1]) for old, new in pairs if old != new)
            self.rebased += [f"{path.relative}: {was} as {before} to {after}" for was, path, before, after in moved]

    def question(self, approval_id: str, subject_digest: str) -> None:
        """Audit that a person is asked."""
        self.approval_id, self.asked_at = approval_id, time.monotonic()
        self._append(self._event(AuditKind.APPROVAL_REQUIRED, metadata={"digest": subject_digest}))

    def resolved(self, decision: str, by: str, scope: str, rule: str | None = None) -> None:
        """Audit how the question ended, and how long that took: waiting is no part of running.

        `rule` is what the answer writes.
        """
        metadata = {"decision": decision, "by": by, "scope": scope} | ({"rule": rule} if rule else {})
        took = time.monotonic() - self.asked_at if self.asked_at is not None else 0.0
        self.asked_at, self.waited = None, self.waited + took
        self._append(self._event(AuditKind.APPROVAL_RESOLVED, metadata=metadata, duration_ms=round(took * 1000, 3)))

    def merged(self, refused: Sequence[tuple[str, str]]) -> None:
        """Audit what was taken over of a command's changes, and what vanished and why."""
        if self.changed:
            changed = self._summary(", ".join(self.changed))
            self._append(self._event(AuditKind.MERGE_APPROVED, metadata={"changed": changed}))
        if refused:
            vanished = self._summary("; ".join(f"{path}: {why}" for path, why in refused))
            self._append(self._event(AuditKind.MERGE_REJECTED, metadata={"refused": vanished}))

    def committed(self, branch: str, parent: str | None, commit: str, tree: str) -> None:
        """Audit what a commit came to. Raises ToolError where that cannot be done."""
        found = {"branch": self._summary(visible(branch, "show")), "parent": parent or "none"}
        self._append(self._event(AuditKind.COMMITTED, metadata=found | {"commit": commit, "tree": tree}))

    def network(self, attempt: Attempt) -> None:
        """Audit what a command tried to reach. Raises ToolError where that cannot be done."""
        kind = AuditKind.NETWORK_ALLOWED if attempt.allowed else AuditKind.NETWORK_DENIED
        host = self._summary(visible(attempt.target, "show"))
        self._append(self._event(kind, deny_reason=attempt.why or None, metadata={"host": host}))

    def printed(self, text: str) -> None:
        """Show what a command has printed so far, redacted already."""
        self.turn.emit(ToolOutput, tool_call_id=self.call.id, text=text)

    def done(self, outcome: Outcome) -> CallResult:
        """The call ran: redact, audit the outcome, show it. What is shown and returned is the redacted text."""
        text = truncate(self.redactor.redact(outcome.text).text, self.most_chars, "middle").text
        summary = self._clean(outcome.summary)
        self._after(outcome.text, summary, exit_code=outcome.exit_code)
        self._show(summary, text, exit_code=outcome.exit_code, data=clean_data(outcome.data, self.redactor))
        self._ended(None)
        return CallResult(True, text, self.args_digest)

    def refused(self, error: ToolError) -> CallResult:
        """The call was refused or failed. Raises RunDenied again after recording it."""
        text = self._clean(f"error {error.code}: {error.what}: {error.why}\nfix: {error.fix}")
        reason = self._clean(f"{error.what}: {error.why}")
        if not self.recorded_before:
            self._announce(deny_reason=reason)
        self._after(text, reason, failed=True)
        payload = clean_payload(error, self.redactor)
        self._show(reason, text, error=payload, data=clean_data(error.data, self.redactor))
        self._ended(payload)
        if isinstance(error, RunDenied):
            raise error
        return CallResult(False, text, self.args_digest)

    def interrupted(self, error: BaseException) -> None:
        """The call was cut short, by a cancellation or a defect: audit and client are told, and what it had changed."""
        text = f"interrupted: {type(error).__name__}"
        try:
            self.before()
            self._after(text, text, failed=True)
        except ToolError:  # what cut the call short matters more than that it could not be recorded
            log.exception("the end of call %s could not be audited", self.call.id)
        try:
            cut = cut_short(self.tool, self.changed, cancelled=isinstance(error, asyncio.CancelledError))
            self._show(f"{cut.what}: {cut.why}", f"error {cut.code}: {cut.what}: {cut.why}", error=cut.payload())
        except Exception:  # the client is gone, which may be what cut it short
            log.warning("nobody was told how call %s ended", self.call.id)

    @property
    def asks(self) -> bool:
        """Whether the person has to be asked."""
        return self.answer is not None and self.answer.word == "ask"

    @property
    def reasons(self) -> tuple[ReasonPayload, ...]:
        """Why policy decided as it did, for people."""
        return tuple(reason_payload(r) for r in self.decision.reasons) if self.decision else ()

    @property
    def asking(self) -> tuple[ReasonPayload, ...]:
        """The reasons that carry the verdict; the milder ones beside them do not explain a question.

        Where the person's configuration asks, that it does.
        """
        carrying = asking(self.decision) if self.decision else ()
        if self.answer is None or self.answer.word != "ask" or self.answer.source == "policy":
            return carrying
        own = ReasonPayload(layer="permissions", action="require_review", reason=self.answer.reason)
        return (own, *(reason for reason in carrying if reason.action != "allow"))

    def _after(self, result: str, clean: str, *, failed: bool = False, exit_code: int | None = None) -> None:
        result_digest, said = digest(result), truncate(clean, MAX_SUMMARY, "middle").text
        event = self._event(
            AuditKind.TOOL_OUTCOME,
            result_digest=result_digest,
            output_summary=said,
            exit_code=exit_code,
            duration_ms=self._elapsed_ms(),
            deny_reason=said if failed else None,
            metadata={
                name: self._summary(", ".join(said))
                for name, said in (("changed", self.changed), ("rebased", self.rebased))
                if said
            },
        )
        self._append(event)
        self.turn.trace.append(
            ToolTrace(
                tool_call_id=self.call.id,
                tool=self.tool,
                intent=self.turn.intent.active,
                args_digest=self.args_digest,
                decision=self._word(),
                rule=self.named.rule,
                approval_id=self.approval_id,
                duration_ms=self._elapsed_ms(),
                exit_code=exit_code,
                result_digest=result_digest,
            )
        )

    def _ended(self, error: ErrorPayload | None) -> None:
        acts = any(action.syscall not in READING for action in self.actions)
        self.turn.ended.append(EndedCall(acts, self.turn.caller == "human", error))

    def _show(
        self,
        clean: str,
        text: str,
        *,
        error: ErrorPayload | None = None,
        exit_code: int | None = None,
        data: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.turn.emit(
            ToolResultEvent,
            tool_call_id=self.call.id,
            tool=self.tool,
            ok=error is None,
            summary=clean,
            output=text,
            data=data or {},
            error=error,
            decision=self._word(error.code if error else None),
            rules=self.named.rules,
            reasons=self.reasons,
            changed_files=tuple(self.changed),
            exit_code=exit_code,
            duration_ms=self._elapsed_ms(),
        )

    def _event(self, kind: AuditKind, **more: Any) -> AuditEvent:
        return AuditEvent(
            kind=kind,
            caller=self.turn.caller,
            session_id=self.turn.session_id,
            turn_id=self.turn.turn_id,
            step=self.turn.step,
            tool_call_id=self.call.id,
            tool_name=self.tool,
            syscall_type=self.named.syscall,
            intent=self.turn.intent.active,
            policy_decision=self._word(),
            policy_rule_name=self.named.rule,
            policy_rule_at=self.named.rule_at,
            policy_version=self.policy_version,
            approval_id=self.approval_id,
            capability_id=self.capability_id,
            args_digest=self.args_digest,
            **more,
        )

    def _announce(self, deny_reason: str | None = None) -> None:
        """The one record that says what was judged, so that it can be judged anew."""
        kept = recorded(self.actions, self.decision, lambda text: self.redactor.redact(text).text)
        given = {"run_metadata": self._summary(str(dict(self.turn.metadata)))} if self.turn.metadata else {}
        event = self._event(
            AuditKind.TOOL_INTENT,
            input_summary=self._input(),
            actions=kept.actions,
            reasons=kept.reasons,
            deny_reason=deny_reason,
            metadata={**kept.notes, **given},
        )
        self._append(event)

    def _append(self, event: AuditEvent) -> None:
        append(self.audit, event)

    def _word(self, code: ErrorCode | None = None) -> str:
        """Who decided, in a word: policy's decision, else the gate or the check before it."""
        return self.named.word or ("refused_by_gate" if code in GATE_CODES else "refused")

    def _input(self) -> str:
        # Once more as a whole, for what is a secret only there; each part is cut first, after its own redaction.
        return self._summary(str(shortened(self.shown)))

    def _clean(self, text: str) -> str:
        return truncate(self.redactor.redact(text).text, MAX_ERROR, "middle").text

    def _summary(self, text: str) -> str:
        return truncate(self.redactor.redact(text).text, MAX_SUMMARY, "middle").text

    def _elapsed_ms(self) -> float:
        return round(max(0.0, time.monotonic() - self.started - self.waited) * 1000, 3)
