"""What was read of files, kept while they stay the same: a next look needs no reading (TOOL-06)."""

from __future__ import annotations

import os
import sys
import threading
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

MAX_KEPT_BYTES = 64 * 1024 * 1024
MIN_KEPT_BYTES = 64 * 1024
SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read is not kept: its next change could bear the same time."""

Identity = tuple[int, ...]


class Sized(Protocol):
    """Something that knows how many bytes of memory it takes."""

    @property
    def size(self) -> int:
        """Bytes of memory."""
        ...


V = TypeVar("V", bound=Sized)


@dataclass(frozen=True, slots=True)
class Pages:
    """A text whose lines can be had from anywhere in it. `starts` are the offsets at which they begin."""

    content: str
    starts: array[int]
    digest: str
    encoding: str

    @classmethod
    def of(cls, content: str, digest: str, encoding: str) -> Pages:
        r"""Of a text with `\n` for every line end; a final one ends the last line, it does not start another."""
        starts = array("q", accumulate([len(line) + 1 for line in content.split("\n")], initial=0))
        return cls(content, starts[: bisect_left(starts, len(content))], digest, encoding)

    @property
    def total(self) -> int:
        """How many lines there are."""
        return len(self.starts)

    def lines(self, first: int, count: int) -> list[str]:
        """Up to `count` lines from line `first`, from 1."""
        last = first - 1 + count
        if first > self.total:
            return []
        end = self.starts[last] if last < self.total else len(self.content)
        return self.content[self.starts[first - 1] : end].removesuffix("\n").split("\n")

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return sys.getsizeof(self.content) + sys.getsizeof(self.starts)


class FileCache(Generic[V]):
    """What was made of files, by path, up to `most` bytes, the least lately used of which go first. Any thread may ask.

    An entry counts only for the file as it was: its inode, size and times. What takes less than `least` bytes is not
    worth it. `now_ns` is the clock that files are stamped by.
    """

    def __init__(
        self, most: int = MAX_KEPT_BYTES, least: int = MIN_KEPT_BYTES, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._most, self._least = most, least
        self.now_ns = now_ns
        self._entries: dict[str, tuple[Identity, str, V]] = {}
        self._total = 0
        self._lock = threading.Lock()

    def of(self, fd: int, path: str, version: Callable[[], str], read: Callable[[int], V]) -> V:
        """What `read` makes of the open file, or made of it under this `version`. Raises what `read` raises."""
        before, version_before = identity(os.fstat(fd)), version()
        if (known := self.known(path, before, version_before)) is not None:
            return known
        begun_ns = self.now_ns()
        made = read(fd)
        if identity(os.fstat(fd)) == before and version() == version_before and has_settled(before, begun_ns):
            self.keep(path, before, version_before, made)
        return made

    def known(self, path: str, now: Identity, version: str = "") -> V | None:
        """What is kept of the file that is as `now` says; what was kept of it as it was otherwise is let go."""
        with self._lock:
            entry = self._entries.pop(path, None)
            if entry is None:
                return None
            if entry[0] == now and entry[1] == version:
                self._entries[path] = entry  # at the end again, as the latest used
                return entry[2]
            self._total -= entry[2].size
            return None

    def keep(self, path: str, was: Identity, version: str, made: V) -> None:
        """Keep what was made of the file when it was like that, which the caller knows to be `has_settled`."""
        size = made.size
        with self._lock:
            if (before := self._entries.pop(path, None)) is not None:
                self._total -= before[2].size
            if not self._least <= size <= self._most:
                return
            self._entries[path] = (was, version, made)
            self._total += size
            while self._total > self._most:
                self._total -= self._entries.pop(next(iter(self._entries)))[2].size


def identity(status: os.stat_result) -> Identity:
    """What changes whenever a file does; the time of its last status change cannot be set by anybody."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def has_settled(was: Identity, begun_ns: int) -> bool:
    """Whether a file of this identity had been so for a while when it began to be read."""
    return begun_ns - was[-1] > SETTLED_NS
