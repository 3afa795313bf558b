"""The language server of one connection: what it offers, as a table, and what it holds (002 §4.4; protocol.md §3).

Nothing slow is imported here: `initialize` has to answer before pydantic, the runtime or a model is.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from remit_server import __version__
from remit_server.lsp.client import Client
from remit_server.lsp.documents import EditorDocuments
from remit_server.lsp.editor_code import EditorCode
from remit_server.lsp.features import (
    approval,
    code_action,
    execute_command,
    generate,
    policy_completion,
    policy_hover,
    run,
    status,
    sync,
)
from remit_server.lsp.features.policy_files import PolicyBuffers
from remit_server.lsp.policy_watch import watch_policy
from remit_server.lsp.protocol import RemitProtocol
from remit_server.lsp.runtime_slot import OpenRuntime, RuntimeSlot, open_configured_runtime
from remit_server.lsp.types import APPROVAL_RESPOND, GENERATE, RUN, STATUS, converter
from remit_server.lsp.workspace_edit import put_edit

if TYPE_CHECKING:  # the port knows the contract, which is slow to import
    from remit_server.runtime.ports import AgentRuntime

logger = logging.getLogger(__name__)

FEATURES: Mapping[str, tuple[Callable[..., Any], Any]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: (sync.opened, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (sync.changed, None),
    lsp.TEXT_DOCUMENT_DID_SAVE: (sync.saved, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (sync.closed, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (policy_completion.complete, policy_completion.OPTIONS),
    lsp.TEXT_DOCUMENT_HOVER: (policy_hover.hover, None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (code_action.offer, code_action.OPTIONS),
    lsp.CODE_ACTION_RESOLVE: (code_action.resolve, None),
    RUN: (run.run, None),
    APPROVAL_RESPOND: (approval.respond, None),
    STATUS: (status.status, None),
    GENERATE: (generate.generate, None),
}
"""What the server answers besides the protocol's own methods: handler and options."""

_WARM = ("remit_server.contract", "remit_server.runtime.settings", "remit_server.runtime.opening")
_CLIENT_CHECK_S = 3.0
_CLOSE_S = 15.0


class RemitServer(LanguageServer):
    """Everything one connection holds: the client, its documents, the runtime."""

    def __init__(self, open_runtime: OpenRuntime) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls passes on untyped arguments
            "remit",
            __version__,
            lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=RemitProtocol,
            converter_factory=converter,
        )
        self.client = Client()
        self.root: Path | None = None
        self.documents: EditorDocuments | None = None
        self.policies = PolicyBuffers()
        self.on_end: Callable[[int], None] = lambda code: logger.info("ended with %d", code)
        self._open_runtime = open_runtime
        self._slot: RuntimeSlot | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._progress: dict[lsp.ProgressToken, Callable[[], object]] = {}

    @property
    def rpc(self) -> RemitProtocol:
        """The protocol, as the class that it is."""
        return cast("RemitProtocol", self.protocol)

    def connect(self, client: Client, root: Path | None, process_id: int | None) -> None:
        """Take note of who has connected, and in which workspace."""
        self.client, self.root = client, root
        if root is not None:
            documents = EditorDocuments(root, lambda request: put_edit(self, request))
            self.documents = documents
            code = EditorCode(self, root)
            self._slot = RuntimeSlot(lambda: self._open_runtime(root, documents, code))
        if process_id is not None and _alive(process_id):
            self.in_background(self._watch(process_id))

    async def runtime(self) -> AgentRuntime:
        """The runtime of the workspace. Raises SetupError when there is no workspace or it cannot be opened."""
        if self._slot is None:
            from remit_server.lsp.refusals import no_workspace

            raise no_workspace()
        return await self._slot.get()

    @property
    def opened_runtime(self) -> AgentRuntime | None:
        """The runtime if it is open by now."""
        return self._slot.opened if self._slot else None

    @property
    def runtime_slot(self) -> RuntimeSlot | None:
        """Where the runtime of the workspace is kept, if there is a workspace."""
        return self._slot

    def warm_up(self) -> None:
        """Import in the background what the first request is going to need, then watch the policy's files."""
        self.in_background(self._get_ready())

    def on_progress_cancelled(self, token: lsp.ProgressToken, act: Callable[[], object] | None) -> None:
        """What to do when the person cancels this progress; None forgets it."""
        if act is None:
            self._progress.pop(token, None)
        else:
            self._progress[token] = act

    def cancel_progress(self, token: lsp.ProgressToken) -> None:
        """The person cancelled a progress; unknown tokens are of progresses that have ended."""
        act = self._progress.pop(token, None)
        if act is not None:
            act()

    def end(self, code: int) -> None:
        """Ask for the process to end with this code."""
        self.on_end(code)

    async def close(self) -> None:
        """Cancel what runs in the background and close the runtime. Idempotent, and bounded in time."""
        for task in self._background:
            task.cancel()
        if self._slot is not None:
            try:
                await asyncio.wait_for(self._slot.close(), _CLOSE_S)
            except TimeoutError:
                logger.exception("the runtime did not close within %d s", _CLOSE_S)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Defects go to the log: a person cannot act on them."""
        logger.error("%s", source.__name__, exc_info=error)

    async def _get_ready(self) -> None:
        await _import_in_threads(_WARM)
        await watch_policy(self)

    async def _watch(self, process_id: int) -> None:
        """End when the client's process has: its pipe may be held open by a child of its own."""
        while _alive(process_id):  # noqa: ASYNC110  # a process of somebody else's tells nobody that it ended
            await asyncio.sleep(_CLIENT_CHECK_S)
        logger.warning("the client's process is gone")
        self.end(1)

    def in_background(self, work: Any) -> asyncio.Task[None]:
        """Run a coroutine beside everything else; closing cancels it."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task


def build_server(open_runtime: OpenRuntime = open_configured_runtime) -> RemitServer:
    """A server for one connection."""
    server = RemitServer(open_runtime)
    for method, (handler, options) in FEATURES.items():
        server.feature(method, options)(handler)
    for name, command in execute_command.COMMANDS.items():
        server.command(name)(command)
    return server


async def _import_in_threads(modules: tuple[str, ...]) -> None:
    for module in modules:
        try:
            await asyncio.to_thread(importlib.import_module, module)
        except Exception:  # the first request imports it again, and says what is wrong
            logger.exception("cannot import `%s`", module)


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError, ValueError):
        return True
    return True
