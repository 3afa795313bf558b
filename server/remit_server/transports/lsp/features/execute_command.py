"""`workspace/executeCommand`: the table of the server's commands (LSP-04)."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types as lsp

from remit_server.transports.lsp.features import policy_open
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.tasks import TASKS

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

Command: TypeAlias = "Callable[[Connection, lsp.ExecuteCommandParams], Awaitable[Json]]"


def _import_later(name: str, module: str = "commands") -> Command:
    """Returns the command of this name in a module of `lsp`, which is imported when it first runs."""

    async def command(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
        run: Command = getattr(importlib.import_module(f"remit_server.transports.lsp.{module}"), name)
        return await run(connection, params)

    return command


def _with_progress(title: str, name: str, module: str) -> Command:
    """Returns a command that may take long without a turn: it shows a progress that can be cancelled (LSP-16)."""
    command = _import_later(name, module)

    async def watched_command(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
        from remit_server.transports.lsp.client_requests.progress import watched

        return await watched(connection, f"Remit: {title}", params.work_done_token, command(connection, params))

    return watched_command


COMMANDS: Mapping[str, Command] = {
    "remit.ask": _import_later("ask"),
    "remit.edit": _import_later("edit"),
    "remit.rename": _import_later("rename"),
    **{name: _import_later("run_task", "task_commands") for name in TASKS},
    "remit.cancel": _import_later("cancel"),
    "remit.audit.verify": _with_progress("verifying the audit log", "verify_audit", "commands"),
    "remit.undo": _import_later("undo", "session_commands"),
    "remit.redo": _import_later("redo", "session_commands"),
    "remit.session.new": _import_later("new", "session_commands"),
    "remit.session.list": _with_progress("listing the sessions", "list_all", "session_commands"),
    "remit.session.load": _with_progress("reading the session", "load", "session_commands"),
    "remit.session.rename": _import_later("rename", "session_commands"),
    "remit.session.fork": _import_later("fork", "session_commands"),
    "remit.session.delete": _import_later("delete", "session_commands"),
    "remit.session.export": _with_progress("exporting the session", "export", "session_commands"),
    "remit.session.search": _with_progress("searching the sessions", "look", "session_commands"),
    "remit.session.stats": _with_progress("counting", "stats", "session_commands"),
    "remit.chat.send": _import_later("send", "chat_commands"),
    "remit.chat.read": _import_later("read", "chat_commands"),
    "remit.chat.complete": _import_later("complete", "chat_commands"),
    "remit.model.list": _with_progress("looking for models", "list_all", "model_commands"),
    "remit.model.use": _with_progress("trying the model", "use", "model_commands"),
    "remit.review.list": _import_later("list_all", "review_commands"),
    "remit.review.show": _import_later("show", "review_commands"),
    "remit.review.toggle": _import_later("toggle", "review_commands"),
    "remit.review.accept": _import_later("accept", "review_commands"),
    "remit.review.reject": _import_later("reject", "review_commands"),
    "remit.audit.query": _with_progress("reading the audit log", "query_audit", "governance_commands"),
    "remit.policy.rules": _with_progress("counting what the rules decided", "list_rules", "governance_commands"),
    "remit.policy.preview": _with_progress("judging the last calls again", "preview_policy", "governance_commands"),
    "remit.policy.open": policy_open.open_rule,
}
"""The commands by name; each gets the params as received and returns JSON."""
