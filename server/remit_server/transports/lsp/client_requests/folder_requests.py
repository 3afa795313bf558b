"""Requests to the editor about one workspace folder: whether the person trusts the files it brings, asked before its
runtime opens (CFG-06); the settings of Remit in the editor (LSP-15); queries about code (LSP-08); edits (LSP-05).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.buffers.documents import EditRequest, Refused, Unanswered
from remit_server.transports.lsp.buffers.edits import Place
from remit_server.transports.lsp.rpc.custom_methods import EDITOR_QUERY, Json
from remit_server.transports.lsp.rpc.frames import ConnectionLost
from remit_server.workspace.code import Answer, CodeQuery, Unavailable

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection


logger = logging.getLogger(__name__)

TRUST_S = 60.0
YES, NO = "Trust", "Do Not Trust"
SECTION = "remit"
SETTINGS_S = 5.0
MOST_SAID = 100
QUERY_S = 10.0
"""The seconds to wait for the editor's answer to a query, because its other language servers may be busy."""
SOURCE = "the editor"
EDIT_S = 10.0
"""The seconds to wait for the editor's answer to an edit."""
_ANNOTATION = "remit"
_NO_REASON = "it gave no reason"


async def settle_trust(connection: Connection, root: Path) -> None:
    """Asks whether the person trusts the folder, unless the client says that they do or the answer is on record, and
    records the answer. Without an answer, the question is asked again later.

    Until it is answered, the files in question are not used.
    """
    from remit_server.errors import SetupError
    from remit_server.runtime.own_files.folder_record import arrived, brought, read_trust, write_trust

    there = await asyncio.to_thread(brought, root)
    if not there or await asyncio.to_thread(read_trust, root) is not None:
        return
    new = await asyncio.to_thread(arrived, root)
    trusted = True if connection.client.trusts_folders else await _ask_trust(connection, root, there, new)
    if trusted is None:
        return
    try:
        await asyncio.to_thread(lambda: write_trust(root, trusted=trusted))
    except SetupError as error:
        logger.warning("%s: %s", error.what, error.why)


async def _ask_trust(connection: Connection, root: Path, there: tuple[str, ...], new: tuple[str, ...]) -> bool | None:
    if connection.client.asking == "never":
        return None
    names = ", ".join(f"`{name}`" for name in new or there)
    contains = "now also contains, since you trusted it," if new else "contains"
    asked = "which changes what the model is told. Do you trust the authors of this folder?"
    message = f"Remit: {root} {contains} {names}, {asked}"
    actions = [lsp.MessageActionItem(title=YES), lsp.MessageActionItem(title=NO)]
    params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Warning, message=message, actions=actions)
    failure = "the question of whether the folder is trusted was not answered"
    answer = await connection.try_ask(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params, TRUST_S, failure)
    title = getattr(answer, "title", None)
    return title == YES if title in {YES, NO} else None


async def ask_settings(connection: Connection, root: Path) -> bool:
    """Puts the editor's settings for a folder in force. Returns whether they differ from those before."""
    given = await _given(connection, root)
    values, complaints = await asyncio.to_thread(_read, given, root)
    for complaint in complaints:
        if complaint not in connection.said and len(connection.said) < MOST_SAID:
            connection.said.add(complaint)
            connection.show(lsp.MessageType.Warning, f"Remit: {complaint}")
    before = connection.editor_settings.get(root, {})
    connection.editor_settings[root] = values
    return values != before


async def _given(connection: Connection, root: Path) -> Json:
    if not connection.client.has_configuration:
        return connection.sent_settings
    item = lsp.ConfigurationItem(scope_uri=root.as_uri(), section=SECTION)
    params, failure = lsp.ConfigurationParams(items=[item]), "the client did not say what its settings are"
    answer: Json = await connection.try_ask(lsp.WORKSPACE_CONFIGURATION, params, SETTINGS_S, failure)
    return answer[0] if answer else None


def _read(given: Json, root: Path) -> tuple[Mapping[tuple[str, str], Any], tuple[str, ...]]:
    from remit_server.errors import SetupError
    from remit_server.runtime.config.editor import read_editor
    from remit_server.runtime.config.layers import resolve
    from remit_server.runtime.own_files.folder_record import read_trust

    if not given:  # some editors send an empty list or false for an empty object
        return {}, ()
    try:
        before = resolve(root)
    except SetupError:  # no runtime opens with such files, and before one opens the settings are asked for again
        return {}, ()
    return read_editor(given, before, trusted=read_trust(root))


class EditorCode:
    """`CodeIntelligence` of one editor."""

    def __init__(self, connection: Connection, root: Path) -> None:
        self._connection, self._root = connection, root

    @property
    def available(self) -> bool:
        """Whether the client announced that it answers queries about code."""
        return self._connection.client.answers_queries

    async def ask(self, query: CodeQuery) -> Answer | Unavailable:
        """Returns the editor's answer, or why there is none: late, disconnected, refused or malformed."""
        from remit_server.tools.code.language_server.wire import parse_answer, question

        try:
            raw = await self._connection.channel.ask(EDITOR_QUERY, question(query, str(self._root)), QUERY_S)
        except TimeoutError:
            return Unavailable(f"the editor did not answer within {QUERY_S:.0f} seconds")
        except ConnectionLost:
            return Unavailable("the editor is gone")
        except JsonRpcException as error:
            logger.warning("%s failed: %s", EDITOR_QUERY, error.message)
            return Unavailable("the editor answered with an error")
        return parse_answer(raw, query.kind, SOURCE)


async def put_edit(connection: Connection, request: EditRequest) -> Refused | Unanswered | None:
    """Sends an edit to the editor. Returns None if the editor says that it applied the edit.

    If the client knows versions, the edit names the document version that it is for. Otherwise an edit that was applied
    to a different text is noticed by the text that results.
    """
    if not connection.client.applies_edits:
        return Refused("the editor does not take edits from a language server", for_good=True)
    params = lsp.ApplyWorkspaceEditParams(edit=_workspace_edit(connection, request), label=request.label)
    try:
        answer = await connection.channel.ask(lsp.WORKSPACE_APPLY_EDIT, params, EDIT_S)
    except TimeoutError:
        return Unanswered(f"the editor did not answer within {EDIT_S:.0f} seconds")
    except ConnectionLost:
        return Unanswered("the editor went away before it answered")
    except JsonRpcException as error:
        logger.warning("workspace/applyEdit failed: %s", error.message)
        return Unanswered("the editor answered with an error")
    return None if answer.applied else Refused(f"the editor refused the edit: {answer.failure_reason or _NO_REASON}")


def _workspace_edit(connection: Connection, request: EditRequest) -> lsp.WorkspaceEdit:
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=request.uri, version=request.version)
    span = lsp.Range(_position(request.edit.start), _position(request.edit.end))
    plain = lsp.TextEdit(range=span, new_text=request.edit.text)
    if not connection.client.versions_edits:
        return lsp.WorkspaceEdit(changes={request.uri: [plain]})
    if not connection.client.annotates_edits:
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[plain])])
    annotated = lsp.AnnotatedTextEdit(range=span, new_text=request.edit.text, annotation_id=_ANNOTATION)
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[annotated])],
        change_annotations={_ANNOTATION: lsp.ChangeAnnotation(label=request.label, needs_confirmation=False)},
    )


def _position(place: Place) -> lsp.Position:
    return lsp.Position(line=place.line, character=place.character)
