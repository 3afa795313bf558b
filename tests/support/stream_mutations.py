"""Broken streams of a model server: their bytes are changed at random."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

Lines = list[bytes]


def _flip(lines: Lines, rng: random.Random) -> None:
    """Changes a byte somewhere."""
    at = rng.randrange(len(lines))
    if lines[at]:
        spot = rng.randrange(len(lines[at]))
        lines[at] = lines[at][:spot] + bytes([rng.randrange(256)]) + lines[at][spot + 1 :]


def _cut(lines: Lines, rng: random.Random) -> None:
    """Cuts off the end of the stream."""
    at = rng.randrange(len(lines))
    del lines[at + 1 :]
    lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]


def _drop(lines: Lines, rng: random.Random) -> None:
    del lines[rng.randrange(len(lines))]


def _twice(lines: Lines, rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    lines.insert(rng.randrange(len(lines) + 1), lines[at])


def _swap(lines: Lines, rng: random.Random) -> None:
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _insert(lines: Lines, rng: random.Random) -> None:
    odd = (
        b"data: {}",
        b": a comment",
        b"event: odd",
        b"data: [DONE]",
        b"\xff\xfe",
        b"\x00",
        b"data: null",
        b"{}",
        b"retry: 1",
    )
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(odd))


def _key_twice(lines: Lines, rng: random.Random) -> None:
    """Repeats a key of an object at the beginning of the object."""
    at = rng.randrange(len(lines))
    keys = [
        key for key in (b"choices", b"delta", b"message", b"type", b"index", b"candidates", b"done") if key in lines[at]
    ]
    if keys:
        lines[at] = lines[at].replace(
            b"{", b'{"%b": %b, ' % (rng.choice(keys), rng.choice((b"null", b"[]", b"1", b'"x"'))), 1
        )


def _deep(lines: Lines, rng: random.Random) -> None:
    """Nests brackets deeper than any parser should follow."""
    depth = rng.choice((50, 2_000, 60_000))
    at = rng.randrange(len(lines))
    lines[at] = lines[at].replace(b'"index": 0', b'"index": %b%b' % (b"[" * depth, b"]" * depth), 1)


def _long(lines: Lines, rng: random.Random) -> None:
    """Puts in a text of a megabyte."""
    at = rng.randrange(len(lines))
    text = json.dumps("".join(rng.choice("abc ") for _ in range(200)) * 5_000).encode()
    lines[at] = lines[at].replace(b'"I look."', text, 1)


def _split(lines: Lines, rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    spot = rng.randrange(len(lines[at]) + 1)
    lines[at : at + 1] = [lines[at][:spot], lines[at][spot:]]


MUTATIONS: Sequence[Callable[[Lines, random.Random], None]] = (
    _flip, _flip, _cut, _drop, _twice, _swap, _insert, _key_twice, _deep, _long, _split,
)  # fmt: skip


def mutated(stream: bytes, seed: int) -> bytes:
    """Returns the stream after one to three changes; the same seed makes the same changes."""
    rng = random.Random(seed)
    lines = stream.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        rng.choice(MUTATIONS)(lines, rng)
        lines = lines or [b""]
    return b"\n".join(lines)
