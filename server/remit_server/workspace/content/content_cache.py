"""Small files as a search reads them: what it needs of one is kept while that stays the same (TOOL-06).

A look at a file that did not change costs one lstat. Nothing here decides what may be read: that is asked each time.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from remit_server.errors import ToolError
from remit_server.workspace.content.file_cache import FileCache, Identity, has_settled, identity
from remit_server.workspace.content.text import Text, mark_of

MAX_CONTENTS_BYTES = 16 * 1024 * 1024
MAX_CONTENT_BYTES = 64 * 1024
"""Longer files are read each time: the memory does for more of the small ones, of which most trees are made."""

_CHUNK = 1 << 20
_LEAST = 1 << 12
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Content:
    r"""A file's bytes; its text with `\n` for every line end, None until it was wanted, empty of what is binary.

    `looked_under` is the version of the policy by which secrets were looked for, None until then, and `shown` the
    lines without them, where there were some.
    """

    data: bytes
    text: str | None = None
    looked_under: str | None = None
    shown: str | None = None

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return sum(map(sys.getsizeof, (self, self.data, self.text or "", self.shown or "")))

    @property
    def is_binary(self) -> bool:
        """Whether this is no text, once that was looked at."""
        return self.text == "" and mark_of(self.data)[0] != self.data

    @property
    def lines(self) -> list[str]:
        """The lines of the text without their ends; a final end starts no other line."""
        lines = (self.text or "").split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def decoded(self, name: str) -> Content:
        """With its text."""
        if self.text is not None:
            return self
        try:
            return replace(self, text=Text.decode(self.data, name).content)
        except ToolError:
            return replace(self, text="")

    def redacted(self, redact: Callable[[str], str], version: Callable[[], str]) -> Content:
        """With its secrets looked for, by the policy that is in force."""
        while (looked := version()) != self.looked_under:
            whole = "\n".join(self.lines)
            shown = redact(whole)
            if version() == looked:  # else the policy was replaced meanwhile, and who knows which one it was
                return replace(self, looked_under=looked, shown=None if shown == whole else shown)
        return self


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a file, and as which file it may be kept; None where it may not."""

    content: Content
    was: Identity | None = None


def read_in_folder(folder: int, path: str, max_bytes: int, kept: FileCache[Content]) -> Found | None:
    """The regular file at `path`, whose folder is open; None where there is none.

    Raises OSError, also for a link, and EFBIG where it is too large.
    """
    name = path.rpartition("/")[2]
    was = identity(os.stat(name, dir_fd=folder, follow_symlinks=False))
    # Whoever takes the right to read it away, or puts something else there, makes it another file by its times.
    if (known := kept.known(path, was)) is not None:
        return Found(known, was)
    fd = os.open(name, _FLAGS, dir_fd=folder)
    try:
        status = os.fstat(fd)
        begun_ns = kept.now_ns()
        if not stat.S_ISREG(status.st_mode):
            return None
        if (data := bytes_at(fd, max_bytes, status.st_size)) is None:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        was = identity(status)
        if len(data) > MAX_CONTENT_BYTES or not has_settled(was, begun_ns) or identity(os.fstat(fd)) != was:
            return Found(Content(data))
    finally:
        os.close(fd)
    kept.keep(path, was, "", content := Content(data))
    return Found(content, was)


def bytes_at(fd: int, max_bytes: int, size: int) -> bytes | None:
    """All that can be read, which may be more than the `size` that was told; None where it is over `max_bytes`."""
    if size > max_bytes:
        return None
    data = bytearray()
    while chunk := os.read(fd, min(_CHUNK, max_bytes + 1 - len(data), max(size + 1 - len(data), _LEAST))):
        data += chunk
        if len(data) > max_bytes:
            return None
    return bytes(data)


def digest_at(fd: int, size: int) -> str | None:
    """The digest of an open file, read piece by piece; None where it holds more than `size` bytes."""
    digest, room = hashlib.sha256(), size + 1
    while chunk := os.read(fd, min(_CHUNK, room)):
        digest.update(chunk)
        room -= len(chunk)
        if not room:
            return None
    return "sha256:" + digest.hexdigest()


def empty_cache() -> FileCache[Content]:
    """Room for a workspace's small files."""
    return FileCache(MAX_CONTENTS_BYTES, 0)
