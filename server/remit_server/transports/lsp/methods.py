"""The table of the server's methods, without those that `RemitProtocol` handles itself.

A handler in `Changes` gets the connection; one in `Reads` gets a frozen snapshot, and can change nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lsprotocol import types as lsp

from remit_server.transports.lsp.connection.connection import Connection, Snapshot
from remit_server.transports.lsp.features import (
    code_action,
    code_lens,
    execute_command,
    files,
    inline_completion,
    own_file_help,
    own_methods,
    sync,
    virtual_documents,
    workspace,
)
from remit_server.transports.lsp.rpc.custom_methods import (
    APPROVAL_RESPOND,
    GENERATE,
    REVIEW_HUNKS,
    REVIEW_LIST,
    REVIEW_RESOLVE,
    RUN,
    STATUS,
)

Bound: TypeAlias = Callable[[Any], Any]
"""A handler with everything bound but the params; a coroutine function if the handler is one."""


@dataclass(frozen=True, slots=True)
class Changes:
    """A handler that changes the connection, or talks to the client."""

    handler: Callable[[Connection, Any], Any]
    options: Any = None


@dataclass(frozen=True, slots=True)
class Reads:
    """A handler that only reads."""

    handler: Callable[[Snapshot, Any], Any]
    options: Any = None


FEATURES: Mapping[str, Changes | Reads] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: Changes(sync.did_open),
    lsp.TEXT_DOCUMENT_DID_CHANGE: Changes(sync.did_change),
    lsp.TEXT_DOCUMENT_DID_SAVE: Changes(sync.did_save),
    lsp.TEXT_DOCUMENT_DID_CLOSE: Changes(sync.did_close),
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: Changes(workspace.folders_changed),
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: Changes(workspace.configuration_changed),
    lsp.WORKSPACE_WILL_RENAME_FILES: Changes(files.will_rename, files.OPTIONS),
    lsp.WORKSPACE_DID_RENAME_FILES: Changes(files.did_rename, files.OPTIONS),
    lsp.WORKSPACE_WILL_DELETE_FILES: Changes(files.deleted, files.OPTIONS),
    lsp.WORKSPACE_DID_DELETE_FILES: Changes(files.deleted, files.OPTIONS),
    lsp.WORKSPACE_DID_CREATE_FILES: Changes(files.created, files.OPTIONS),
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: Changes(files.watched),
    lsp.TEXT_DOCUMENT_COMPLETION: Reads(own_file_help.complete, own_file_help.OPTIONS),
    lsp.TEXT_DOCUMENT_INLINE_COMPLETION: Changes(inline_completion.complete, inline_completion.OPTIONS),
    lsp.TEXT_DOCUMENT_HOVER: Reads(own_file_help.hover),
    lsp.TEXT_DOCUMENT_CODE_ACTION: Reads(code_action.offer, code_action.OPTIONS),
    lsp.TEXT_DOCUMENT_CODE_LENS: Reads(code_lens.lenses, code_lens.OPTIONS),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: Changes(virtual_documents.content),
    RUN: Changes(own_methods.run),
    APPROVAL_RESPOND: Changes(own_methods.respond),
    STATUS: Reads(own_methods.status),
    REVIEW_LIST: Changes(own_methods.list_reviews),
    REVIEW_HUNKS: Changes(own_methods.hunks),
    REVIEW_RESOLVE: Changes(own_methods.resolve),
    GENERATE: Changes(own_methods.generate),
}
"""The handlers by method."""


def bind_features(connection: Connection) -> dict[str, tuple[Bound, Any]]:
    """Binds the features to a connection: method → handler and options."""
    return {method: (_bind(feature, connection), feature.options) for method, feature in FEATURES.items()}


def bind_commands(connection: Connection) -> dict[str, Bound]:
    """Binds the commands of `workspace/executeCommand` to a connection."""
    return {name: _bind(Changes(command), connection) for name, command in execute_command.COMMANDS.items()}


def _bind(feature: Changes | Reads, connection: Connection) -> Bound:
    def call(params: Any) -> Any:
        match feature:
            case Changes(handler=change):
                return change(connection, params)
            case Reads(handler=read):
                return read(connection.snapshot(_named_document(params)), params)

    async def call_and_wait(params: Any) -> Any:
        return await call(params)

    return call_and_wait if inspect.iscoroutinefunction(feature.handler) else call


def _named_document(params: Any) -> str | None:
    document = getattr(params, "text_document", None)
    return None if document is None else document.uri
