"""Content-Length framing as a function of bytes: input becomes messages, and invalid input is skipped up to the next
header (LSP-02).

JSON has no line ends inside its strings, so a header line in a body proves that the body's length was wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, cast

from remit_server.json_bounds import MOST_VALUES, has_too_many_values
from remit_server.transports.lsp.rpc.custom_methods import Json

MAX_MESSAGE = 64 * 1024 * 1024
"""The largest message in bytes; a larger one is skipped and refused."""

_MAX_HEADER = 16 * 1024
_TAIL = 64
"""The bytes at the end of the input in which a line with a length may begin."""
_MOST_LOOKS = 4
"""The number of searches in an incomplete message: each reads all bytes so far."""

_LENGTH_LINE = re.compile(rb"content-length:[ \t]{0,8}[0-9]{1,18}[ \t]{0,8}\r?\n", re.IGNORECASE)
_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]*)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*")
_HEADER_PART = re.compile(
    rb"(?:[A-Za-z][A-Za-z0-9-]*[ \t]*:[^\r\n]*\r?\n)*(?:[A-Za-z][A-Za-z0-9-]*[ \t]*(?::[^\r\n]*)?)?\r?"
)
_HEADER_END = re.compile(rb"(\r?\n)\r?\n")
_EMPTY_LINES = re.compile(rb"[\r\n]*")
_SPACE = re.compile(r"[ \t\r\n]*")
_FIELD_NAMES = ("content-length:", "content-type:")

_NO_FIELD = "a line of its header is not `Name: value`"
_NO_LENGTH = "a message needs a `Content-Length` header with a number"
_TWO_LENGTHS = "its header has two `Content-Length` that differ"


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON value, and its size in bytes as sent."""

    value: Json
    size: int


