"""Records one call: two chained audit records, one `tool_result`, one line of the run's trace (AUD-01).

It decides nothing; it refuses only what cannot be recorded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from remit_governance.audit.record import READING, AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.canonical import digest
from remit_governance.capabilities import Ended
from remit_governance.policy.decision.recorded import record_judgement
from remit_governance.secrets.cutting import truncate
from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Verdict
from remit_governance.visible import visible
from remit_server.contract import (
    AnsweredBy,
    ApprovalResolved,
    CallAnswer,
    CommandWaits,
    ErrorCode,
    ErrorPayload,
    Scope,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    ToolTrace,
)
from remit_server.errors import AlreadySo, ToolError, told_to_person
from remit_server.harness.calls import CallResult, ToolCall
from remit_server.harness.judgement import Judgement
from remit_server.harness.record.audit_events import (
    ENDS,
    MAX_ERROR,
    UNJUDGED,
    Worded,
    append,
    describe_interruption,
    placed_event,
    redact_data,
    redact_error,
    summarise,
    summarise_arguments,
)
from remit_server.harness.turn import EndedCall, Turn
from remit_server.sandbox.network.proxy import Attempt
from remit_server.sandbox.ports import Wait
from remit_server.tools.spec import FolderChange, Outcome, Plan, WritePlan
from remit_server.workspace.content.open_files import is_transient

log = logging.getLogger(__name__)

STEPS = ("workflow.", "session.")
"""The prefixes of syscalls that change only the session's workflow position or mode."""
FOR_THE_SESSION: Mapping[str, Scope] = {"session": Scope.SESSION, "edits": Scope.EDITS}
"""The scopes of standing answers that hold for one session, by the answer's source."""
GATE_CODES = {ErrorCode.INTENT_REQUIRED, ErrorCode.TOOL_NOT_ALLOWED_FOR_INTENT}


