"""A permit that is noted, spent and ended in the audit log: nothing is carried out but under one (APP-07)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from remit_governance.audit.record import AuditKind
from remit_governance.capabilities import DEFAULT_TTL_S
from remit_governance.rulebook import Rulebook
from remit_governance.values import Action, Decision
from remit_server.harness.permit import Permit, mint_permit
from remit_server.harness.record.call_record import CallRecord


@contextmanager
def permitted(
    rulebook: Rulebook,
    judged: Sequence[tuple[Action, Decision]],
    policy_version: str,
    record: CallRecord,
    *,
    approved: bool,
    ttl_s: float = DEFAULT_TTL_S,
    begin: Callable[[], None] = lambda: None,
) -> Generator[Permit]:
    """Mints a permit for what was judged, has it begin, and spends the permit; revokes it at the end.

    Raises ToolError, as `mint_permit` does; `audit_broken`.
    """
    with mint_permit(rulebook, judged, policy_version, approved=approved, ttl_s=ttl_s) as permit:
        record.note_permit(permit.id)
        begin()
        permit.use()
        record.record_capability(AuditKind.CAPABILITY_USED, permit.id)
        try:
            yield permit
        finally:
            record.record_end_of_token(permit.id, permit.state)
