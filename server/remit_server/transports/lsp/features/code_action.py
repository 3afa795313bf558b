"""`textDocument/codeAction` and `codeAction/resolve`: actions on the identifier under the cursor (LSP-07)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Place, identifier_at
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.client import Client
    from remit_server.transports.lsp.connection import Snapshot
    from remit_server.transports.lsp.runtime_slot import RuntimeSlot

RENAME_KIND = "refactor.rewrite.remit"
EXPLAIN_KIND = "refactor.remit.explain"
OPTIONS = lsp.CodeActionOptions(code_action_kinds=[RENAME_KIND, EXPLAIN_KIND], resolve_provider=True)

Ability: TypeAlias = "Literal['rename', 'explain']"
"""The contract's type, which is slow to import."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The identifier in a document that an action is about. `uri` identifies the workspace folder of `path`."""

    uri: str
    path: str
    name: str


Producer: TypeAlias = "Callable[[Client, Subject], lsp.CodeAction | None]"
"""Returns the action for (client, subject), or None where this client cannot use it."""


async def offer(snapshot: Snapshot, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
    """Returns the actions that fit the selection and the requested kinds, and that the model can do.

    A client without code actions gets their commands.
    """
    document, client = snapshot.document, snapshot.client
    if document is None:
        return []
    start, end = params.range.start, params.range.end
    name = identifier_at(document.text, Place(start.line, start.character), Place(end.line, end.character))
    if name is None:
        return []
    wanted = [row for kind, row in ACTIONS.items() if _is_wanted(kind, params.context.only)]
    able = await _find_abilities(document.folder.slot) if wanted else ()
    subject = Subject(document.uri, document.path, name)
    made = [row.produce(client, subject) for row in wanted if row.needs in able]
    found = [action for action in made if action is not None]
    if client.takes_code_actions:
        return [_tag(client, action) for action in found]
    return [action.command for action in found if action.command is not None]


def resolve(snapshot: Snapshot, action: lsp.CodeAction) -> lsp.CodeAction:
    """Fills in the action's command; a foreign action comes back unchanged."""
    del snapshot
    match action.data:
        case {"explain": {"uri": str() as uri, "path": str() as path, "name": str() as name}}:
            action.command = _explain_command(Subject(uri, path, name))
        case _:
            pass
    return action


def _rename(client: Client, subject: Subject) -> lsp.CodeAction | None:
    """Returns the action for clients with a command that asks for the new name: LSP has no input box."""
    own = next((c for c in ("remit.client.rename", "remit.rename") if c in client.commands), None)
    if own is None:
        return None
    title = "Rename with Remit…"
    arguments: list[Json] = [asdict(subject)]
    return lsp.CodeAction(title=title, kind=RENAME_KIND, command=lsp.Command(title, own, arguments=arguments))


def _explain(client: Client, subject: Subject) -> lsp.CodeAction:
    title = "Explain with Remit"
    action = lsp.CodeAction(title=title, kind=EXPLAIN_KIND)
    if "remit.client.ask" in client.commands:
        arguments: list[Json] = [{"text": _question(subject)}]
        action.command = lsp.Command(title, "remit.client.ask", arguments=arguments)
    elif client.takes_code_actions and client.resolves_commands:
        action.data = {"explain": asdict(subject)}
    else:
        action.command = _explain_command(subject)
    return action


@dataclass(frozen=True, slots=True)
class Row:
    """An action: the ability that it needs, and its producer."""

    needs: Ability
    produce: Producer


ACTIONS: Mapping[str, Row] = {
    RENAME_KIND: Row("rename", _rename),
    EXPLAIN_KIND: Row("explain", _explain),
}
"""The table of actions by kind."""


async def _find_abilities(slot: RuntimeSlot) -> Collection[str]:
    """Returns the model's abilities; none where the runtime failed to open, which is not retried here.

    The next turn tries again, and reports the error.
    """
    if slot.failure is not None:
        return ()
    from remit_server.errors import RemitError

    try:
        return (await slot.get()).status().abilities
    except RemitError:
        return ()


def _explain_command(subject: Subject) -> lsp.Command:
    return lsp.Command("Explain with Remit", "remit.ask", arguments=[_question(subject), {"uri": subject.uri}])


def _question(subject: Subject) -> str:
    return f"explain {subject.name} in {subject.path}"


def _is_wanted(kind: str, only: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    return only is None or any(f"{kind}.".startswith(f"{wanted}.") for wanted in only)


def _tag(client: Client, action: lsp.CodeAction) -> lsp.CodeAction:
    if client.tags_generated:
        action.tags = [lsp.CodeActionTag.LlmGenerated]
    return action
