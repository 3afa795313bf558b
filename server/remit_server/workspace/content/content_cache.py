"""Caches the contents of small files for searches, as long as the files do not change (TOOL-06).

An unchanged file costs one lstat. Nothing here decides what may be read: policy is asked each time.
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
"""Longer files are read each time: the cache is better used for many small files, of which most trees are made."""

_CHUNK = 1 << 20
_LEAST = 1 << 12
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Content:
    r"""A file's bytes and its text with `\n` line ends: None until it is decoded, empty for a binary file.

    `looked_under` is the policy version that secrets were redacted under, None until then; `shown` is the redacted text
    where it differs.
    """

    data: bytes
    text: str | None = None
    looked_under: str | None = None
    shown: str | None = None

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        return sum(map(sys.getsizeof, (self, self.data, self.text or "", self.shown or "")))

    @property
    def is_binary(self) -> bool:
        """Whether the file is binary, once it has been decoded."""
        return self.text == "" and mark_of(self.data)[0] != self.data

    @property
    def lines(self) -> list[str]:
        """The lines of the text without their ends; a final line end starts no further line."""
        lines = (self.text or "").split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def decoded(self, name: str) -> Content:
        """Returns this content with its text."""
        if self.text is not None:
            return self
        try:
            return replace(self, text=Text.decode(self.data, name).content)
        except ToolError:
            return replace(self, text="")

    def redacted(self, redact: Callable[[str], str], version: Callable[[], str]) -> Content:
        """Returns this content with its secrets redacted under the policy in force."""
        while (looked := version()) != self.looked_under:
            whole = "\n".join(self.lines)
            shown = redact(whole)
            if version() == looked:  # else the policy was replaced meanwhile
                return replace(self, looked_under=looked, shown=None if shown == whole else shown)
        return self


@dataclass(frozen=True, slots=True)
class Found:
    """The content read from a file, and the identity to cache it under; None where it may not be cached."""

    content: Content
    was: Identity | None = None


def read_in_folder(folder: int, path: str, max_bytes: int, kept: FileCache[Content]) -> Found | None:
    """Reads the regular file at `path`, whose folder is open. Returns None where there is none.

    Raises OSError, also for a link, and EFBIG where it is too large.
    """
    name = path.rpartition("/")[2]
    was = identity(os.stat(name, dir_fd=folder, follow_symlinks=False))
    # Revoking the right to read a file, or putting another one in its place, changes its times and so its identity.
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
    """Reads all bytes of a file, which may be more than `size`. Returns None where they exceed `max_bytes`."""
    if size > max_bytes:
        return None
    data = bytearray()
    while chunk := os.read(fd, min(_CHUNK, max_bytes + 1 - len(data), max(size + 1 - len(data), _LEAST))):
        data += chunk
        if len(data) > max_bytes:
            return None
    return bytes(data)


def digest_at(fd: int, size: int) -> str | None:
    """Returns the digest of an open file, read in blocks; None where it holds more than `size` bytes."""
    digest, room = hashlib.sha256(), size + 1
    while chunk := os.read(fd, min(_CHUNK, room)):
        digest.update(chunk)
        room -= len(chunk)
        if not room:
            return None
    return "sha256:" + digest.hexdigest()


def empty_cache() -> FileCache[Content]:
    """Returns an empty cache for a workspace's small files."""
    return FileCache(MAX_CONTENTS_BYTES, 0)
