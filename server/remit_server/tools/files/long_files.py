"""Reads a file of any length as pieces of whole lines, of which a few are in memory at a time (TOOL-03).

Secrets are looked for in a piece together with its edges, the lines right before and after it. The edges are longer
than any secret.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from remit_server.errors import ToolError
from remit_server.workspace.content.text import Text, binary_file, mark_of

PIECE_BYTES = 4 * 1024 * 1024
EDGE_BYTES = 64 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024

_BLOCK = 1 << 20
_SAMPLE = 1 << 16


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines of a file, `first` the number of the first of them, and the lines right before and after
    them."""

    data: bytes
    before: bytes
    after: bytes
    first: int
    encoding: str

    @property
    def text(self) -> str:
        r"""The text of the piece with its edges, with `\n` for every line end."""
        return (self.before + self.data + self.after).decode(self.encoding, "replace").replace("\r\n", "\n")

    @property
    def own(self) -> range:
        """The numbers, from 1, of the lines of `text` that are the piece's own."""
        skipped = self.before.count(b"\n")
        count = self.data.count(b"\n") + (not self.data.endswith(b"\n"))
        return range(skipped + 1, skipped + count + 1)


def pieces_of(fd: int, name: str) -> Iterator[Piece]:
    """Yields all pieces of an open file. Raises ToolError if the file is no text, or has a line that is too long."""
    blocks = iter(lambda: os.read(fd, _BLOCK), b"")
    begun = next(blocks, b"")
    mark, encoding = mark_of(begun)
    all_of_it = chain([begun[len(mark) :]], blocks)
    if encoding in {"", "utf-8"}:
        encoding = _encoding_of(begun[len(mark) : _SAMPLE], name)
        return _with_edges(_split_lines(all_of_it, name), encoding)
    return _with_edges(_split_lines(_as_utf8(all_of_it, encoding), name), "utf-8")


def _encoding_of(sample: bytes, name: str) -> str:
    """Returns the encoding of a file without a mark. Raises ToolError."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the sample may end within a character
    except UnicodeDecodeError:
        return Text.decode(sample[: sample.rfind(b"\n") + 1] or sample, name).encoding
    return "utf-8"


def _as_utf8(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")


def _split_lines(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    held = bytearray()
    for block in blocks:
        if b"\0" in block:
            raise binary_file(name)
        held += block
        if len(held) >= PIECE_BYTES and (end := held.rfind(b"\n") + 1):
            yield bytes(held[:end])
            del held[:end]
        elif len(held) > MAX_LINE_BYTES:
            why = f"it has a line of more than {MAX_LINE_BYTES >> 20} MB"
            raise ToolError(f"cannot read all of `{name}`", why, "work on other files")
    if held:
        yield bytes(held)


def _with_edges(pieces: Iterator[bytes], encoding: str) -> Iterator[Piece]:
    before, number = b"", 1
    here = next(pieces, None)
    while here is not None:
        following = next(pieces, None)
        yield Piece(here, before, _beginning(following or b""), number, encoding)
        number += here.count(b"\n")
        before, here = _end(here), following


def _beginning(piece: bytes) -> bytes:
    """Returns the first lines of a piece, for an edge."""
    return piece if len(piece) <= EDGE_BYTES else piece[: piece.rfind(b"\n", 0, EDGE_BYTES) + 1]


def _end(piece: bytes) -> bytes:
    """Returns the last lines of a piece, for an edge."""
    return piece if len(piece) <= EDGE_BYTES else piece[piece.find(b"\n", len(piece) - EDGE_BYTES) + 1 :]
