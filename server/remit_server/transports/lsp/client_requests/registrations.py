"""Methods that the client is asked to call while there is something to hear, where it offers that (LSP-15)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection
    from remit_server.transports.lsp.reviews import Review

logger = logging.getLogger(__name__)

_ANSWER_S = 10.0
_SPECIAL = frozenset("*?{}[]!\\")
"""Characters that a pattern of LSP cannot spell."""
_COMES_AND_GOES = lsp.WatchKind.Create | lsp.WatchKind.Delete


def watch_reviewed(connection: Connection, review: Review) -> None:
    """Asks to be told when a file of a question comes or goes, by whatever program, while the question waits."""
    if connection.client.watches_files:
        watchers = list(_watchers(review))
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        if watchers:
            _register(connection, _name(review), lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)


def forget_reviewed(connection: Connection, review: Review) -> None:
    """Takes that back when the question has ended."""
    if _name(review) in connection.registered:
        connection.registered.discard(_name(review))
        each = lsp.Unregistration(id=_name(review), method=lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
        params = lsp.UnregistrationParams(unregisterations=[each])
        connection.in_background(_ask(connection, lsp.CLIENT_UNREGISTER_CAPABILITY, params))


def hear_of_configuration(connection: Connection) -> None:
    """Asks to be told when the editor's settings change."""
    if connection.client.registers_configuration:
        options = lsp.DidChangeConfigurationRegistrationOptions(section="remit")
        _register(connection, "remit-configuration", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, options)


def _register(connection: Connection, name: str, method: str, options: object) -> None:
    connection.registered.add(name)
    params = lsp.RegistrationParams(registrations=[lsp.Registration(id=name, method=method, register_options=options)])
    connection.in_background(_ask(connection, lsp.CLIENT_REGISTER_CAPABILITY, params))


async def _ask(connection: Connection, method: str, params: object) -> None:
    try:
        await connection.channel.ask(method, params, _ANSWER_S)
    except (TimeoutError, ConnectionLost, JsonRpcException) as error:
        logger.warning("the client did not answer `%s`: %s", method, type(error).__name__)


def _name(review: Review) -> str:
    return f"remit-review-{review.question.approval_id}"


def _watchers(review: Review) -> Iterable[lsp.FileSystemWatcher]:
    named = {name for diff in review.question.diffs for name in (diff.path, diff.moved_from) if name is not None}
    for path in sorted(named):
        if not _SPECIAL & set(path):
            pattern = lsp.RelativePattern(base_uri=review.root.as_uri(), pattern=path)
            yield lsp.FileSystemWatcher(glob_pattern=pattern, kind=_COMES_AND_GOES)
