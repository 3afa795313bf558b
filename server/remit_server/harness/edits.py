"""Lets a session's edits run without a question, and takes that back: recorded before it holds (APP-15)."""

from __future__ import annotations

from dataclasses import replace

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_server.harness.record.audit_append import append
from remit_server.harness.turn import SessionMemory


def allow_edits(memory: SessionMemory, audit: AuditLog, *, allow: bool) -> None:
    """Allows every edit of the session, or has the person asked again. Raises ToolError: then nothing has changed."""
    if memory.standing.edits is allow:
        return
    metadata = {"decision": "allow" if allow else "ask"}
    append(audit, AuditEvent(AuditKind.EDITS_CHANGE, "human", memory.session_id, metadata=metadata))
    memory.standing = replace(memory.standing, edits=allow)
