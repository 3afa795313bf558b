"""The language server of one connection: its life, from `initialize` to the end (LSP-01).

Nothing slow is imported here: `initialize` is answered before pydantic, the runtime or a model is imported.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Callable, Collection
from typing import Any, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from remit_server import __version__
from remit_server.streams.pulse import is_in_container
from remit_server.transports.lsp.buffers.uris import Root
from remit_server.transports.lsp.client_requests.registrations import hear_of_configuration
from remit_server.transports.lsp.connection.client import Client
from remit_server.transports.lsp.connection.connection import Connection
from remit_server.transports.lsp.connection.folders import OpenRuntime, configured_runtimes
from remit_server.transports.lsp.connection.open_folders import attend_folders, change_folders, close_folder
from remit_server.transports.lsp.methods import bind_commands, bind_features
from remit_server.transports.lsp.rpc.custom_methods import converter
from remit_server.transports.lsp.rpc.json_rpc import RemitProtocol

logger = logging.getLogger(__name__)

_WARM = ("remit_server.contract", "remit_server.runtime.settings", "remit_server.runtime.opening")
_CLIENT_CHECK_S = 3.0


class RemitServer(LanguageServer):
    """One connection from its beginning to its end. Its features see it as `connection`."""

    def __init__(self, open_runtime: OpenRuntime) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls passes on untyped arguments
            "remit",
            __version__,
            lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=RemitProtocol,
            converter_factory=converter,
        )
        self.connection = Connection(self.rpc, open_runtime)
        self.on_end: Callable[[int], None] = lambda code: logger.info("ended with %d", code)

    @property
    def rpc(self) -> RemitProtocol:
        """The protocol of this connection, typed as `RemitProtocol`."""
        return cast("RemitProtocol", self.protocol)

    def connect(self, client: Client, roots: Collection[Root], process_id: int | None) -> None:
        """Stores the client, adds its workspace folders, and watches its process."""
        self.connection.client = client
        self.connection.buffers.encoding = self.connection.own_files.encoding = client.encoding
        change_folders(self.connection, roots, ())
        if process_id is not None and not is_in_container() and _is_alive(process_id):
            self.connection.in_background(self._watch(process_id))

    def warm_up(self) -> None:
        """Reports invalid client options, and prepares for the first request in the background."""
        for complaint in self.connection.client.complaints:
            logger.warning("%s", complaint)
            self.connection.show(lsp.MessageType.Warning, f"Remit: {complaint}")
        hear_of_configuration(self.connection)
        self.connection.in_background(self._get_ready())

    def cancel_progress(self, token: lsp.ProgressToken) -> None:
        """Passes on the person's cancellation of a progress."""
        self.connection.cancel_progress(token)

    def end(self, code: int) -> None:
        """Requests the process's exit with this code."""
        self.on_end(code)

    async def close(self) -> None:
        """Cancels background tasks and closes the runtimes. Idempotent, and bounded in time."""
        self.connection.cancel_background()
        await asyncio.gather(*(close_folder(folder) for folder in self.connection.folders))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Logs a defect. It is not shown, because the person could do nothing about it."""
        logger.error("%s", source.__name__, exc_info=error)

    async def _get_ready(self) -> None:
        """Imports the modules that the first request needs, then watches the folders' policy and configuration."""
        await _import_in_threads(_WARM)
        self.connection.ready = True
        attend_folders(self.connection, self.connection.folders, self.connection.folders.elsewhere)

    async def _watch(self, process_id: int) -> None:
        """Ends the server when the client's process has ended, because a child process may hold its pipe open."""
        while _is_alive(process_id):  # noqa: ASYNC110  # another process's end cannot be awaited
            await asyncio.sleep(_CLIENT_CHECK_S)
        logger.warning("the client's process is gone")
        self.end(1)


def build_server(open_runtime: OpenRuntime | None = None) -> RemitServer:
    """Builds the server for one connection."""
    server = RemitServer(open_runtime or configured_runtimes())
    for method, (handler, options) in bind_features(server.connection).items():
        server.feature(method, options)(handler)
    for name, command in bind_commands(server.connection).items():
        server.command(name)(command)
    return server


async def _import_in_threads(modules: tuple[str, ...]) -> None:
    for module in modules:
        try:
            await asyncio.to_thread(importlib.import_module, module)
        except Exception:  # the first request imports it again, and reports the error
            logger.exception("cannot import `%s`", module)


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError, ValueError):
        return True
    return True
