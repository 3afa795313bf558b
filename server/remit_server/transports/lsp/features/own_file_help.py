"""Help in Remit's own files, by `textDocument/completion` and `textDocument/hover`: what may stand at the cursor, what
a rule does, how often it has decided, and what a key means (POL-14, CFG-04).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Place, offset_at
from remit_server.transports.lsp.buffers.own_files import (
    ConfigFile,
    OwnDocument,
    PolicyFile,
    Positions,
    call_in_thread,
    own_file,
    settings_here,
)

if TYPE_CHECKING:
    from remit_governance.policy.editing.completion import Completion
    from remit_governance.policy.editing.hover import Hover
    from remit_server.runtime.settings import Settings
    from remit_server.transports.lsp.connection.connection import Snapshot


OPTIONS = lsp.CompletionOptions(trigger_characters=[":", "{", "[", ","])

_KINDS = {"key": lsp.CompletionItemKind.Property, "word": lsp.CompletionItemKind.EnumMember}


async def complete(snapshot: Snapshot, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """Returns the completions at the position, or None if the document is none of Remit's own files."""
    document = snapshot.own_file
    if document is None:
        return None
    place = Place(params.position.line, params.position.character)
    return await call_in_thread(lambda: _complete(snapshot, document, place))


def _complete(snapshot: Snapshot, document: OwnDocument, place: Place) -> lsp.CompletionList | None:
    settings = settings_here(snapshot.folders.root_of(document.path))
    text = document.text
    offset = offset_at(text, place, snapshot.client.encoding)
    match own_file(document.path, settings) if settings is not None else None:
        case PolicyFile(kind):
            found = _complete_policy(text, offset, project=kind == "project")
        case ConfigFile(project):
            found = _complete_config(text, offset, project=project)
        case None:
            return None
    positions = Positions(text, snapshot.client.encoding)
    items = [
        lsp.CompletionItem(
            label=each.label,
            kind=_KINDS[each.kind],
            documentation=each.meaning or None,
            sort_text=f"{number:03}",
            text_edit=lsp.TextEdit(positions.range(each.span), each.text),
        )
        for number, each in enumerate(found)
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


def _complete_policy(text: str, offset: int, *, project: bool) -> Sequence[Completion]:
    from remit_governance.policy.editing.completion import completions
    from remit_server.tools.table import TOOLS

    return completions(text, offset, {tool.name: tool.summary for tool in TOOLS.values()}, project=project)


def _complete_config(text: str, offset: int, *, project: bool) -> Sequence[Completion]:
    from remit_server.runtime.config.editing import completions

    return completions(text, offset, project=project)


async def hover(snapshot: Snapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Returns the description of what is at the position, or None if there is none, or the document is none of Remit's
    own files.
    """
    document = snapshot.own_file
    if document is None:
        return None
    at = Place(params.position.line, params.position.character)
    return await call_in_thread(lambda: _hover(snapshot, document, at))


def _hover(snapshot: Snapshot, document: OwnDocument, at: Place) -> lsp.Hover | None:
    root = snapshot.folders.root_of(document.path)
    settings = settings_here(root)
    if settings is None:
        return None
    text = document.text
    offset = offset_at(text, at, snapshot.client.encoding)
    match own_file(document.path, settings):
        case PolicyFile():
            found = _explain_policy(text, offset)
        case ConfigFile():
            found = _explain_config(text, offset)
        case None:
            found = None
    if found is None:
        return None
    counted = f"\n\n{_hits(settings, found.rule)}" if found.rule and root is not None else ""
    kind = lsp.MarkupKind.Markdown if snapshot.client.hovers_in_markdown else lsp.MarkupKind.PlainText
    return lsp.Hover(
        lsp.MarkupContent(kind, found.text + counted), Positions(text, snapshot.client.encoding).range(found.span)
    )


def _explain_policy(text: str, offset: int) -> Hover | None:
    from remit_governance.policy.editing.hover import hover as explain
    from remit_server.tools.table import TOOLS

    return explain(text, offset, {tool.name: tool.summary for tool in TOOLS.values()})


def _explain_config(text: str, offset: int) -> Hover | None:
    from remit_server.runtime.config.editing import hover as explain

    return explain(text, offset)


def _hits(settings: Settings, rule: str) -> str:
    from remit_governance.audit.reading.query import AuditFilter, query_audit
    from remit_governance.audit.record import AuditKind
    from remit_governance.errors import AuditError
    from remit_governance.policy.editing.hover import CALLS, hits

    if not settings.audit_database.exists():
        return hits((), rule)
    try:
        # Each call has exactly one of these records, however it ends.
        calls = query_audit(settings.audit_database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=CALLS))
    except AuditError as error:
        return f"{error.what}; {error.fix}"
    return hits(calls, rule)
