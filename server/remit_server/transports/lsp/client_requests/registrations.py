"""Registers methods at clients that allow it: changes of watched files while a question waits, changes of the editor's
settings (LSP-15), and completion at the cursor if the person's configuration switches it on (LSP-12). Configuration is
read only after `initialize` is answered; the answer itself announces completion if an environment variable is set.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.connection.client import announces_completion

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection
    from remit_server.transports.lsp.connection.reviews import Review


_ANSWER_S = 10.0
_COMPLETION = "remit-inline-completion"
_SPECIAL = frozenset("*?{}[]!\\")
"""Characters that a glob pattern of LSP cannot match literally."""
_COMES_AND_GOES = lsp.WatchKind.Create | lsp.WatchKind.Delete


def watch_reviewed(connection: Connection, review: Review) -> None:
    """Asks the client to report when any program creates or deletes a file of a question, while the question waits."""
    if connection.client.watches_files:
        watchers = list(_watchers(review))
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        if watchers:
            _register(connection, _name(review), lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)


def forget_reviewed(connection: Connection, review: Review) -> None:
    """Undoes `watch_reviewed` when the question has ended."""
    if _name(review) in connection.registered:
        connection.registered.discard(_name(review))
        each = lsp.Unregistration(id=_name(review), method=lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
        params = lsp.UnregistrationParams(unregisterations=[each])
        connection.in_background(_ask(connection, lsp.CLIENT_UNREGISTER_CAPABILITY, params))


def hear_of_configuration(connection: Connection) -> None:
    """Asks the client to report when the editor's settings change."""
    if connection.client.registers_configuration:
        options = lsp.DidChangeConfigurationRegistrationOptions(section="remit")
        _register(connection, "remit-configuration", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, options)


def _register(connection: Connection, name: str, method: str, options: object) -> None:
    connection.registered.add(name)
    params = lsp.RegistrationParams(registrations=[lsp.Registration(id=name, method=method, register_options=options)])
    connection.in_background(_ask(connection, lsp.CLIENT_REGISTER_CAPABILITY, params))


async def _ask(connection: Connection, method: str, params: object) -> None:
    await connection.try_ask(method, params, _ANSWER_S, f"the client did not answer `{method}`")


def _name(review: Review) -> str:
    return f"remit-review-{review.question.approval_id}"


def _watchers(review: Review) -> Iterable[lsp.FileSystemWatcher]:
    named = {name for diff in review.question.diffs for name in (diff.path, diff.moved_from) if name is not None}
    for path in sorted(named):
        if not _SPECIAL & set(path):
            pattern = lsp.RelativePattern(base_uri=review.root.as_uri(), pattern=path)
            yield lsp.FileSystemWatcher(glob_pattern=pattern, kind=_COMES_AND_GOES)


async def follow_setting(connection: Connection, root: Path) -> None:
    """Registers completion at the client or unregisters it, by the present configuration. Only the person's own
    configuration can set it, so it is the same in all folders.
    """
    client = connection.client
    if not client.registers_inline or announces_completion(client, os.environ):
        return
    wanted = await asyncio.to_thread(_is_enabled, root)
    if wanted is None or wanted == connection.offers_completion:
        return
    connection.offers_completion = wanted
    failure = "the client did not take a change of its capabilities"
    if wanted:
        options = lsp.InlineCompletionRegistrationOptions(document_selector=[lsp.TextDocumentFilterScheme("file")])
        added = lsp.RegistrationParams([lsp.Registration(_COMPLETION, lsp.TEXT_DOCUMENT_INLINE_COMPLETION, options)])
        await connection.try_ask(lsp.CLIENT_REGISTER_CAPABILITY, added, _ANSWER_S, failure)
    else:
        gone = lsp.UnregistrationParams([lsp.Unregistration(_COMPLETION, lsp.TEXT_DOCUMENT_INLINE_COMPLETION)])
        await connection.try_ask(lsp.CLIENT_UNREGISTER_CAPABILITY, gone, _ANSWER_S, failure)


def _is_enabled(root: Path) -> bool | None:
    """Returns whether the configuration switches completion on, or None if the configuration cannot be used, which the
    person is told elsewhere.
    """
    from remit_server.errors import SetupError
    from remit_server.runtime.settings import Settings

    try:
        return Settings.from_environment(root).config.completion.enabled
    except SetupError:
        return None
