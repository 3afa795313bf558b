"""`textDocument/completion` in Remit's own files (POL-14, CFG-04)."""

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
    from remit_server.transports.lsp.connection import Snapshot

OPTIONS = lsp.CompletionOptions(trigger_characters=[":", "{", "[", ","])

_KINDS = {"key": lsp.CompletionItemKind.Property, "word": lsp.CompletionItemKind.EnumMember}


async def complete(snapshot: Snapshot, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """Returns the completions at the position; None where the document is none of Remit's own files."""
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
            found = _of_policy(text, offset, project=kind == "project")
        case ConfigFile(project):
            found = _of_config(text, offset, project=project)
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


def _of_policy(text: str, offset: int, *, project: bool) -> Sequence[Completion]:
    from remit_governance.policy.editing.completion import completions
    from remit_server.tools.table import TOOLS

    return completions(text, offset, {tool.name: tool.summary for tool in TOOLS.values()}, project=project)


def _of_config(text: str, offset: int, *, project: bool) -> Sequence[Completion]:
    from remit_server.runtime.config.editing import completions

    return completions(text, offset, project=project)
