"""Large texts that were read, kept while their files stay the same: a next page needs no reading (agent.md §2)."""

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

MAX_KEPT_BYTES = 64 * 1024 * 1024
MIN_KEPT_BYTES = 64 * 1024
SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read is not kept: its next change could bear the same time."""

Identity = tuple[int, ...]


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


class Kept:
    """The pages of files by path, the least lately used of which go first. Any thread may ask.

    An entry counts only for the file as it was: its inode, size and times. `version` names what else the text depends
    on. `now_ns` is the clock that files are stamped by.
    """

    def __init__(self, most: int = MAX_KEPT_BYTES, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._most = most
        self._now_ns = now_ns
        self._entries: dict[str, tuple[Identity, str, Pages]] = {}
        self._lock = threading.Lock()

    def pages(self, fd: int, path: str, version: str, read: Callable[[int], Pages]) -> Pages:
        """What the open file holds, from `read` unless it is known. Raises what `read` raises."""
        before = identity(fd)
        with self._lock:
            entry = self._entries.pop(path, None)
            if entry is not None and entry[:2] == (before, version):
                self._entries[path] = entry
                return entry[2]
        changed_ns, begun_ns = os.fstat(fd).st_ctime_ns, self._now_ns()
        pages = read(fd)
        if identity(fd) == before and begun_ns - changed_ns > SETTLED_NS and pages.size >= MIN_KEPT_BYTES:
            self._keep(path, (before, version, pages))
        return pages

    def _keep(self, path: str, entry: tuple[Identity, str, Pages]) -> None:
        with self._lock:
            self._entries[path] = entry
            total = sum(kept.size for _, _, kept in self._entries.values())
            while total > self._most:
                oldest = next(iter(self._entries))
                total -= self._entries.pop(oldest)[2].size


def identity(fd: int) -> Identity:
    """What changes whenever the file does; the time of its last status change cannot be set by anybody."""
    status = os.fstat(fd)
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
