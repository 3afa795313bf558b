"""`textDocument/hover` in policy files: what a rule does, how often it did, and what a key means (POL-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Place, offset_at
from remit_server.transports.lsp.buffers.policy_files import (
    PolicyDocument,
    Positions,
    call_in_thread,
    kind_of,
    settings_here,
)

if TYPE_CHECKING:  # slow to import
    from remit_server.runtime.settings import Settings
    from remit_server.transports.lsp.connection import Snapshot


async def hover(snapshot: Snapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Returns the description of what is at the position; None where the document is not a policy."""
    document = snapshot.policy
    if document is None:
        return None
    place = Place(params.position.line, params.position.character)
    return await call_in_thread(lambda: _hover(snapshot, document, place))


def _hover(snapshot: Snapshot, document: PolicyDocument, place: Place) -> lsp.Hover | None:
    from remit_governance.policy.editing.hover import hover as explain
    from remit_server.tools.table import TOOLS

    root = snapshot.folders.root_of(document.path)
    settings = settings_here(root)
    if settings is None or kind_of(document.path, settings) is None:
        return None
    text = document.text
    found = explain(text, offset_at(text, place), {tool.name: tool.summary for tool in TOOLS.values()})
    if found is None:
        return None
    counted = f"\n\n{_hits(settings, found.rule)}" if found.rule and root is not None else ""
    kind = lsp.MarkupKind.Markdown if snapshot.client.hovers_in_markdown else lsp.MarkupKind.PlainText
    return lsp.Hover(lsp.MarkupContent(kind, found.text + counted), Positions(text).range(found.span))


def _hits(settings: Settings, rule: str) -> str:
    from remit_governance.audit.reading.query import AuditFilter, query_audit
    from remit_governance.audit.record import AuditKind
    from remit_governance.errors import AuditError
    from remit_governance.policy.editing.hits import CALLS, hits

    if not settings.audit_database.exists():
        return hits((), rule)
    try:
        # Each call has exactly one of these records, however it ends.
        calls = query_audit(settings.audit_database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=CALLS))
    except AuditError as error:
        return f"{error.what}; {error.fix}"
    return hits(calls, rule)
