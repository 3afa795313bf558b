"""`textDocument/hover` in policy files: what a rule does and how often it did, what a key means
(protocol.md §3, Standard)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.lsp.edits import Place, offset_at
from remit_server.lsp.features.policy_files import PolicyBuffer, Positions, aside, kind_of, settings_here

if TYPE_CHECKING:  # slow to import
    from remit_server.lsp.server import RemitServer
    from remit_server.runtime.settings import Settings


async def hover(ls: RemitServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is to be said about the position; None where the document is no policy."""
    buffer = ls.policies.at(params.text_document.uri)
    if buffer is None:
        return None
    place = Place(params.position.line, params.position.character)
    return await aside(lambda: _hover(ls, buffer, place))


def _hover(ls: RemitServer, buffer: PolicyBuffer, place: Place) -> lsp.Hover | None:
    from remit_governance.policy.editing.hover import hover as about
    from remit_server.tools.table import TOOLS

    root = ls.root_of(buffer.path)
    settings = settings_here(root)
    if settings is None or kind_of(buffer.path, settings) is None:
        return None
    text = buffer.text
    said = about(text, offset_at(text, place), {tool.name: tool.summary for tool in TOOLS.values()})
    if said is None:
        return None
    counted = f"\n\n{_hits(settings, said.rule)}" if said.rule and root is not None else ""
    kind = lsp.MarkupKind.Markdown if ls.client.hovers_in_markdown else lsp.MarkupKind.PlainText
    return lsp.Hover(lsp.MarkupContent(kind, said.text + counted), Positions(text).range(said.span))


def _hits(settings: Settings, rule: str) -> str:
    from remit_governance.audit.reading.query import AuditFilter, query_audit
    from remit_governance.audit.record import AuditKind
    from remit_governance.errors import AuditError
    from remit_governance.policy.editing.hits import CALLS, hits

    if not settings.audit_database.exists():
        return hits((), rule)
    try:
        # Each call leaves exactly one of these, whatever becomes of it.
        calls = query_audit(settings.audit_database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=CALLS))
    except AuditError as error:
        return f"{error.what}; {error.fix}"
    return hits(calls, rule)
