"""The open documents that may be files that Remit itself reads, and which file each of them is (POL-14, CFG-04).

They are kept apart from the workspace's documents, because the person's own files lie outside the workspace.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Edit, Encoding, apply_changes, split_lines, units
from remit_server.transports.lsp.buffers.uris import file_path

if TYPE_CHECKING:  # slow to import
    from remit_governance.policy.editing.spans import Span
    from remit_server.runtime.settings import Settings

T = TypeVar("T")
Kind = Literal["person", "project", "default"]

logger = logging.getLogger(__name__)

NAMES = frozenset({"policy.yaml", "default.yaml", "config.yaml", "config.json", ".remit.yaml", ".remit.json"})
"""The file names of documents that may be policies or configurations."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """One of the files that a policy consists of."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file. A project's file may not set everything."""

    project: bool


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """A document that may be one of Remit's own files, at one moment."""

    path: Path
    text: str


@dataclass(slots=True, eq=False)
class OwnBuffer:
    """An open document that may be one of Remit's own files. `revision` counts the reasons to check it again."""

    uri: str
    path: Path
    version: int
    text: str
    revision: int = 0
    checking: asyncio.Task[None] | None = None

    @property
    def frozen(self) -> OwnDocument:
        """The document as it is now."""
        return OwnDocument(self.path, self.text)


class OwnBuffers:
    """The open documents that may be Remit's own files, by path. `encoding` is the unit of the editor's positions."""

    def __init__(self) -> None:
        self._buffers: dict[str, OwnBuffer] = {}
        self.encoding: Encoding = "utf-16"

    def open(self, uri: str, version: int, text: str) -> OwnBuffer | None:
        """Adds a document if its name is one of Remit's own files."""
        path = file_path(uri)
        if path is None or Path(path).name not in NAMES:
            return None
        self._buffers[path] = OwnBuffer(uri, Path(path), version, text)
        return self._buffers[path]

    def change(self, uri: str, version: int, edits: Iterable[Edit | str]) -> OwnBuffer | None:
        """Applies edits in order, a bare string being the whole new text."""
        buffer = self.at(uri)
        if buffer is not None:
            buffer.text = apply_changes(buffer.text, edits, self.encoding)
            buffer.version = version
        return buffer

    def close(self, uri: str) -> OwnBuffer | None:
        """Removes a document."""
        return self._buffers.pop(file_path(uri) or uri, None)

    def at(self, uri: str) -> OwnBuffer | None:
        """Returns the document with this URI, in any percent-encoding."""
        return self._buffers.get(file_path(uri) or uri)

    def of(self, path: Path) -> OwnBuffer | None:
        """Returns the document of a file, in any spelling of its path."""
        return next((buffer for buffer in self if same_file(buffer.path, path)), None)

    def __iter__(self) -> Iterator[OwnBuffer]:
        return iter(tuple(self._buffers.values()))


def settings_here(root: Path | None) -> Settings | None:
    """Returns the places of Remit's own files and the audit log, without reading these files, or None if they cannot be
    found. Without a workspace, only the person's own files are known."""
    from remit_server.errors import SetupError
    from remit_server.runtime.settings import Settings

    try:
        return Settings.of_places(root or Path("/"))
    except SetupError as error:
        logger.warning("Remit's own files cannot be found: %s", error.why)
        return None


def policy_paths(settings: Settings) -> dict[Kind, Path]:
    """Returns the files that a policy can consist of."""
    from remit_governance.policy.language.load import default_source

    return {
        "person": settings.person_policy,
        "project": settings.project_policy,
        "default": Path(default_source().file),
    }


def kind_of(path: Path, settings: Settings) -> Kind | None:
    """Returns the kind of a policy file, or None for any other file. A file that is both the person's and the
    project's, through a link, is the person's.
    """
    return next((kind for kind, known in policy_paths(settings).items() if same_file(path, known)), None)


def own_file(path: Path, settings: Settings) -> PolicyFile | ConfigFile | None:
    """Returns which of Remit's own files this one is, or None for another file. A file that is both the person's and a
    project's, through a link, is the person's."""
    from remit_server.runtime.config.layers import places

    kind = kind_of(path, settings)
    if kind is not None:
        return PolicyFile(kind)
    for layer, files in places(settings.workspace, os.environ):
        if any(same_file(path, known) for known in files):
            return ConfigFile(layer == "project")
    return None


def same_file(one: Path, other: Path) -> bool:
    """Returns whether two paths lead to the same file, even if it does not exist yet."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return _resolved(one) == _resolved(other)
    except ValueError:  # not a possible path, for example with a null character
        return False


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), path.name)


class Positions:
    """Converts spans of a text to LSP's units: zero-based lines, characters in units of the encoding."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._text = text
        self._encoding: Encoding = encoding
        self._starts = [0]
        for line in split_lines(text):
            self._starts.append(self._starts[-1] + len(line))
        if len(self._starts) > 1 and not text.endswith(("\n", "\r")):
            self._starts.pop()

    def range(self, span: Span) -> lsp.Range:
        """Returns a span's range."""
        return lsp.Range(self._position(span.start), self._position(span.end))

    def _position(self, offset: int) -> lsp.Position:
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : offset]
        return lsp.Position(line, units(before, self._encoding))


async def call_in_thread(call: Callable[[], T]) -> T:
    """Makes a call on a daemon thread, and returns its result.

    A file that takes long to check must neither block the editor nor keep the process alive.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(call())
        except Exception as error:  # the caller gets the error
            future.set_exception(error)

    threading.Thread(target=work, name="remit-own-file", daemon=True).start()
    return await asyncio.wrap_future(future)
