"""`workspace/executeCommand`: the table of the server's commands (LSP-04)."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types as lsp

from remit_server.transports.lsp.features import policy_open
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

Command: TypeAlias = "Callable[[Connection, lsp.ExecuteCommandParams], Awaitable[Json]]"


def _import_later(name: str) -> Command:
    """Returns the command of this name in `lsp.commands`, which is imported when it first runs."""

    async def command(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
        run: Command = getattr(importlib.import_module("remit_server.transports.lsp.commands"), name)
        return await run(connection, params)

    return command


COMMANDS: Mapping[str, Command] = {
    "remit.ask": _import_later("ask"),
    "remit.edit": _import_later("edit"),
    "remit.rename": _import_later("rename"),
    "remit.cancel": _import_later("cancel"),
    "remit.audit.verify": _import_later("verify_audit"),
    "remit.policy.open": policy_open.open_rule,
}
"""The commands by name; each gets the params as received and returns JSON."""
