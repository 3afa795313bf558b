"""Which records may wait for a short time before the disk has them, and for how long (AUD-02).
Pure.

A record that waits is lost if the power fails, though not with its process; so only what says nothing about what was
refused, asked or changed may wait, and whatever is not listed here may not.
"""

from __future__ import annotations

from remit_governance.audit.record import AuditEvent, AuditKind

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
    """Returns whether a checkpoint is to be made soon after the record: of the kinds above, or of a call that was
    refused."""
    refused = event.kind is AuditKind.TOOL_INTENT and event.policy_decision not in {"allowed", "allowed_by_token"}
    return event.kind in SECURITY or refused


def may_wait(event: AuditEvent) -> bool:
    """Returns whether the record is of a declared intent, of how work goes on, or before or after an allowed read."""
    if event.kind in _OF_CALLS:
        return (
            event.syscall_type in READING
            and event.policy_decision in {"allowed", "allowed_by_token"}
            and event.deny_reason is None
            and not event.metadata
        )
    return event.kind in OPERATIONAL
