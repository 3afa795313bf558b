"""Content-Length framing: splits input bytes into messages, and skips invalid input up to the next header (LSP-02).

JSON has no line ends inside its strings, so a header line in a body proves that the body's length was wrong.

One thread reads and one thread writes, so that no peer can block the event loop (LSP-03).
"""

from __future__ import annotations

import json
import re
import select
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, cast

from remit_server.json_bounds import MOST_VALUES, has_too_many_values
from remit_server.machine.descriptors import write_all
from remit_server.streams.descriptor_reader import DescriptorReader, read_some
from remit_server.transports.lsp.rpc.custom_methods import Json

MAX_MESSAGE = 64 * 1024 * 1024
"""The largest message in bytes; a larger one is skipped and refused."""

_MAX_HEADER = 16 * 1024
_TAIL = 64
"""How many bytes at the end of the input may hold the beginning of a `Content-Length` line."""
_MOST_LOOKS = 4
"""The most attempts to read an incomplete message, because each attempt reads all bytes received so far."""

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
_TWO_LENGTHS = "its header has two different `Content-Length`"


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
    """Splits bytes into messages. A message whose `Content-Length` is wrong is read if its JSON is complete, and else
    reported as an error; in both cases reading goes on at the next header.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        """The length in bytes of the body that comes next, or None if a header comes next."""
        self._searched = 0
        """How many bytes of the body were searched and hold no header."""
        self._looks = 0
        self._lost = False
        """Whether input is skipped up to the next header, after an error that was reported."""

    @property
    def waits(self) -> bool:
        """Whether part of a message is buffered."""
        return bool(self._buffer) or self._length is not None

    def feed(self, data: bytes) -> Iterator[Message | Garbage]:
        """Adds bytes, and yields the messages and errors that these bytes complete."""
        self._buffer += data
        while (frame := self._next()) is not None:
            yield frame

    def stall(self) -> Iterator[Message | Garbage]:
        """After a pause in the input, yields a message whose given length was too large, or an error if the buffered
        bytes cannot begin a header.
        """
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
        """Yields the remaining messages and errors at the end of the input."""
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
        """Reads the header, if it is complete, and sets the length. Returns an error if the header is invalid."""
        if self._lost and not self._find_header():
            return None
        empty = _EMPTY_LINES.match(self._buffer)
        del self._buffer[: empty.end() if empty else 0]
        end = _HEADER_END.search(self._buffer, 0, _MAX_HEADER)
        if end is None:
            too_long = len(self._buffer) >= _MAX_HEADER
            return self._lose(f"a header may have at most {_MAX_HEADER} bytes") if too_long else None
        header = bytes(self._buffer[: end.end(1)])
        length = _length_in(header)
        if isinstance(length, str):
            return self._pass_over(header, end.end(), length)
        del self._buffer[: end.end()]
        if length > MAX_MESSAGE:
            return self._lose(f"a message may have at most {MAX_MESSAGE} bytes, not {length}")
        self._length, self._searched, self._looks = length, 0, 0
        return None

    def _find_header(self) -> bool:
        """Drops the input before the next `Content-Length` line. Returns False if there is none yet."""
        found = _LENGTH_LINE.search(self._buffer)
        del self._buffer[: found.start() if found else max(0, len(self._buffer) - _TAIL)]
        self._lost = found is None
        return found is not None

    def _pass_over(self, header: bytes, end: int, problem: str) -> Garbage:
        """Drops the input before the header's last `Content-Length` line if a valid header begins there, else the whole
        header.
        """
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
            return self._refuse(length, "it is nested too deeply")
        except ValueError as error:
            problem = f"{_first_line(error)} (its `Content-Length` says {length} bytes)"
            return self._whole() or self._lose(problem)
        self._drop(length)
        return Message(value, length)

    def _search_body(self) -> Message | Garbage | None:
        """Searches the received part of a body for the next message's header."""
        found = _LENGTH_LINE.search(self._buffer, self._searched)
        self._searched = max(0, len(self._buffer) - _TAIL)
        return None if found is None else self._whole() or self._lose("the next message begins in its body")

    def _whole(self) -> Message | None:
        """Returns the message at the buffer's start if it is a JSON object that nothing or a header follows, because
        then only its `Content-Length` was wrong.
        """
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
        """Drops the bytes of a message; a header comes next."""
        del self._buffer[:count]
        self._length = None

    def _refuse(self, length: int, problem: str) -> Garbage:
        self._drop(length)
        return Garbage(problem)

    def _lose(self, problem: str) -> Garbage:
        self._length, self._lost = None, True
        return Garbage(problem)


def _length_in(header: bytes) -> int | str:
    """Returns the `Content-Length` of a header, or a text that says what is wrong with the header."""
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

MAX_BACKLOG = 32 * 1024 * 1024
"""The most bytes queued for a client that does not read. Beyond that the client counts as lost."""

STALL_S = 0.5
"""After this many seconds without input inside a message, its `Content-Length` is taken to be too large."""

_BYTES_OF_A_PLACE = 16 * 1024
"""Of a message: parsing multiplies its size."""


class ConnectionLost(BrokenPipeError):
    """The client is gone, or has not read for too long."""


class FrameReader(DescriptorReader[Frame]):
    """Reads frames from a descriptor; `End` is the last one."""

    def __init__(self, fd: int, deliver: Callable[[Frame], None]) -> None:
        super().__init__(_frames(fd), deliver, partial(deliver, End()), _size, _BYTES_OF_A_PLACE)


def _size(frame: Frame) -> int:
    return frame.size if isinstance(frame, Message) else 0


def _frames(fd: int) -> Iterator[Frame]:
    frames = FrameBuffer()
    while data := read_some(fd):
        yield from frames.feed(data)
        # If the input pauses inside a message, the buffered part is examined.
        if frames.waits and not _is_readable(fd, STALL_S):
            yield from frames.stall()
    yield from frames.finish()


def _is_readable(fd: int, within_s: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


class FrameWriter:
    """Writes to a descriptor on a thread of its own, so that `write` never blocks.

    A client that stops reading fills the backlog. Beyond `MAX_BACKLOG` the client counts as lost: `on_lost` is called
    once, on either thread, and every further `write` raises `ConnectionLost`.
    """

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        self._fd = fd
        self._on_lost = on_lost
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._closing = False
        self._lost = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="remit-lsp-writer", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queues bytes. Raises ConnectionLost when the client is lost."""
        with self._changed:
            if not self._lost and self._waiting + len(data) <= MAX_BACKLOG:
                self._queue.append(data)
                self._waiting += len(data)
                self._changed.notify()
                return
        self._lose()
        raise ConnectionLost("the client no longer reads")

    def close(self, timeout_s: float = 2.0) -> None:
        """Writes the queued bytes, for at most `timeout_s` seconds, and stops. Never raises."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while (data := self._next()) is not None:
            try:
                write_all(self._fd, data)
            except OSError:
                self._lose()
                return

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._queue and not self._closing and not self._lost:
                self._changed.wait()
            if self._lost or not self._queue:
                return None
            data = self._queue.popleft()
            self._waiting -= len(data)
            return data

    def _lose(self) -> None:
        with self._changed:
            first, self._lost = not self._lost, True
            self._queue.clear()
            self._changed.notify()
        if first:
            self._on_lost()
