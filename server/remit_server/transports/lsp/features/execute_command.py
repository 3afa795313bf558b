"""`workspace/executeCommand`: the table of the server's commands (LSP-04)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types as lsp

from remit_server.transports.lsp.commands import (
    agent_commands,
    chat_commands,
    governance_commands,
    model_commands,
    review_commands,
    session_commands,
)
from remit_server.transports.lsp.commands.tasks import TASKS
from remit_server.transports.lsp.features import policy_open
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

Command: TypeAlias = "Callable[[Connection, lsp.ExecuteCommandParams], Awaitable[Json]]"


def _later(run: Command) -> Command:
    """Returns a command whose module is imported when it first runs."""

    async def command(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
        return await run(connection, params)

    return command


def _with_progress(title: str, run: Command) -> Command:
    """Returns a command that shows a progress that can be cancelled, because it may take long (LSP-16)."""

    async def watched_command(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
        from remit_server.transports.lsp.client_requests.progress import watched

        return await watched(connection, f"Remit: {title}", params.work_done_token, _later(run)(connection, params))

    return watched_command


COMMANDS: Mapping[str, Command] = {
    "remit.ask": _later(agent_commands.ask),
    "remit.edit": _later(agent_commands.edit),
    "remit.rename": _later(agent_commands.rename),
    **{name: _later(agent_commands.run_task) for name in TASKS},
    "remit.cancel": _later(agent_commands.cancel),
    "remit.audit.verify": _with_progress("verifying the audit log", agent_commands.verify_audit),
    "remit.undo": _later(session_commands.undo),
    "remit.redo": _later(session_commands.redo),
    "remit.session.new": _later(session_commands.new),
    "remit.session.list": _with_progress("listing the sessions", session_commands.list_all),
    "remit.session.load": _with_progress("reading the session", session_commands.load),
    "remit.session.rename": _later(session_commands.rename),
    "remit.session.fork": _later(session_commands.fork),
    "remit.session.delete": _later(session_commands.delete),
    "remit.session.export": _with_progress("exporting the session", session_commands.export),
    "remit.session.search": _with_progress("searching the sessions", session_commands.look),
    "remit.session.stats": _with_progress("counting", session_commands.stats),
    "remit.chat.send": _later(chat_commands.send),
    "remit.chat.read": _later(chat_commands.read),
    "remit.chat.complete": _later(chat_commands.complete),
    "remit.model.list": _with_progress("looking for models", model_commands.list_all),
    "remit.model.use": _with_progress("trying the model", model_commands.use),
    "remit.review.list": _later(review_commands.list_all),
    "remit.review.show": _later(review_commands.show),
    "remit.review.toggle": _later(review_commands.toggle),
    "remit.review.accept": _later(review_commands.accept),
    "remit.review.reject": _later(review_commands.reject),
    "remit.audit.query": _with_progress("reading the audit log", governance_commands.query_audit),
    "remit.policy.rules": _with_progress("counting what the rules decided", governance_commands.list_rules),
    "remit.policy.preview": _with_progress("judging the last calls again", governance_commands.preview_policy),
    "remit.policy.open": policy_open.open_rule,
}
"""The commands by name; each gets the params as received and returns JSON."""
