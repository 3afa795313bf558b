"""Caches what was read from files as long as the files do not change (TOOL-06)."""

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
"""A file that changed less than this before it was read is not cached: its next change could have the same time."""

Identity = tuple[int, ...]


class Sized(Protocol):
    """A value that knows how many bytes of memory it takes."""

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        ...


V = TypeVar("V", bound=Sized)


@dataclass(frozen=True, slots=True)
class Pages:
    """A text with random access to its lines. `starts` are the offsets at which they begin."""

    content: str
    starts: array[int]
    digest: str
    encoding: str

    @classmethod
    def of(cls, content: str, digest: str, encoding: str) -> Pages:
        r"""Builds the pages of a text with `\n` line ends; a final line end starts no further line."""
        starts = array("q", accumulate([len(line) + 1 for line in content.split("\n")], initial=0))
        return cls(content, starts[: bisect_left(starts, len(content))], digest, encoding)

    @property
    def total(self) -> int:
        """The number of lines."""
        return len(self.starts)

    def lines(self, first: int, count: int) -> list[str]:
        """Returns up to `count` lines from line `first`, counted from 1."""
        last = first - 1 + count
        if first > self.total:
            return []
        end = self.starts[last] if last < self.total else len(self.content)
        return self.content[self.starts[first - 1] : end].removesuffix("\n").split("\n")

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        return sys.getsizeof(self.content) + sys.getsizeof(self.starts)


class FileCache(Generic[V]):
    """A thread-safe cache of values read from files, by path, of up to `most` bytes; the least recently used are
    evicted.

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
        """Returns the cached value of the open file under this `version`, else reads it. Raises what `read` raises."""
        before, version_before = identity(os.fstat(fd)), version()
        if (known := self.known(path, before, version_before)) is not None:
            return known
        begun_ns = self.now_ns()
        made = read(fd)
        if identity(os.fstat(fd)) == before and version() == version_before and has_settled(before, begun_ns):
            self.keep(path, before, version_before, made)
        return made

    def known(self, path: str, now: Identity, version: str = "") -> V | None:
        """Returns the cached value if the file's identity still is `now`; an outdated entry is evicted."""
        with self._lock:
            entry = self._entries.pop(path, None)
            if entry is None:
                return None
            if entry[0] == now and entry[1] == version:
                self._entries[path] = entry  # moved to the end: the most recently used
                return entry[2]
            self._total -= entry[2].size
            return None

    def keep(self, path: str, was: Identity, version: str, made: V) -> None:
        """Caches a value read from the file while its identity was `was`. The caller has checked `has_settled`."""
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
    """Returns the parts of a file's status that change whenever it does; no program can set its status change time."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def has_settled(was: Identity, begun_ns: int) -> bool:
    """Returns whether a file of this identity had been unchanged for `SETTLED_NS` when the read began."""
    return begun_ns - was[-1] > SETTLED_NS
