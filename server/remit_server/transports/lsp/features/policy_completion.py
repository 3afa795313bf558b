"""`textDocument/completion` in policy files (POL-14)."""

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

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Snapshot

OPTIONS = lsp.CompletionOptions(trigger_characters=[":", "{", "[", ","])

_KINDS = {"key": lsp.CompletionItemKind.Property, "word": lsp.CompletionItemKind.EnumMember}


async def complete(snapshot: Snapshot, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """Returns the completions at the position; None where the document is not a policy."""
    document = snapshot.policy
    if document is None:
        return None
    place = Place(params.position.line, params.position.character)
    return await call_in_thread(lambda: _complete(snapshot, document, place))


def _complete(snapshot: Snapshot, document: PolicyDocument, place: Place) -> lsp.CompletionList | None:
    from remit_governance.policy.editing.completion import completions
    from remit_server.tools.table import TOOLS

    settings = settings_here(snapshot.folders.root_of(document.path))
    kind = kind_of(document.path, settings) if settings is not None else None
    if kind is None:
        return None
    text = document.text
    tools = {tool.name: tool.summary for tool in TOOLS.values()}
    found = completions(text, offset_at(text, place), tools, project=kind == "project")
    positions = Positions(text)
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
