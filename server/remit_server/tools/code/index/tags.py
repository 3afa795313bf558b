"""What one source file defines and uses, found with tree-sitter in bounded time and remembered by content and stamp.

The text of a file is the editor's buffer while the file is open there.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tree_sitter import Node, Parser, Point, Tree

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.code.index.languages import ANY, NAMES, grammar_of
from remit_server.tools.spec import ToolContext
from remit_server.workspace.content.files import digest_of, image_of_text, read_image
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath
from remit_server.workspace.trees.walk import Limits

K = TypeVar("K")

MAX_SOURCE_BYTES = 300_000
"""Most longer files are generated or hold data."""

MAX_REMEMBERED = 5_000
"""How many files' tags are kept, at about 10 kB each."""

_CHUNK = 64 * 1024
_NODES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, and the line, from 1, on which its definition begins. `inner` says whether that line is indented."""

    name: str
    line: int
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Tags:
    """The definitions in a file of this language, ordered by line, and the names that it uses.

    `uses` are names that it calls, imports, extends or takes for types; `members` are names that it calls on an unknown
    object.
    """

    language: str
    definitions: tuple[Definition, ...] = ()
    uses: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()


def find_tags(source: bytes, language: str, spent: Callable[[], bool]) -> Tags:
    """Returns the tags of a source text. Raises TimeoutError if `spent` returns True."""
    grammar = grammar_of(language)

    def read(offset: int, _: Point) -> bytes:
        return source[offset : offset + _CHUNK]

    try:
        tree = Parser(grammar.language).parse(read, progress_callback=lambda _offset, _error: spent())
    except ValueError as error:
        raise TimeoutError from error
    definitions = set[Definition]()
    uses, members = set[str](), set[str]()
    for number, node in enumerate(_nodes(tree)):
        if number % _NODES_AT_ONCE == 0 and spent():
            raise TimeoutError
        kind = node.type
        if kind in grammar.defines and _counts(node, grammar.only.get(kind)):
            line, inner = node.start_point.row + 1, _is_indented(source, node)
            definitions.update(Definition(name, line, inner) for name in _names(node, grammar.defines[kind]))
        if kind in grammar.uses:
            uses.update(_names(node, grammar.uses[kind]))
        if kind in grammar.members:
            members.update(_names(node, grammar.members[kind]))
    ordered = sorted(definitions, key=lambda each: (each.line, each.name))
    return Tags(language, tuple(ordered), frozenset(uses), frozenset(members))


def _nodes(tree: Tree) -> Iterator[Node]:
    """Yields every named node in the order of the text, without recursion, because a hostile text may nest a hundred
    thousand levels deep."""
    cursor = tree.walk()
    while True:
        if (node := cursor.node) is not None and node.is_named:
            yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _is_indented(source: bytes, node: Node) -> bool:
    start = node.start_byte - node.start_point.column
    return source[start : start + 1] in {b" ", b"\t"}


def _counts(node: Node, only: tuple[str, frozenset[str]] | None) -> bool:
    if only is None:
        return True
    held = node.child_by_field_name(only[0])
    return held is not None and held.type in only[1]


def _names(node: Node, paths: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for path in paths:
        nodes = [node]
        for name in path:
            nodes = [child for each in nodes for child in _children(each, name)]
        yield from (_text(each) for each in nodes if each.type in NAMES)


def _children(node: Node, name: str) -> list[Node]:
    return node.named_children if name == ANY else node.children_by_field_name(name)


def _text(node: Node) -> str:
    return sys.intern((node.text or b"").decode(errors="replace"))


Stamp = tuple[int, int, int, int, int]
"""A file's state by the file system: device, inode, size, and the times of its last changes, in nanoseconds."""

SETTLED_NS = 2_000_000_000
"""If a file changed less than this before it was read, it may change again without a change of its times."""


def stamp_of(status: os.stat_result) -> Stamp:
    """Returns the stamp of a file. Two contents have different stamps, unless they were written within one step of the
    clock."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(slots=True)
class TagCache:
    """Tags by language and content, and by language and file stamp; the latest `most` of each are kept."""

    most: int = MAX_REMEMBERED
    clock: Callable[[], int] = time.time_ns
    _kept: OrderedDict[tuple[str, str], Tags] = field(default_factory=OrderedDict[tuple[str, str], Tags])
    _stamped: OrderedDict[tuple[str, Stamp], Tags] = field(default_factory=OrderedDict[tuple[str, Stamp], Tags])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tags(self, source: bytes, language: str, spent: Callable[[], bool]) -> Tags:
        """Returns what `find_tags` returns, but calls it once for each content."""
        key = (language, digest_of(source))
        if (known := self._known(self._kept, key)) is not None:
            return known
        found = find_tags(source, language, spent)
        self._keep(self._kept, key, found)
        return found

    def of_file(self, status: os.stat_result, language: str, tags: Callable[[], Tags]) -> Tags:
        """Returns what `tags` returns for the file with this `status`, but calls it once for each stamp.

        Does not remember a file that changed just now, because it may change again and keep its stamp.
        """
        key = (language, stamp_of(status))
        if (known := self._known(self._stamped, key)) is not None:
            return known
        settled = self.clock() - max(status.st_mtime_ns, status.st_ctime_ns) > SETTLED_NS
        found = tags()
        if settled:
            self._keep(self._stamped, key, found)
        return found

    def _known(self, kept: OrderedDict[K, Tags], key: K) -> Tags | None:
        with self._lock:
            if (known := kept.get(key)) is not None:
                kept.move_to_end(key)
            return known

    def _keep(self, kept: OrderedDict[K, Tags], key: K, found: Tags) -> None:
        with self._lock:
            kept[key] = found
            if len(kept) > self.most:
                kept.popitem(last=False)


MAX_FILE_SECONDS = 1.0
REMEMBERED = TagCache()


def tags_of(ctx: ToolContext, relative: str, language: str, limits: Limits, cache: TagCache = REMEMBERED) -> Tags:
    """Returns what a file defines and uses. Reads the file only if its stamp changed; a stamp is compared on each call,
    so no change is missed.

    Raises ToolError and UnicodeEncodeError, and TimeoutError if it takes too long.
    """

    def found() -> Tags:
        return cache.tags(source_of(ctx, relative).encode(), language, _a_while(limits))

    if ctx.documents.get(relative) is not None:
        return found()
    try:
        # Take the stamp before the file is read, so that a change during the read gives another stamp the next time.
        status = ctx.workspace.root.joinpath(relative).lstat()
    except OSError:
        return found()
    return cache.of_file(status, language, found)


def _a_while(limits: Limits) -> Callable[[], bool]:
    """Returns a function that says whether the time for one file or for all is over, because some texts take very long
    to parse."""
    own = Limits(seconds=MAX_FILE_SECONDS)
    return lambda: limits.spent() or own.spent()


def source_of(ctx: ToolContext, relative: str) -> str:
    """Returns the text of a file, or of its buffer in the editor. Raises ToolError, also if the file is too large."""
    document = ctx.documents.get(relative)
    if document is None:
        path = WorkspacePath(relative, ctx.workspace.root)
        return Text.decode(read_image(ctx.workspace, path, MAX_SOURCE_BYTES).data, relative).content
    if len(image_of_text(document.text).data) > MAX_SOURCE_BYTES:
        what, why = f"cannot map `{relative}`", f"it is larger than {MAX_SOURCE_BYTES} bytes"
        raise ToolError(what, why, "read it in parts", code=ErrorCode.TOO_LARGE)
    return document.text
