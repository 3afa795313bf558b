"""The state of one connection for its features: the client, its open files, its workspace folders, and the channel.

A handler that changes something or talks to the client gets the `Connection`; one that only reads gets a `Snapshot`.
Nothing slow is imported here: `initialize` is answered before pydantic, the runtime or a model is imported.

`Latest` runs work of which only the newest for each document counts, and cancels older work (LSP-12).
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.buffers.documents import OpenBuffers
from remit_server.transports.lsp.buffers.own_files import OwnBuffers, OwnDocument
from remit_server.transports.lsp.connection.client import Client
from remit_server.transports.lsp.connection.folders import FolderDocument, WorkspaceFolders
from remit_server.transports.lsp.connection.reviews import Review
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.frames import ConnectionLost

T = TypeVar("T")


@dataclass(slots=True)
class Latest:
    """Runs at most one task for each key."""

    _running: dict[str, asyncio.Task[Any]] = field(default_factory=dict[str, "asyncio.Task[Any]"])

    async def run(self, key: str, work: Coroutine[Any, Any, T]) -> T | None:
        """Cancels the task of this key, and runs the work in its place. Returns None if later work or `drop` cancelled
        it. Cancelling the caller cancels the work.
        """
        self.drop(key)
        task: asyncio.Task[T] = asyncio.ensure_future(work)
        self._running[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            mine = asyncio.current_task()
            if mine is not None and mine.cancelling():
                raise
            return None
        finally:
            if self._running.get(key) is task:
                del self._running[key]

    def drop(self, key: str) -> None:
        """Cancels the task of a key, if one runs."""
        task = self._running.pop(key, None)
        if task is not None:
            task.cancel()


if TYPE_CHECKING:  # slow to import
    from remit_server.chat.replies import Chat
    from remit_server.contract import ApprovalResolved
    from remit_server.runtime.runtime import Runtime
    from remit_server.transports.lsp.connection.folders import OpenRuntime

logger = logging.getLogger(__name__)


def new_session_id() -> str:
    """Returns the id for a new session that an editor begins."""
    return f"editor-{uuid.uuid4().hex[:8]}"


class Channel(Protocol):
    """Sends to the client."""

    async def ask(self, method: str, params: Any, timeout_s: float) -> Any:
        """Sends a request and returns its result. Raises TimeoutError, ConnectionLost, or JsonRpcException."""
        ...

    def stream(self, token: lsp.ProgressToken, value: Json) -> None:
        """Sends one `$/progress` value. Raises ConnectionLost."""
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification. Raises ConnectionLost."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state when the handling of a message begins, for a handler that only reads.

    `document` is the message's document if it is open and in a workspace folder. `own_file` is the same document if
    its name is that of a file that Remit itself reads, in a workspace folder or not.
    """

    client: Client
    folders: WorkspaceFolders
    document: FolderDocument | None = None
    own_file: OwnDocument | None = None
    reviews: tuple[Review, ...] = ()


