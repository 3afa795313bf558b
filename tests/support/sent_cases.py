"""What is sent to a server to see how it takes it: bytes, and the answer that is due for them."""

from __future__ import annotations

from dataclasses import dataclass

MEBI = 1 << 20


@dataclass(frozen=True)
class Case:
    """`data` is what is sent. An `answer_id` of None: the answer is an error without one; missing: none is due."""

    name: str
    method: str
    data: bytes
    answered: bool
    answer_id: int | str | None = None


def frame(body: bytes) -> bytes:
    """A message's bytes behind their length."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
