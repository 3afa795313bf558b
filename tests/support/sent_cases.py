"""Cases that are sent to a server: bytes, and the answer that is due for them."""

from __future__ import annotations

from dataclasses import dataclass

MEBI = 1 << 20


@dataclass(frozen=True)
class Case:
    """`data` is sent. If `answered`, an answer with `answer_id` is due; an id of None means an error without an id."""

    name: str
    method: str
    data: bytes
    answered: bool
    answer_id: int | str | None = None


def frame(body: bytes) -> bytes:
    """Returns a message's bytes after a header with their length."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
