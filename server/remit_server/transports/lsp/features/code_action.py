"""`textDocument/codeAction`: what the model can do with the code at the cursor (LSP-10).

An action has its command at once, because the command costs no work, and Helix runs only what the first answer named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Place, identifier_at
from remit_server.transports.lsp.commands.tasks import (
    PROBLEM_TASKS,
    TASKS,
    Task,
    describe_task,
    lines_of,
    name_in,
    problem_at,
    with_problems,
)
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.client import Client
    from remit_server.transports.lsp.connection.connection import Snapshot
    from remit_server.transports.lsp.connection.folders import FolderDocument, RuntimeSlot

RENAME_KIND = "refactor.rewrite.remit"
EDIT_KIND = "refactor.rewrite.remit.edit"
_KINDS = (RENAME_KIND, EDIT_KIND, *(task.kind for task in (*PROBLEM_TASKS.values(), *TASKS.values())))
OPTIONS = lsp.CodeActionOptions(code_action_kinds=sorted(set(_KINDS)), resolve_provider=False)
MOST_PROBLEMS = 20
"""The most diagnostics that an action lists, however many the client sends."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The identifier in a document that a rename is about. `uri` identifies the workspace folder of `path`."""

    uri: str
    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A task as a client can run it: by the message `text` in its chat, or by the command with the arguments.

    `problems` are the diagnostics that the task is about, if any.
    """

    task: Task
    text: str
    command: str
    arguments: Sequence[Json]
    problems: Sequence[lsp.Diagnostic] = ()


async def offer(snapshot: Snapshot, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
    """Returns the actions that fit the selection and the requested kinds, and that the model can do.

    A client that does not know code actions gets their commands.
    """
    document, client = snapshot.document, snapshot.client
    if document is None:
        return []
    start, end = params.range.start, params.range.end
    name = identifier_at(
        document.text, Place(start.line, start.character), Place(end.line, end.character), client.encoding
    )
    found = list(_offers(document, name, params))
    edits = _edit(client, document.uri, params.range) if _is_wanted(EDIT_KIND, params.context.only) else []
    if name is None and not found and not edits:
        return []
    able = await _find_abilities(document.folder.slot)
    made = [_action(client, each) for each in found if each.task.needs in able]
    if name is not None and "rename" in able and _is_wanted(RENAME_KIND, params.context.only):
        renaming = _rename(client, Subject(document.uri, document.path, name))
        made = made if renaming is None else [renaming, *made]
    made += edits if "edit" in able else []
    if client.takes_code_actions:
        return [_tag(client, action) for action in made]
    return [action.command for action in made if action.command is not None]


def _offers(document: FolderDocument, name: str | None, params: lsp.CodeActionParams) -> Iterator[Offer]:
    """Yields the offers for the problems that the editor shows, then those for the name or the selected lines."""
    only, path, uri = params.context.only, document.path, document.uri
    if problems := params.context.diagnostics:
        first, last = min(each.range.start.line for each in problems), max(each.range.start.line for each in problems)
        for command, task in PROBLEM_TASKS.items():
            if _is_wanted(task.kind, only):
                text = with_problems(describe_task(task, problem_at(path, first + 1, last + 1)), path)
                given = {"uri": uri, "first_line": first + 1, "last_line": last + 1, "problem": True}
                yield Offer(task, text, command, [given], problems)
    selected = None if params.range.start == params.range.end else _selected_lines(path, params.range)
    code = selected if name is None else name_in(name, path)
    for task in TASKS.values() if code is not None else ():
        if task not in PROBLEM_TASKS.values() and _is_wanted(task.kind, only):
            text = describe_task(task, code or path)
            yield Offer(task, text, "remit.ask", [text, {"uri": uri}])


def _selected_lines(path: str, selected: lsp.Range) -> str:
    return lines_of(path, selected.start.line + 1, _last_line(selected))


def _last_line(selected: lsp.Range) -> int:
    """Returns the last selected line, counted from 1. A selection that ends at a line's start excludes that line."""
    return selected.end.line + (selected.end.character > 0 or selected.end.line == selected.start.line)


def _rename(client: Client, subject: Subject) -> lsp.CodeAction | None:
    """Returns the action for clients with a command that asks for the new name, because LSP has no input box."""
    own = next((c for c in ("remit.client.rename", "remit.rename") if c in client.commands), None)
    if own is None:
        return None
    title = "Rename with Remit…"
    arguments: list[Json] = [asdict(subject)]
    return lsp.CodeAction(title=title, kind=RENAME_KIND, command=lsp.Command(title, own, arguments=arguments))


def _edit(client: Client, uri: str, selected: lsp.Range) -> list[lsp.CodeAction]:
    """Returns the action on a selection for clients with a command that asks what to do with it (LSP-13)."""
    if "remit.client.edit" not in client.commands or selected.start == selected.end:
        return []
    title = "Edit with Remit…"
    lines = {"uri": uri, "first_line": selected.start.line + 1, "last_line": _last_line(selected)}
    return [lsp.CodeAction(title, kind=EDIT_KIND, command=lsp.Command(title, "remit.client.edit", arguments=[lines]))]


def _action(client: Client, offered: Offer) -> lsp.CodeAction:
    title = offered.task.title
    action = lsp.CodeAction(
        title=title, kind=offered.task.kind, diagnostics=list(offered.problems[:MOST_PROBLEMS]) or None
    )
    if "remit.client.ask" in client.commands:
        arguments: list[Json] = [{"text": offered.text}]
        action.command = lsp.Command(title, "remit.client.ask", arguments=arguments)
    else:
        action.command = lsp.Command(title, offered.command, arguments=list(offered.arguments))
    return action


async def _find_abilities(slot: RuntimeSlot) -> Collection[str]:
    """Returns the model's abilities, or none if the runtime failed to open, which is not tried again here.

    The next turn tries again, and reports the error.
    """
    if slot.failure is not None:
        return ()
    from remit_server.errors import RemitError

    try:
        return (await slot.get()).status().abilities
    except RemitError:
        return ()


def _is_wanted(kind: str, only: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    return only is None or any(f"{kind}.".startswith(f"{wanted}.") for wanted in only)


def _tag(client: Client, action: lsp.CodeAction) -> lsp.CodeAction:
    if client.tags_generated:
        action.tags = [lsp.CodeActionTag.LlmGenerated]
    return action
