"""What one connection holds, as its features see it: the client, its open files, its workspace folders, the way to it.

A handler that changes something or talks to the client gets the `Connection`; one that only looks gets a `Snapshot`.
Nothing slow is imported here: `initialize` has to answer before pydantic, the runtime or a model is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.buffers.documents import OpenBuffers
from remit_server.transports.lsp.buffers.policy_files import PolicyBuffers, PolicyDocument
from remit_server.transports.lsp.client import Client
from remit_server.transports.lsp.folders import FolderDocument, WorkspaceFolders
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:  # the port knows the contract, which is slow to import
    from remit_server.runtime.ports import AgentRuntime
    from remit_server.transports.lsp.runtime_slot import OpenRuntime

logger = logging.getLogger(__name__)


class Channel(Protocol):
    """The way to the client."""

    async def ask(self, method: str, params: Any, timeout_s: float) -> Any:
        """Asks the client; raises TimeoutError, ConnectionLost, or JsonRpcException."""
        ...

    def stream(self, token: lsp.ProgressToken, value: Json) -> None:
        """Sends one `$/progress` value. Raises ConnectionLost."""
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification. Raises ConnectionLost."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How things are when the handling of a message begins, for a handler that only looks.

    `document` is the one that the message names, where it is open and lies in a workspace folder; `policy` is the same
    file where it may be a policy, wherever it lies.
    """

    client: Client
    folders: WorkspaceFolders
    document: FolderDocument | None = None
    policy: PolicyDocument | None = None


@dataclass(slots=True)
class Connection:
    """The state of one connection; `client` and `folders` are values that are replaced whole.

    `ready` says that what is slow to import is there, and the policies of the folders are watched.
    """

    channel: Channel
    open_runtime: OpenRuntime
    client: Client = field(default_factory=Client)
    folders: WorkspaceFolders = field(default_factory=WorkspaceFolders)
    buffers: OpenBuffers = field(init=False)
    policies: PolicyBuffers = field(default_factory=PolicyBuffers)
    ready: bool = False
    _background: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _progress: dict[lsp.ProgressToken, Callable[[], object]] = field(
        default_factory=dict[lsp.ProgressToken, Callable[[], object]]
    )

    def __post_init__(self) -> None:
        self.buffers = OpenBuffers(lambda text: self.show(lsp.MessageType.Warning, f"Remit: {text}"))

    def snapshot(self, uri: str | None = None) -> Snapshot:
        """Returns what a handler may look at; `uri` is the document that its message names."""
        if uri is None:
            return Snapshot(self.client, self.folders)
        policy = self.policies.at(uri)
        return Snapshot(self.client, self.folders, self.document(uri), None if policy is None else policy.frozen)

    def document(self, uri: str) -> FolderDocument | None:
        """Returns the open document of this URI, where it lies in a workspace folder."""
        return self.folders.document(self.buffers.at(uri))

    async def runtime(self, folder: str | None = None) -> AgentRuntime:
        """Returns the runtime of a workspace folder, as `WorkspaceFolders.named` finds it. Raises RemitError."""
        return await self.folders.named(folder).slot.get()

    @property
    def opened_runtimes(self) -> list[AgentRuntime]:
        """The runtimes that are open by now, in the order of their folders."""
        return [runtime for folder in self.folders if (runtime := folder.slot.opened) is not None]

    def show(self, kind: lsp.MessageType, text: str) -> None:
        """Shows a message, which every client can. Raises ConnectionLost."""
        self.channel.notify(lsp.WINDOW_SHOW_MESSAGE, lsp.ShowMessageParams(type=kind, message=text))

    async def open_document(self, path: Path, timeout_s: float, selection: lsp.Range | None = None) -> bool:
        """Has the client show a file; False where it cannot, or did not."""
        if not self.client.shows_documents:
            return False
        params = lsp.ShowDocumentParams(uri=path.as_uri(), take_focus=True, selection=selection)
        try:
            answer = await self.channel.ask(lsp.WINDOW_SHOW_DOCUMENT, params, timeout_s)
        except (TimeoutError, ConnectionLost, JsonRpcException) as error:
            logger.warning("the client could not show a document: %s", type(error).__name__)
            return False
        return bool(answer.success)

    def on_progress_cancelled(self, token: lsp.ProgressToken, act: Callable[[], object] | None) -> None:
        """Sets what to do when the person cancels this progress; None forgets it."""
        if act is None:
            self._progress.pop(token, None)
        else:
            self._progress[token] = act

    def cancel_progress(self, token: lsp.ProgressToken) -> None:
        """Acts on a progress that the person cancelled; unknown tokens are of progresses that have ended."""
        act = self._progress.pop(token, None)
        if act is not None:
            act()

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a coroutine beside everything else, until it ends or `cancel_background` is called."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def cancel_background(self) -> None:
        """Cancels all that runs in the background."""
        for task in self._background:
            task.cancel()
