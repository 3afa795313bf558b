"""`textDocument/codeAction` and `codeAction/resolve`: what can be asked about the identifier under the cursor
(protocol.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types as lsp

from remit_server.lsp.edits import Place, identifier_at
from remit_server.lsp.types import Json

if TYPE_CHECKING:
    from remit_server.lsp.client import Client
    from remit_server.lsp.server import RemitServer

RENAME_KIND = "refactor.rewrite.remit"
EXPLAIN_KIND = "refactor.remit.explain"
OPTIONS = lsp.CodeActionOptions(code_action_kinds=[RENAME_KIND, EXPLAIN_KIND], resolve_provider=True)

Producer: TypeAlias = "Callable[[Client, str, str], lsp.CodeAction | None]"
"""(client, path, name) → the action, or None where this client cannot use it."""


def offer(ls: RemitServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions that fit the selection and the kinds asked for."""
    buffer = ls.documents.at(params.text_document.uri) if ls.documents else None
    if buffer is None:
        return []
    start, end = params.range.start, params.range.end
    name = identifier_at(buffer.text, Place(start.line, start.character), Place(end.line, end.character))
    if name is None:
        return []
    kinds = [kind for kind in PRODUCERS if _wanted(kind, params.context.only)]
    found = (PRODUCERS[kind](ls.client, buffer.relative, name) for kind in kinds)
    return [_tagged(ls.client, action) for action in found if action is not None]


def resolve(ls: RemitServer, action: lsp.CodeAction) -> lsp.CodeAction:
    """The action with its command filled in; one that was not ours comes back as it is."""
    del ls
    match action.data:
        case {"explain": {"path": str() as path, "name": str() as name}}:
            action.command = _explain_command(path, name)
        case _:
            pass
    return action


def _rename(client: Client, path: str, name: str) -> lsp.CodeAction | None:
    """Only for clients with a command that asks for the new name: LSP has no input box."""
    own = next((c for c in ("remit.client.rename", "remit.rename") if c in client.commands), None)
    if own is None:
        return None
    title = "Rename with Remit…"
    arguments: list[Json] = [{"path": path, "name": name}]
    return lsp.CodeAction(title=title, kind=RENAME_KIND, command=lsp.Command(title, own, arguments=arguments))


def _explain(client: Client, path: str, name: str) -> lsp.CodeAction:
    title = "Explain with Remit"
    action = lsp.CodeAction(title=title, kind=EXPLAIN_KIND)
    if "remit.client.ask" in client.commands:
        arguments: list[Json] = [{"text": _question(path, name)}]
        action.command = lsp.Command(title, "remit.client.ask", arguments=arguments)
    elif client.resolves_commands:
        action.data = {"explain": {"path": path, "name": name}}
    else:
        action.command = _explain_command(path, name)
    return action


PRODUCERS: Mapping[str, Producer] = {RENAME_KIND: _rename, EXPLAIN_KIND: _explain}
"""Kind → what makes the action."""


def _explain_command(path: str, name: str) -> lsp.Command:
    return lsp.Command("Explain with Remit", "remit.ask", arguments=[_question(path, name)])


def _question(path: str, name: str) -> str:
    return f"explain {name} in {path}"


def _wanted(kind: str, only: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    return only is None or any(f"{kind}.".startswith(f"{wanted}.") for wanted in only)


def _tagged(client: Client, action: lsp.CodeAction) -> lsp.CodeAction:
    if client.tags_generated:
        action.tags = [lsp.CodeActionTag.LlmGenerated]
    return action
