"""What a record of the audit log holds, and how records are chained (AUD-06).

`hash = SHA-256(prev_hash ‖ canonical JSON of the record)`, both hashes as lower-case hex; the first `prev_hash` is
SHA-256 of `genesis:` and the start time in milliseconds, and in every later segment of a log also of `:` and the last
hash of the segment before it.

Also which records may wait for a short time before they are on the disk (AUD-02). A record that waits is lost if the
power fails, though not if its process ends. So only records that say nothing about a refusal, a question or a change
may wait, and kinds that are not listed here may not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any, cast

from remit_governance.canonical import Json
from remit_governance.values import Intent

MAX_SUMMARY = 500
"""Characters of an input or output summary, after redaction."""


class AuditKind(StrEnum):
    """The kinds of records."""

    KERNEL_START = "kernel_start"
    KERNEL_SHUTDOWN = "kernel_shutdown"
    INTENT_SELECTED = "intent_selected"
    TOOL_INTENT = "tool_intent"
    TOOL_OUTCOME = "tool_outcome"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_RESOLVED = "approval_resolved"
    APPROVAL_REFUSED = "approval_refused"
    EDITS_CHANGE = "edits_change"
    MERGE_APPROVED = "merge_approved"
    MERGE_REJECTED = "merge_rejected"
    COMMITTED = "committed"
    CAPABILITY_ISSUED = "capability_issued"
    CAPABILITY_USED = "capability_used"
    CAPABILITY_ENDED = "capability_ended"
    CAPABILITY_REVOKED = "capability_revoked"
    CAPABILITY_EXPIRED = "capability_expired"
    SANDBOX_QUEUED = "sandbox_queued"
    SANDBOX_CREATED = "sandbox_created"
    SANDBOX_PAUSED = "sandbox_paused"
    SANDBOX_RESUMED = "sandbox_resumed"
    SANDBOX_DESTROYED = "sandbox_destroyed"
    SANDBOX_FAILED = "sandbox_failed"
    PROCESS_STARTED = "process_started"
    PORT_PUBLISHED = "port_published"
    PROCESS_ENDED = "process_ended"
    RUN_STARTED = "run_started"
    RUN_COMPLETED = "run_completed"
    RETRY = "retry"
    NETWORK_ALLOWED = "network_allowed"
    NETWORK_DENIED = "network_denied"
    STATE_TRANSITION = "state_transition"
    SESSION_MODE_CHANGE = "session_mode_change"
    BUDGET_UPDATE = "budget_update"
    POLICY_UPDATE = "policy_update"
    AUDIT_CHAIN_BREAK = "audit_chain_break"
    AUDIT_STORAGE_WARNING = "audit_storage_warning"
    AUDIT_STORAGE_CRITICAL = "audit_storage_critical"
    AUDIT_SET_ASIDE = "audit_set_aside"
    AUDIT_SEGMENT_CLOSED = "audit_segment_closed"
    AUDIT_ARCHIVE_DELETED = "audit_archive_deleted"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event to be recorded; fields that are None are left out of the record. The caller has to redact summaries and
    cut them to `MAX_SUMMARY`.

    `policy_decision` is one of the seed's words (`allowed denied review_required allowed_by_token`), `policy_rule_at`
    the `file:line` of the rule that decided. `denied_by` says who or what denied a call that policy did not deny.
    `actions` and `reasons` are the judged actions and all reasons as JSON (`policy/decision/recorded.py`).
    `args_digest` and `result_digest` are of the unredacted values. `duration_ms` is in milliseconds.
    """

    kind: AuditKind
    caller: str = "kernel"
    session_id: str | None = None
    turn_id: str | None = None
    step: int | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    syscall_type: str | None = None
    intent: Intent | None = None
    justification: str | None = None
    session_mode: str | None = None
    state_machine_state: str | None = None
    policy_decision: str | None = None
    policy_rule_name: str | None = None
    policy_rule_at: str | None = None
    policy_version: str | None = None
    denied_by: str | None = None
    actions: str | None = None
    reasons: str | None = None
    deny_reason: str | None = None
    capability_id: str | None = None
    approval_id: str | None = None
    args_digest: str | None = None
    result_digest: str | None = None
    input_summary: str = ""
    output_summary: str | None = None
    exit_code: int | None = None
    duration_ms: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


_NAMES = tuple(f.name for f in fields(AuditEvent))
_VALUES = attrgetter(*_NAMES)
_SORTED = sorted((*_NAMES, "number", "timestamp"))
_NUMBER, _TIMESTAMP = _SORTED.index("number"), _SORTED.index("timestamp")
_FIRST, _MIDDLE, _LAST = (
    attrgetter(*_SORTED[start:end]) for start, end in ((0, _NUMBER), (_NUMBER + 1, _TIMESTAMP), (_TIMESTAMP + 1, None))
)
# The fields of a record before and after its number; neither part is empty, for each record has a kind and a time.
_BEFORE, _AFTER = (tuple(f'"{name}":' for name in names) for names in (_SORTED[:_NUMBER], _SORTED[_NUMBER + 1 :]))
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """An event in its place in the chain. `number` counts from 1, `timestamp` is milliseconds since the epoch."""

    number: int
    timestamp: int
    prev_hash: str
    hash: str
    event: AuditEvent

    def json(self) -> dict[str, Json]:
        """Returns the record as exports and `--json` show it, hashes included."""
        return {
            **_content(self.number, self.timestamp, self.event),
            "prev_hash": self.prev_hash,
            "hash": self.hash,
        }


def genesis_hash(started_ms: int, previous: str = "") -> str:
    """Returns the `prev_hash` of the first record of a segment started at this time (milliseconds since the epoch).

    `previous` is the last hash of the segment before it, empty for a log's first.
    """
    carried = f":{previous}" if previous else ""
    return hashlib.sha256(f"genesis:{started_ms}{carried}".encode()).hexdigest()


