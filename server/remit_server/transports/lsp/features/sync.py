"""Text sync: the editor's buffers as it reports them (FILE-03), and `textDocument/publishDiagnostics`, which shows the
problems of Remit's own files while they are edited (POL-14, CFG-04).

Diagnostics are only pushed, because a client that also pulled them would show every problem twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Edit, Encoding, Place, same_but_for_line_ends
from remit_server.transports.lsp.buffers.own_files import (
    ConfigFile,
    Kind,
    OwnBuffer,
    PolicyFile,
    Positions,
    call_in_thread,
    own_file,
    policy_paths,
    settings_here,
)
from remit_server.transports.lsp.rpc.frames import ConnectionLost

if TYPE_CHECKING:
    from remit_governance.errors import Problem
    from remit_governance.policy.editing.completion import Finding
    from remit_governance.policy.language.compile import Source
    from remit_server.runtime.settings import Settings
    from remit_server.transports.lsp.connection.connection import Connection


logger = logging.getLogger(__name__)

PAUSE_S = 0.2
"""The seconds without typing after which a file is checked."""

_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}


def did_open(connection: Connection, params: lsp.DidOpenTextDocumentParams) -> None:
    """Handles `textDocument/didOpen`."""
    document = params.text_document
    connection.buffers.open(document.uri, document.version, document.text)
    _look_soon(connection, connection.own_files.open(document.uri, document.version, document.text))


def did_change(connection: Connection, params: lsp.DidChangeTextDocumentParams) -> None:
    """Handles `textDocument/didChange`."""
    document, edits = params.text_document, [_edit(c) for c in params.content_changes]
    connection.completions.drop(document.uri)
    connection.buffers.change(document.uri, document.version, edits)
    _look_soon(connection, connection.own_files.change(document.uri, document.version, edits))


def did_save(connection: Connection, params: lsp.DidSaveTextDocumentParams) -> None:
    """Handles `textDocument/didSave`. If one of Remit's own files is saved, all open ones are checked again, because
    the problems of one can depend on another.
    """
    if connection.own_files.at(params.text_document.uri) is not None:
        for buffer in connection.own_files:
            _look_soon(connection, buffer)


def did_close(connection: Connection, params: lsp.DidCloseTextDocumentParams) -> None:
    """Handles `textDocument/didClose`."""
    connection.completions.drop(params.text_document.uri)
    connection.buffers.close(params.text_document.uri)
    if (buffer := connection.own_files.close(params.text_document.uri)) is not None:
        _publish(connection, buffer, [])


def _edit(change: lsp.TextDocumentContentChangeEvent) -> Edit | str:
    if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
        return change.text
    start, end = change.range.start, change.range.end
    return Edit(Place(start.line, start.character), Place(end.line, end.character), change.text)


def _look_soon(connection: Connection, buffer: OwnBuffer | None) -> None:
    """Starts to check a file. If a check of it runs already, that task checks the file once more."""
    if buffer is None:
        return
    buffer.revision += 1
    if buffer.checking is None or buffer.checking.done():
        buffer.checking = connection.in_background(_look(connection, buffer))


async def _look(connection: Connection, buffer: OwnBuffer) -> None:
    looked_at = 0
    while looked_at != buffer.revision and connection.own_files.at(buffer.uri) is buffer:
        revision, text = buffer.revision, buffer.text
        await asyncio.sleep(PAUSE_S)
        if revision != buffer.revision:
            continue
        looked_at = revision
        root, encoding = connection.folders.root_of(buffer.path), connection.client.encoding
        try:
            found = await call_in_thread(partial(diagnose, buffer.path, text, root, encoding))
        except Exception:  # a defect in one check must not stop all later ones
            logger.exception("a file of Remit's own could not be checked")
            continue
        if found is not None and revision == buffer.revision and connection.own_files.at(buffer.uri) is buffer:
            _publish(connection, buffer, found)


def _publish(connection: Connection, buffer: OwnBuffer, diagnostics: list[lsp.Diagnostic]) -> None:
    try:
        params = lsp.PublishDiagnosticsParams(uri=buffer.uri, version=buffer.version, diagnostics=diagnostics)
        connection.channel.notify(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)
    except ConnectionLost:
        logger.debug("the client is gone")


def diagnose(path: Path, text: str, root: Path | None, encoding: Encoding = "utf-16") -> list[lsp.Diagnostic] | None:
    """Returns the problems of an open file's text, or None if the file is none of Remit's own."""
    settings = settings_here(root)
    match own_file(path, settings) if settings is not None else None:
        case PolicyFile(kind) if settings is not None:
            found = _of_policy(kind, text, settings)
        case ConfigFile(project):
            found = _of_config(path, text, project=project)
        case _:
            return None
    positions = Positions(text, encoding)
    return [
        lsp.Diagnostic(
            range=positions.range(finding.span),
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            source="remit",
            message=finding.message,
        )
        for finding in found
    ]


def _of_config(path: Path, text: str, *, project: bool) -> Sequence[Finding]:
    from remit_server.runtime.config.editing import findings

    return findings(str(path), text, project=project)


def _of_policy(kind: Kind, text: str, settings: Settings) -> Sequence[Finding]:
    """Returns the compiler's findings for a policy's text, compiled with the other files that are in force with it."""
    from remit_governance.policy.editing.completion import findings
    from remit_governance.policy.language.compile import Source
    from remit_governance.policy.matching.paths import FOLDS_CASE

    known = policy_paths(settings)[kind]
    source = Source(str(known), text, project=kind == "project")
    on_disk, problems = _read(known, kind)
    beside: list[Source] = []
    for other in _in_force_with(kind, settings):
        read, unread = _read(policy_paths(settings)[other], other)
        beside += [read] if read is not None else []
        problems += unread
    saved = on_disk is not None and same_but_for_line_ends(on_disk.text, text.removeprefix("\ufeff"))
    return findings(source, beside, unreadable=problems, saved=saved, fold_case=FOLDS_CASE)


def _in_force_with(kind: Kind, settings: Settings) -> list[Kind]:
    """Returns the kinds of the other files that are in force together with a file of this kind."""
    from remit_governance.policy.language.load import is_given

    match kind:
        case "person":
            return ["project"] if is_given(settings.project_policy) else []
        case "project":
            return ["person"] if is_given(settings.person_policy) else ["default"]
        case "default":
            return []


def _read(path: Path, kind: Kind) -> tuple[Source | None, list[Problem]]:
    """Returns a file's text as it is on disk, and the problems if it cannot be read; a missing file is no problem."""
    from remit_governance.errors import PolicyError
    from remit_governance.policy.language.load import is_given, read_source

    try:
        return read_source(path, project=kind == "project"), []
    except PolicyError as error:
        return None, list(error.problems) if is_given(path) else []
