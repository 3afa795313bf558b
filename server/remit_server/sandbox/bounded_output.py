"""Keeps only the head and the tail of an output, which may be endless; pure (BOX-04)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class BoundedOutput:
    """Takes chunks and holds at most about `most` bytes of them."""

    most: int
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        """Adds the next bytes of the output."""
        self.total += len(chunk)
        room = self.most // 2 - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # Cut in large steps, because cutting at each chunk would copy the tail each time.
        if len(self._tail) > 2 * self.most:
            del self._tail[: -self.most // 2]

    @property
    def truncated(self) -> bool:
        """Whether something was left out."""
        return self.total > len(self._head) + min(len(self._tail), self.most // 2)

    def value(self) -> bytes:
        """Returns head and tail, with a line between them that says how much is missing."""
        tail = bytes(self._tail[-(self.most // 2) :]) if self._tail else b""
        missing = self.total - len(self._head) - len(tail)
        note = b"\n[... %d bytes left out ...]\n" % missing if missing else b""
        return bytes(self._head) + note + tail