@dataclass(slots=True)
class CallRecord:
    """What is known of one call so far, and where it is recorded. It decides nothing.

    `tool` is the tool's name as it is shown, `shown` the arguments without secrets, `waited` the seconds that the call
    waited for a person's answers, `answer` how the approval that it needed was settled. `changed` are the relative
    paths of changed files, which the merge adds. `rebased` says which changes went into a text that had changed
    meanwhile, `folders` which folders were made or removed, `parts` which changes a person approved only in part.
    `nothing_taken` is whether a person left out every part.
    `review` is the call that reviews what this call collected, `collects` are the calls whose edits this call reviews.
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
    judgement: Judgement | None = None
    named: Worded = UNJUDGED
    approval_id: str | None = None
    capability_id: str | None = None
    answer: CallAnswer | None = None
    changed: list[str] = field(default_factory=list[str])
    folders: list[FolderChange] = field(default_factory=list[FolderChange])
    rebased: list[str] = field(default_factory=list[str])
    parts: list[str] = field(default_factory=list[str])
    review: str = ""
    collects: tuple[str, ...] = ()
    nothing_taken: bool = False
    start_recorded: bool = False
    asked_at: float | None = None
    waited: float = 0.0

    @classmethod
    def begin(cls, call: ToolCall, turn: Turn, audit: AuditLog, redactor: Redactor, policy_version: str) -> CallRecord:
        """Returns the record of a call that begins, and shows the call to the client; nothing has been decided yet."""
        tool = redactor.redact(visible(call.name, "show"))
        shown = redactor.redact_json(dict(call.arguments))
        record = cls(call, turn, audit, redactor, policy_version, digest(call.arguments), time.monotonic(), tool, shown)
        turn.emit(
            ToolCallEvent(
                **turn.stamp(),
                tool_call_id=call.id,
                tool=tool,
                intent=turn.intent.active,
                arguments=shown,
            )
        )
        return record

    @property
    def audited(self) -> Redactor:
        """The redactor of the audit log, which no project can blind."""
        return self.redactor.for_audit()

    def note_judgement(self, judgement: Judgement) -> None:
        """Notes how the call is judged from now on."""
        self.judgement, self.named = judgement, Worded.of(judgement)
        self.policy_version = judgement.policy_version

    def note_policy(self, version: str) -> None:
        """Notes the version of the policy that judges what the call has changed."""
        self.policy_version = version

    def note_permit(self, capability_id: str) -> None:
        """Notes the permit that the call runs under from now on, and audits that it was issued."""
        self.capability_id = capability_id
        self.record_capability(AuditKind.CAPABILITY_ISSUED, capability_id)

    def record_capability(self, kind: AuditKind, capability_id: str, **metadata: str) -> None:
        """Audits an event of a token. Writes nothing if the call only reads: its two records name the token anyway."""
        if self.reads_only:
            return
        self._append(replace(self._event(kind, metadata), capability_id=capability_id))

    def record_end_of_token(self, capability_id: str, state: Ended) -> None:
        """Audits the end of a token that is in `state`. A failure is only logged: the token ends anyway (APP-13)."""
        kind = ENDS[state]
        why = {"why": "the policy was changed"} if state == "revoked" else {}
        try:
            self.record_capability(kind, capability_id, **why)
        except ToolError:
            log.exception("the end of the token of call %s could not be audited", self.call.id)

    def record_sandbox(self, kind: AuditKind, sandbox: str, **metadata: str) -> None:
        """Audits an event of a sandbox."""
        self._append(self._event(kind, {"sandbox": sandbox, **metadata}))

    def record_process(self, kind: AuditKind, process: str, **metadata: str) -> None:
        """Audits an event of a process in the background."""
        self._append(self._event(kind, {"process": process, **metadata}))

    def record_retry(self, why: str) -> None:
        """Audits that a read is tried once more."""
        self._append(self._event(AuditKind.RETRY, {"why": self._summarise(why)}))

    @property
    def reads_only(self) -> bool:
        """Whether all judged actions only read."""
        actions = self.judgement.actions if self.judgement else ()
        return all(action.syscall in READING for action in actions)

    def note_collected(self, review: str) -> None:
        """Notes that the call's edits are collected, and the id of the later call that reviews them (APP-10)."""
        self.review = review

    def note_batch(self, calls: tuple[str, ...]) -> None:
        """Notes the calls whose edits this call reviews."""
        self.collects = calls

    def note_waiting(self, seconds: float) -> None:
        """Notes time that does not count as running time, because a review ran meanwhile."""
        self.waited += seconds

    def record_standing_answer(self) -> None:
        """Audits and shows that a standing answer settled a required review, so that the person sees why nobody
        asks."""
        judged = self.judgement
        if judged is None or judged.decision.verdict is not Verdict.REQUIRE_REVIEW:
            return
        word: Literal["allow", "deny"] = "allow" if judged.answer.word == "allow" else "deny"
        by: AnsweredBy = "standing_answer"
        scope, reason = FOR_THE_SESSION.get(judged.answer.source, Scope.ALWAYS), None
        if judged.answer.source == "workflow":
            by, scope, reason = "review", Scope.ONCE, judged.answer.reason
        self.record_answer(word, by, scope)
        stamp = self.turn.stamp()
        self.turn.emit(
            ApprovalResolved(**stamp, approval_id=self.call.id, decision=word, scope=scope, by=by, reason=reason)
        )

    def record_start(self) -> None:
        """Audits durably that the call is about to run, before anything runs. Raises ToolError if that fails."""
        if self.start_recorded:
            return
        self._record_intent()
        self.start_recorded = True

    def note_rebase(self, shown: Plan, now: Plan) -> None:
        """Notes which changes go into a text that has changed since the changes were prepared or shown."""
        if isinstance(shown, WritePlan) and isinstance(now, WritePlan):
            pairs = zip(shown.changes, now.changes, strict=True)
            moved = ((old.digest, *new.touched[-1]) for old, new in pairs if old != new)
            self.rebased += [f"{path.relative}: {was} as {before} to {after}" for was, path, before, after in moved]

    def note_part(self, shown: WritePlan, taken: WritePlan) -> None:
        """Notes the digest of each file that differs from the shown one because the person took only a part."""
        before = {change.path.relative: change.digest for change in shown.changes}
        now = {change.path.relative: change.digest for change in taken.changes}
        self.parts += [f"{path}: {was} as {now.get(path)}" for path, was in before.items() if was != now.get(path)]

    def note_nothing_taken(self) -> None:
        """Notes that the person left out every part, which is a no."""
        self.nothing_taken = True

    def record_question(self, approval_id: str, subject_digest: str) -> None:
        """Audits that a person is asked."""
        self.approval_id, self.asked_at = approval_id, time.monotonic()
        self._append(self._event(AuditKind.APPROVAL_REQUIRED, {"digest": subject_digest}))

    def record_answer(
        self,
        decision: Literal["allow", "deny"],
        by: AnsweredBy,
        scope: Scope,
        *,
        rule: str | None = None,
        left_out: str | None = None,
        why: str | None = None,
    ) -> None:
        """Audits how the question ended and how long that took; the waiting does not count as running time.

        `rule` is the permission rule that the answer adds, `left_out` names the parts that were not taken, `why` says
        why nobody was asked.
        """
        more = {"rule": rule, "left_out": self._summarise(left_out) if left_out else None, "why": why}
        if by == "standing_answer" and self.judgement is not None:
            more["rule_at"] = str(self.judgement.answer.at)
        metadata = {"decision": decision, "by": by, "scope": scope, **{k: v for k, v in more.items() if v}}
        took = time.monotonic() - self.asked_at if self.asked_at is not None else 0.0
        self.asked_at, self.waited = None, self.waited + took
        if not self.start_recorded:  # later questions are about what the call has changed
            asked = self.approval_id or self.call.id
            self.answer = CallAnswer(approval_id=asked, decision=decision, scope=scope, by=by)
        event = replace(self._event(AuditKind.APPROVAL_RESOLVED, metadata), duration_ms=round(took * 1000, 3))
        self._append(replace(event, denied_by=by if decision == "deny" else None))

    def record_merge(self, refused: Sequence[tuple[str, str]]) -> None:
        """Audits which of a command's changes were merged, and which were dropped and why."""
        if done := [*self.changed, *(f"{each.path.relative}/" for each in self.folders)]:
            changed = self._summarise(", ".join(done))
            self._append(self._event(AuditKind.MERGE_APPROVED, {"changed": changed}))
        if refused:
            dropped = self._summarise("; ".join(f"{path}: {why}" for path, why in refused))
            self._append(self._event(AuditKind.MERGE_REJECTED, {"refused": dropped}))

    def record_commit(self, branch: str, parent: str | None, commit: str, tree: str) -> None:
        """Audits the commit that was made. Raises ToolError if that fails."""
        found = {"branch": self._summarise(visible(branch, "show")), "parent": parent or "none"}
        self._append(self._event(AuditKind.COMMITTED, found | {"commit": commit, "tree": tree}))

    def record_attempt(self, attempt: Attempt) -> None:
        """Audits that a command tried to reach a host. Raises ToolError if that fails."""
        kind = AuditKind.NETWORK_ALLOWED if attempt.allowed else AuditKind.NETWORK_DENIED
        host = self._summarise(visible(attempt.target, "show"))
        self._append(replace(self._event(kind, {"host": host}), deny_reason=attempt.why or None))

    def show_output(self, text: str) -> None:
        """Shows more output of a running command; `text` is redacted already."""
        self.turn.emit(ToolOutput(**self.turn.stamp(), tool_call_id=self.call.id, text=text))

    def show_wait(self, wait: Wait, means: str) -> None:
        """Shows that the command waits, or goes on."""
        self.turn.emit(CommandWaits(**self.turn.stamp(), tool_call_id=self.call.id, wait=wait, means=means))

    def finish(self, outcome: Outcome, most_chars: int) -> CallResult:
        """Redacts, audits, shows and returns the outcome of the call; only redacted text is shown and returned."""
        room = most_chars if self.turn.room_chars is None else min(most_chars, self.turn.room_chars)
        failure, code = outcome.failure, outcome.exit_code
        said = outcome.text if failure is None else f"{_error_text(failure)}\n{outcome.text}".rstrip("\n")
        text = truncate(self.redactor.redact(said), room, "middle")
        summary = self._redact(outcome.summary)
        self._record_outcome(said, outcome.summary, failed=failure is not None, exit_code=code)
        error = None if failure is None else self._payload(failure)
        shown = self._show(summary, text, error=error, exit_code=code, data=redact_data(outcome.data, self.redactor))
        self._note_end(error, program=None if not shown.ran_program else "" if shown.went_well else shown.summary)
        return CallResult(shown.ok, text, self.args_digest)

    def finish_already(self, so: AlreadySo) -> CallResult:
        """Audits and shows that nothing had to be done."""
        if not self.start_recorded:
            self._record_intent()
        text = f"{so.what}: {so.why}"
        return self.finish(Outcome(text, text, data={"already": True}), len(text))

    def finish_refused(self, error: ToolError) -> CallResult:
        """Redacts and audits why the call was refused or failed, and shows it."""
        again = "\nretryable: the system failed for a moment" if is_transient(error) else ""
        text = self._redact(f"{_error_text(error)}{again}")
        reason = f"{error.what}: {error.why}"
        if not self.start_recorded:
            self._record_intent(deny_reason=self._summarise(reason))
        self._record_outcome(text, reason, failed=True)
        payload = self._payload(error)
        payload = payload.model_copy(update={"retryable": True}) if again else payload
        told = told_to_person(self._redact(reason), self.shown)
        self._show(told, text, error=payload, data=redact_data(error.data, self.redactor))
        self._note_end(payload)
        return CallResult(False, text, self.args_digest)

    def finish_interrupted(self, error: BaseException) -> None:
        """Audits and shows that a cancellation or a defect cut the call short, and what it had changed by then."""
        why = "it was cancelled" if isinstance(error, asyncio.CancelledError) else f"a defect, {type(error).__name__}"
        text = f"interrupted: {why}"
        try:
            self.record_start()
            self._record_outcome(text, text, failed=True)
        except ToolError:  # what cut the call short matters more than that it could not be recorded
            log.exception("the end of call %s could not be audited", self.call.id)
        try:
            cut = describe_interruption(self.tool, self.changed, cancelled=isinstance(error, asyncio.CancelledError))
            self._show(f"{cut.what}: {cut.why}", f"error {cut.code}: {cut.what}: {cut.why}", error=cut.payload())
        except Exception:  # the client is gone, which may be what cut it short
            log.warning("nobody was told how call %s ended", self.call.id)

    def _record_outcome(self, result: str, clean: str, *, failed: bool = False, exit_code: int | None = None) -> None:
        result_digest, summary = digest(result), self._summarise(clean)
        noted = {name: self._summarise(", ".join(texts)) for name, texts in self._noted().items() if texts}
        event = replace(
            self._event(AuditKind.TOOL_OUTCOME, noted),
            result_digest=result_digest,
            output_summary=summary,
            exit_code=exit_code,
            duration_ms=self._elapsed_ms(),
            deny_reason=summary if failed else None,
        )
        self._append(event)
        self.turn.trace.append(
            ToolTrace(
                tool_call_id=self.call.id,
                tool=self.tool,
                intent=self.turn.intent.active,
                args_digest=self.args_digest,
                decision=self._decision_word(),
                rule=self.named.rule,
                approval_id=self.approval_id,
                duration_ms=self._elapsed_ms(),
                exit_code=exit_code,
                result_digest=result_digest,
            )
        )

    def _noted(self) -> dict[str, Sequence[str]]:
        """Returns what else the outcome's record says, by name."""
        review = (self.review,) if self.review else ()
        changes = {"changed": self.changed, "rebased": self.rebased, "parts": self.parts}
        return {**changes, "review": review, "collects": self.collects}

    def _note_end(self, error: ErrorPayload | None, program: str | None = None) -> None:
        actions = self.judgement.actions if self.judgement else ()
        # A call whose edits were only collected does not act: its review writes or refuses them.
        acting = [each.syscall for each in actions if each.syscall not in READING and not self.review]
        works = any(not syscall.startswith(STEPS) for syscall in acting)
        self.turn.note_end(EndedCall(bool(acting), works, self.turn.own_call, error, program))

    def _show(
        self,
        clean: str,
        text: str,
        *,
        error: ErrorPayload | None = None,
        exit_code: int | None = None,
        data: dict[str, JsonValue] | None = None,
    ) -> ToolResultEvent:
        return self.turn.emit(
            ToolResultEvent(
                **self.turn.stamp(),
                tool_call_id=self.call.id,
                tool=self.tool,
                ok=error is None,
                summary=clean,
                output=text,
                data=data or {},
                error=error,
                decision=self._decision_word(error.code if error else None),
                answer=self.answer,
                rules=self.named.rules,
                reasons=self.named.reasons,
                changed_files=tuple(self.changed),
                exit_code=exit_code,
                duration_ms=self._elapsed_ms(),
            )
        )

    def _event(self, kind: AuditKind, metadata: Mapping[str, str]) -> AuditEvent:
        return replace(
            placed_event(kind, self.turn, self.turn.memory.position, metadata),
            tool_call_id=self.call.id,
            tool_name=self.audited.redact(visible(self.call.name, "show")),
            syscall_type=self.named.syscall,
            intent=self.turn.intent.active,
            policy_decision=self._decision_word(),
            policy_rule_name=self.named.rule,
            policy_rule_at=self.named.rule_at,
            policy_version=self.policy_version,
            denied_by=self._denied_by(),
            approval_id=self.approval_id,
            capability_id=self.capability_id,
            args_digest=self.args_digest,
        )

    def _denied_by(self) -> AnsweredBy | None:
        """Returns who or what denied the call that policy itself did not deny."""
        if self.answer is not None:
            return self.answer.by if self.answer.decision == "deny" or self.nothing_taken else None
        judged = self.judgement
        return "standing_answer" if judged is not None and judged.denied_by_person else None

    def _record_intent(self, deny_reason: str | None = None) -> None:
        """Writes the record that holds what was judged, so that the judgement can be replayed."""
        judged = self.judgement
        actions, decision = (judged.actions, judged.settled) if judged else ((), None)
        kept = record_judgement(actions, decision, self.audited.redact)
        given = {"run_metadata": self._summarise(str(dict(self.turn.metadata)))} if self.turn.metadata else {}
        event = replace(
            self._event(AuditKind.TOOL_INTENT, {**kept.notes, **given}),
            input_summary=summarise_arguments(self.audited.redact_json(dict(self.call.arguments)), self.audited),
            actions=kept.actions,
            reasons=kept.reasons,
            deny_reason=deny_reason,
        )
        self._append(event)

    def _append(self, event: AuditEvent) -> None:
        append(self.audit, event)

    def _decision_word(self, code: ErrorCode | None = None) -> str:
        """Returns policy's decision in a word, or, if policy was not asked, that the gate or another check refused."""
        return self.named.word or ("refused_by_gate" if code in GATE_CODES else "refused")

    def _payload(self, error: ToolError) -> ErrorPayload:
        """Returns a failure as clients show it, without secrets, worded for a person. What the model reads of the same
        call stays worded for a model, and so does the fix if another agent made the call."""
        for_model = self.turn.caller == "agent"
        payload = redact_error(error.payload() if for_model else error.payload_for_person(), self.redactor)
        told = {name: told_to_person(getattr(payload, name), self.shown) for name in ("message", "what", "why")}
        return payload.model_copy(update=told)

    def _redact(self, text: str) -> str:
        return truncate(self.redactor.redact(text), MAX_ERROR, "middle")

    def _summarise(self, text: str) -> str:
        return summarise(text, self.audited)

    def _elapsed_ms(self) -> float:
        return round(max(0.0, time.monotonic() - self.started - self.waited) * 1000, 3)


def _error_text(error: ToolError) -> str:
    """Returns a failure as a model reads it. It begins with `error `, which tells it apart from a call's result."""
    return f"error {error.code}: {error.what}: {error.why}\nfix: {error.fix}"