@dataclass(slots=True)
class Connection:
    """The state of one connection; `client` and `folders` are immutable values, replaced as a whole.

    `ready` says that the slow imports are done and the folders' policy and configuration are watched. `session` is the
    session of commands that name none, and `chats` has the chats of this connection by session. `reviews` has the
    waiting questions about changes by id, `ended_reviews` how the last of them ended, and `read_documents` the virtual
    documents that the client has read of each waiting question. `registered` has the names of the registrations at the
    client. `editor_settings` has the settings in force from the editor by folder, `sent_settings` those of a client
    that pushes them instead of being asked, and `said` the complaints about them that were shown. `completions` runs
    the completions at the cursor, by document; `offers_completion` says that they are registered at the client.
    """

    channel: Channel
    open_runtime: OpenRuntime
    client: Client = field(default_factory=Client)
    folders: WorkspaceFolders = field(default_factory=WorkspaceFolders)
    buffers: OpenBuffers = field(init=False)
    own_files: OwnBuffers = field(default_factory=OwnBuffers)
    ready: bool = False
    session: str = field(default_factory=new_session_id)
    chats: dict[str, Chat] = field(default_factory=dict[str, "Chat"])
    reviews: dict[str, Review] = field(default_factory=dict[str, Review])
    completions: Latest = field(default_factory=Latest)
    offers_completion: bool = False
    ended_reviews: dict[str, ApprovalResolved] = field(default_factory=dict[str, "ApprovalResolved"])
    editor_settings: dict[Path, Mapping[tuple[str, str], Any]] = field(
        default_factory=dict[Path, "Mapping[tuple[str, str], Any]"]
    )
    sent_settings: Json = None
    said: set[str] = field(default_factory=set[str])
    registered: set[str] = field(default_factory=set[str])
    read_documents: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _background: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _progress: dict[lsp.ProgressToken, Callable[[], object]] = field(
        default_factory=dict[lsp.ProgressToken, Callable[[], object]]
    )

    def __post_init__(self) -> None:
        self.buffers = OpenBuffers(lambda text: self.show(lsp.MessageType.Warning, f"Remit: {text}"))

    def snapshot(self, uri: str | None = None) -> Snapshot:
        """Returns the state for a handler that only reads; `uri` is its message's document."""
        if uri is None:
            return Snapshot(self.client, self.folders)
        own = self.own_files.at(uri)
        frozen = None if own is None else own.frozen
        return Snapshot(self.client, self.folders, self.document(uri), frozen, tuple(self.reviews.values()))

    def document(self, uri: str) -> FolderDocument | None:
        """Returns the open document of this URI, or None if it is not open or in no workspace folder."""
        return self.folders.document(self.buffers.at(uri))

    async def runtime(self, folder: str | None = None) -> Runtime:
        """Returns the runtime of a workspace folder, as `WorkspaceFolders.named` finds it. Raises RemitError."""
        return await self.folders.named(folder).slot.get()

    @property
    def opened_runtimes(self) -> list[Runtime]:
        """The runtimes that are open, in the order of their folders."""
        return [runtime for folder in self.folders if (runtime := folder.slot.opened) is not None]

    def show(self, kind: lsp.MessageType, text: str) -> None:
        """Shows the person a message, which every client can do. Raises ConnectionLost."""
        self.channel.notify(lsp.WINDOW_SHOW_MESSAGE, lsp.ShowMessageParams(type=kind, message=text))

    async def open_document(self, uri: str, timeout_s: float, selection: lsp.Range | None = None) -> bool:
        """Asks the client to show a document. Returns False if the client cannot or did not show it."""
        if not self.client.shows_documents:
            return False
        params = lsp.ShowDocumentParams(uri=uri, take_focus=True, selection=selection)
        answer = await self.try_ask(lsp.WINDOW_SHOW_DOCUMENT, params, timeout_s, "the client could not show a document")
        return answer is not None and bool(answer.success)

    async def try_ask(self, method: str, params: Any, timeout_s: float, failure: str) -> Any:
        """Sends a request and returns its result. If no usable result comes, logs `failure` and returns None."""
        try:
            return await self.channel.ask(method, params, timeout_s)
        except (TimeoutError, ConnectionLost, JsonRpcException) as error:
            logger.warning("%s: %s", failure, type(error).__name__)
            return None

    def on_progress_cancelled(self, token: lsp.ProgressToken, act: Callable[[], object] | None) -> None:
        """Registers a callback for the cancellation of this progress; None removes it."""
        if act is None:
            self._progress.pop(token, None)
        else:
            self._progress[token] = act

    def cancel_progress(self, token: lsp.ProgressToken) -> None:
        """Calls the callback of a progress that the person cancelled. An unknown token belongs to an ended progress."""
        act = self._progress.pop(token, None)
        if act is not None:
            act()

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a coroutine in the background until it ends or `cancel_background` is called. Returns its task."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def cancel_background(self) -> None:
        """Cancels all background tasks."""
        for task in self._background:
            task.cancel()