def chain_hash(prev_hash: str, content: bytes) -> str:
    """Returns the hash of a record whose canonical JSON is `content`."""
    return hashlib.sha256(prev_hash.encode() + content).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """An event before it is a record: when it happened (milliseconds since the epoch), and the record's canonical JSON
    before and after its number, which only the log knows."""

    timestamp: int
    event: AuditEvent
    before: bytes
    after: bytes

    @classmethod
    def of(cls, timestamp: int, event: AuditEvent) -> Entry:
        """Returns the entry of an event. Raises ValueError or TypeError for values that JSON cannot express.

        Makes the same bytes as `canonical.canonical`, but assembled by hand, because every call waits for this and it
        is twice as fast.
        """
        nothing = None if event.metadata else event.metadata
        later = (*_MIDDLE(event), timestamp, *_LAST(event))
        return cls(timestamp, event, _joined(_BEFORE, _FIRST(event), nothing), _joined(_AFTER, later, nothing))

    def content(self, number: int) -> bytes:
        """Returns the canonical JSON of the record with this number."""
        return b'{%b,"number":%d,%b}' % (self.before, number, self.after)


def _joined(heads: Sequence[str], values: Sequence[Any], nothing: object) -> bytes:
    parts = [
        head + (encode_basestring(value) if isinstance(value, str) else _said(value))
        for head, value in zip(heads, values, strict=True)
        if value is not None and value is not nothing
    ]
    return ",".join(parts).encode("utf-8", "backslashreplace")


def _said(value: float | Mapping[str, str]) -> str:
    if type(value) is int:
        return str(value)
    return _ENCODE(dict(value) if isinstance(value, Mapping) else value)


def read_content(content: str) -> tuple[int, int, AuditEvent]:
    """Returns the number, timestamp and event of a record's canonical JSON. Raises ValueError if it is no record."""
    try:
        value: dict[str, Any] = json.loads(content)
        given: dict[str, Any] = {name: value[name] for name in _NAMES if name in value}
        if not _well_typed(given):
            raise TypeError("a field holds something other than text or a number")
        given["kind"] = AuditKind(value["kind"])
        given["intent"] = Intent(value["intent"]) if "intent" in value else None
        return int(value["number"]), int(value["timestamp"]), AuditEvent(**given)
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not an audit record: {error}") from None


def _well_typed(given: Mapping[str, Any]) -> bool:
    """Returns whether each field holds a value of a possible type. An intact chain does not ensure that, because
    someone can recompute a chain around any content."""
    metadata = given.get("metadata", {})
    others = (value for name, value in given.items() if name != "metadata")
    return (
        isinstance(metadata, dict)
        and all(isinstance(value, str) for value in cast("dict[str, object]", metadata).values())
        and all(isinstance(value, str | int | float) for value in others)
    )


def _content(number: int, timestamp: int, event: AuditEvent) -> dict[str, Json]:
    present: dict[str, Json] = {
        name: value for name, value in zip(_NAMES, _VALUES(event), strict=True) if value is not None
    }
    present["number"], present["timestamp"] = number, timestamp
    if event.metadata:
        present["metadata"] = dict(event.metadata)
    else:
        del present["metadata"]
    return present


MAX_AGE_S = 0.5

READING = frozenset({"fs.read", "fs.list"})

OPERATIONAL = frozenset(
    {
        AuditKind.INTENT_SELECTED,
        AuditKind.CAPABILITY_USED,
        AuditKind.CAPABILITY_ENDED,
        AuditKind.CAPABILITY_REVOKED,
        AuditKind.CAPABILITY_EXPIRED,
        AuditKind.SANDBOX_QUEUED,
        AuditKind.SANDBOX_CREATED,
        AuditKind.SANDBOX_PAUSED,
        AuditKind.SANDBOX_RESUMED,
        AuditKind.SANDBOX_DESTROYED,
        AuditKind.SANDBOX_FAILED,
        AuditKind.RUN_STARTED,
        AuditKind.RUN_COMPLETED,
        AuditKind.RETRY,
    }
)
_OF_CALLS = frozenset({AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME})

SECURITY = frozenset(
    {
        AuditKind.APPROVAL_RESOLVED,
        AuditKind.APPROVAL_REFUSED,
        AuditKind.EDITS_CHANGE,
        AuditKind.MERGE_APPROVED,
        AuditKind.MERGE_REJECTED,
        AuditKind.COMMITTED,
        AuditKind.NETWORK_DENIED,
        AuditKind.SESSION_MODE_CHANGE,
        AuditKind.BUDGET_UPDATE,
        AuditKind.POLICY_UPDATE,
        AuditKind.AUDIT_CHAIN_BREAK,
        AuditKind.AUDIT_SET_ASIDE,
        AuditKind.AUDIT_ARCHIVE_DELETED,
    }
)


def wants_checkpoint(event: AuditEvent) -> bool:
    """Returns whether a checkpoint is to be made soon after the record, because its kind is in `SECURITY`, or because
    it is of a call that was not simply allowed."""
    refused = event.kind is AuditKind.TOOL_INTENT and event.policy_decision not in {"allowed", "allowed_by_token"}
    return event.kind in SECURITY or refused


def may_wait(event: AuditEvent) -> bool:
    """Returns whether the record may wait for the disk: its kind is in `OPERATIONAL`, or it is one of the two records
    of an allowed read."""
    if event.kind in _OF_CALLS:
        return (
            event.syscall_type in READING
            and event.policy_decision in {"allowed", "allowed_by_token"}
            and event.deny_reason is None
            and not event.metadata
        )
    return event.kind in OPERATIONAL
