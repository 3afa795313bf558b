"""The language server of one connection: what it offers, as a table, and what it holds (002 §4.4; protocol.md §3).

Nothing slow is imported here: `initialize` has to answer before pydantic, the runtime or a model is.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from remit_server import __version__
from remit_server.lsp.client import Client
from remit_server.lsp.documents import EditorDocuments, OpenBuffers
from remit_server.lsp.editor_code import EditorCode
from remit_server.lsp.features import (
    approval,
    code_action,
    execute_command,
    folders,
    generate,
    policy_completion,
    policy_hover,
    run,
    status,
    sync,
)
from remit_server.lsp.features.policy_files import PolicyBuffers
from remit_server.lsp.folders import FolderDocument, WorkspaceFolder, WorkspaceFolders
from remit_server.lsp.policy_watch import watch_policy
from remit_server.lsp.protocol import RemitProtocol
from remit_server.lsp.runtime_slot import OpenRuntime, RuntimeSlot, configured_runtimes
from remit_server.lsp.types import APPROVAL_RESPOND, GENERATE, RUN, STATUS, converter
from remit_server.lsp.uris import NotHere, Root
from remit_server.lsp.workspace_edit import put_edit, tell_person

if TYPE_CHECKING:  # the port knows the contract, which is slow to import
    from remit_server.runtime.ports import AgentRuntime

logger = logging.getLogger(__name__)

FEATURES: Mapping[str, tuple[Callable[..., Any], Any]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: (sync.opened, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (sync.changed, None),
    lsp.TEXT_DOCUMENT_DID_SAVE: (sync.saved, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (sync.closed, None),
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (folders.changed, None),
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
    """Everything one connection holds: the client, its documents, its workspace folders with their runtimes."""

    def __init__(self, open_runtime: OpenRuntime) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls passes on untyped arguments
            "remit",
            __version__,
            lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=RemitProtocol,
            converter_factory=converter,
        )
        self.client = Client()
        self.buffers = OpenBuffers(lambda text: tell_person(self, text))
        self.folders = WorkspaceFolders(self._folder)
        self.policies = PolicyBuffers()
        self.on_end: Callable[[int], None] = lambda code: logger.info("ended with %d", code)
        self._open_runtime = open_runtime
        self._ready = False
        self._background: set[asyncio.Task[None]] = set()
        self._progress: dict[lsp.ProgressToken, Callable[[], object]] = {}

    @property
    def rpc(self) -> RemitProtocol:
        """The protocol, as the class that it is."""
        return cast("RemitProtocol", self.protocol)

    def connect(self, client: Client, roots: Collection[Root], process_id: int | None) -> None:
        """Take note of who has connected, and in which workspace folders."""
        self.client = client
        self.folders.add(roots)
        if process_id is not None and _alive(process_id):
            self.in_background(self._watch(process_id))

    def change_folders(self, added: Collection[Root], removed: Collection[Root]) -> None:
        """Open and close workspace folders. What runs in one that is closed is cancelled."""
        for folder in self.folders.remove(removed):
            self.in_background(_close_folder(folder))
        for folder in self.folders.add(added):
            if self._ready:
                self.in_background(watch_policy(self, folder))
        if self._ready:
            self._tell_of(root for root in added if isinstance(root, NotHere))

    async def runtime(self, folder: str | None = None) -> AgentRuntime:
        """The runtime of a workspace folder, as `WorkspaceFolders.named` finds it. Raises RemitError."""
        return await self.folders.named(folder).slot.get()

    @property
    def opened_runtimes(self) -> list[AgentRuntime]:
        """The runtimes that are open by now, in the order of their folders."""
        return [runtime for folder in self.folders if (runtime := folder.slot.opened) is not None]

    def document(self, uri: str) -> FolderDocument | None:
        """The open document of this URI, where it lies in a workspace folder."""
        return self.folders.document(self.buffers.at(uri))

    @property
    def first_root(self) -> Path | None:
        """The root of the folder that the editor named first, if one is open."""
        first = self.folders.first
        return first.root if first is not None else None

    def root_of(self, path: Path) -> Path | None:
        """The root of the folder that a file belongs to; of the first one where it lies in none."""
        folder = self.folders.containing(Path(os.path.realpath(path)))
        return folder.root if folder is not None else self.first_root

    def warm_up(self) -> None:
        """Import in the background what the first request is going to need, then watch the policies' files."""
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
        """Cancel what runs in the background and close the runtimes. Idempotent, and bounded in time."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*(_close_folder(folder) for folder in self.folders))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Defects go to the log: a person cannot act on them."""
        logger.error("%s", source.__name__, exc_info=error)

    async def _get_ready(self) -> None:
        await _import_in_threads(_WARM)
        self._ready = True
        for folder in self.folders:
            self.in_background(watch_policy(self, folder))
        self._tell_of(self.folders.elsewhere)

    def _tell_of(self, roots: Iterable[NotHere]) -> None:
        """Say which folders nothing can be done in, before somebody asks for something there."""
        for root in roots:
            error = root.error()
            message = f"{error.what}: {error.why}; {error.fix}"
            self.window_show_message(lsp.ShowMessageParams(type=lsp.MessageType.Warning, message=message))

    def _folder(self, root: Path) -> WorkspaceFolder:
        documents = EditorDocuments(root, self.buffers, lambda request: put_edit(self, request))
        code = EditorCode(self, root)
        return WorkspaceFolder(root, documents, RuntimeSlot(lambda: self._open_runtime(root, documents, code)))

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


def build_server(open_runtime: OpenRuntime | None = None) -> RemitServer:
    """A server for one connection."""
    server = RemitServer(open_runtime or configured_runtimes())
    for method, (handler, options) in FEATURES.items():
        server.feature(method, options)(handler)
    for name, command in execute_command.COMMANDS.items():
        server.command(name)(command)
    return server


async def _close_folder(folder: WorkspaceFolder) -> None:
    try:
        await asyncio.wait_for(folder.slot.close(), _CLOSE_S)
    except TimeoutError:
        logger.exception("a runtime did not close within %d s", _CLOSE_S)


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