@dataclass(frozen=True, slots=True)
class Garbage:
    """Invalid input; `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True)
class End:
    """The client has closed its end."""


Frame = Message | Garbage | End


class FrameBuffer:
    """Splits bytes into messages. A message with a wrong length is read where it is complete, else reported; in both
    cases the next header is found again.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        """Bytes of the body that is due; None where a header is."""
        self._searched = 0
        """Bytes of the body in which no header stands."""
        self._looks = 0
        self._lost = False
        """Whether everything up to the next header is passed over; that has been reported."""

    @property
    def waits(self) -> bool:
        """Whether part of a message is buffered."""
        return bool(self._buffer) or self._length is not None

    def feed(self, data: bytes) -> Iterator[Message | Garbage]:
        """Adds bytes; yields the messages they complete."""
        self._buffer += data
        while (frame := self._next()) is not None:
            yield frame

    def stall(self) -> Iterator[Message | Garbage]:
        """Yields what can be told of an incomplete message after a pause in the input."""
        if self._length is not None:
            self._looks += 1
            early = self._whole() if self._looks <= _MOST_LOOKS else None
            if early is not None:
                yield early
                yield from self.feed(b"")
        elif not self._lost and not _HEADER_PART.fullmatch(self._buffer):
            yield self._lose("a message begins with `Content-Length: N` and an empty line")
            yield from self.feed(b"")

    def finish(self) -> Iterator[Message | Garbage]:
        """Yields what is left at the end of the input."""
        self._looks = 0
        yield from self.stall()
        if self._length is not None or (self._buffer and not self._lost):
            yield Garbage("the input ended in the middle of a message")

    def _next(self) -> Message | Garbage | None:
        if self._length is None and (problem := self._read_header()) is not None:
            return problem
        if self._length is None:
            return None
        return self._read_body(self._length) if len(self._buffer) >= self._length else self._search_body()

    def _read_header(self) -> Garbage | None:
        """Reads a complete header and sets the length. Returns what is wrong with it."""
        if self._lost and not self._find_header():
            return None
        empty = _EMPTY_LINES.match(self._buffer)
        del self._buffer[: empty.end() if empty else 0]
        end = _HEADER_END.search(self._buffer, 0, _MAX_HEADER)
        if end is None:
            too_long = len(self._buffer) >= _MAX_HEADER
            return self._lose(f"a header may have {_MAX_HEADER} bytes") if too_long else None
        header = bytes(self._buffer[: end.end(1)])
        length = _length_in(header)
        if isinstance(length, str):
            return self._pass_over(header, end.end(), length)
        del self._buffer[: end.end()]
        if length > MAX_MESSAGE:
            return self._lose(f"a message may have {MAX_MESSAGE} bytes, not {length}")
        self._length, self._searched, self._looks = length, 0, 0
        return None

    def _find_header(self) -> bool:
        """Drops the input before the next line with a length. Returns False where there is none yet."""
        found = _LENGTH_LINE.search(self._buffer)
        del self._buffer[: found.start() if found else max(0, len(self._buffer) - _TAIL)]
        self._lost = found is None
        return found is not None

    def _pass_over(self, header: bytes, end: int, problem: str) -> Garbage:
        """Drops the input before the header's last line with a length, or the whole header where that is invalid."""
        start = max((found.start() for found in _LENGTH_LINE.finditer(header)), default=0)
        if start and problem != _TWO_LENGTHS and isinstance(_length_in(header[start:]), int):
            del self._buffer[:start]
            return Garbage(problem)
        del self._buffer[:end]
        return self._lose(problem)

    def _read_body(self, length: int) -> Message | Garbage:
        data = bytes(self._buffer[:length])
        try:
            if has_too_many_values(data):
                return self._refuse(length, f"it has more than {MOST_VALUES} values")
            value = _JSON.decode(data.decode("utf-8"))
        except RecursionError:
            return self._refuse(length, "it is nested too deep")
        except ValueError as error:
            problem = f"{_first_line(error)} (its `Content-Length` says {length} bytes)"
            return self._whole() or self._lose(problem)
        self._drop(length)
        return Message(value, length)

    def _search_body(self) -> Message | Garbage | None:
        """Searches for a header in the received part of a body."""
        found = _LENGTH_LINE.search(self._buffer, self._searched)
        self._searched = max(0, len(self._buffer) - _TAIL)
        return None if found is None else self._whole() or self._lose("the next message begins in its body")

    def _whole(self) -> Message | None:
        """Returns the object at the buffer's start if nothing or a header follows it: only its length was wrong."""
        if has_too_many_values(bytes(self._buffer)):
            return None
        text = self._buffer.decode("utf-8", "surrogateescape")
        try:
            value, end = _JSON.raw_decode(text, _after_space(text, 0))
            size = len(text[:end].encode("utf-8"))  # fails for bytes that are not UTF-8
        except (ValueError, RecursionError):
            return None
        next_at = _after_space(text, end)
        rest = text[next_at : next_at + _TAIL].lower()
        if not isinstance(value, dict) or not any(rest.startswith(name[: len(rest)]) for name in _FIELD_NAMES):
            return None
        self._drop(size)
        return Message(cast("Json", value), size)

    def _drop(self, count: int) -> None:
        """Drops the message that was read."""
        del self._buffer[:count]
        self._length = None

    def _refuse(self, length: int, problem: str) -> Garbage:
        self._drop(length)
        return Garbage(problem)

    def _lose(self, problem: str) -> Garbage:
        self._length, self._lost = None, True
        return Garbage(problem)


def _length_in(header: bytes) -> int | str:
    """Returns a header's length, or what is wrong with it."""
    fields = [_FIELD.fullmatch(line.removesuffix(b"\r")) for line in header.removesuffix(b"\n").split(b"\n")]
    if None in fields:
        return _NO_FIELD
    given = {field[2] for field in fields if field and field[1].lower() == b"content-length"}
    if len(given) > 1:
        return _TWO_LENGTHS
    digits = given.pop() if given else b""
    return int(digits) if digits.isdigit() and len(digits) <= 18 else _NO_LENGTH


def _after_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _first_line(error: ValueError) -> str:
    return str(error).partition("\n")[0][:200]


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not JSON")


_JSON = json.JSONDecoder(parse_constant=_no_such_number)
