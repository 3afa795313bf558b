"""The events of one turn on the broker: lines of JSON, in the order of their numbers, by one writer at a time (TRN-32).

The texts of a subject's messages, joined in order, are lines; a line may span several messages. A writer begins with a
claim, which is a message without text. Each of its messages names the message that it follows. If another writer came
in between, the broker refuses the message, and this writer has lost the turn. A reader drops a line that is unfinished
when a claim comes. It also skips a message that is not by the last writer, or that names another turn, because the
broker sends its receipts to any subject that a client names, also to this one.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from nats.errors import Error
from nats.js.api import Header
from nats.js.errors import APIError, NotFoundError
from pydantic import ConfigDict, TypeAdapter, ValidationError

from remit_server.contract import AgentEvent, RunCompleted
from remit_server.transports.queue.broker import Broker, unreachable
from remit_server.transports.queue.names import CLAIM, PART, TURN, TurnKey

WRONG_LAST = 10071
"""The broker's error code for a message that does not follow the message it names."""
MOST_BYTES = 256 << 10
PATIENCE_S = 30.0
_PAUSES = (0.05, 0.2, 0.5, 1.0)
_LOOKS = 10
"""How many times the writer looks for a message that must be there, because the broker refused one as not the next."""
_EVENT: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent, config=ConfigDict(defer_build=True))


class Lost(Exception):
    """Another writer has the turn."""


class Forgotten(Exception):
    """The broker has lost the turn's messages, and so it is not known any more who writes the turn."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A message that a stream holds, and its place there."""

    place: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Portion:
    """One message: its place in the stream, its headers, and the lines that it completes."""

    place: int
    headers: Mapping[str, str]
    lines: tuple[bytes, ...]

    def claims(self, key: TurnKey) -> bool:
        """Returns whether this message is the claim of a new writer of this turn."""
        return self.headers.get(PART) == "0" and self.headers.get(TURN) == str(key)


class TurnReader:
    """Reads the messages of a turn's subject that come after `place`, one by one."""

    def __init__(self, broker: Broker, key: TurnKey, place: int = 0) -> None:
        self._broker, self._key, self._subject = broker, str(key), broker.names.told(key)
        self._writer: str | None = None
        self._rest = b""
        self.place = place

    async def read(self, patience_s: float = PATIENCE_S) -> Portion | None:
        """Returns the next message, or None if there is none yet. Raises RemitError if the broker does not answer."""
        stream = self._broker.names.events
        found = await find_message(self._broker, stream, self._subject, self.place + 1, patience_s)
        if found is None:
            return None
        self.place = found.place
        return Portion(self.place, found.headers, self._take(found))

    def _take(self, found: Kept) -> tuple[bytes, ...]:
        headers = found.headers
        if headers.get(TURN) != self._key:
            return ()
        if headers.get(PART) == "0":
            self._writer, self._rest = headers.get(CLAIM), b""
        elif self._writer is not None and headers.get(CLAIM) == self._writer:
            *lines, self._rest = (self._rest + found.data).split(b"\n")
            return tuple(lines)
        return ()


@dataclass(slots=True)
class Told:
    """What a turn's subject holds: the place of its last message, its claims, the number of its last event, and whether
    the turn has ended."""

    last: int = 0
    claims: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    events: int = 0
    ended: bool = False


async def read_told(broker: Broker, key: TurnKey) -> Told:
    """Reads all messages of a turn, and returns what they hold. Raises RemitError."""
    reader, told = TurnReader(broker, key), Told()
    while (message := await reader.read()) is not None:
        told.last = message.place
        if message.claims(key):
            told.claims.append(message.headers)
        for line in message.lines:
            event = parse_event(line)
            if event is not None:
                told.events, told.ended = event.seq, isinstance(event, RunCompleted)
    return told


def parse_event(line: bytes) -> AgentEvent | None:
    """Returns the event in a line, or None if the line is no event, and so was written by no worker of Remit."""
    try:
        return _EVENT.validate_json(line)
    except ValidationError:
        return None


class TurnWriter:
    """Writes the messages of a turn that follow the message at place `last`."""

    def __init__(self, broker: Broker, key: TurnKey, last: int) -> None:
        self._broker, self._key, self._last = broker, key, last
        self._subject = broker.names.told(key)
        self._claim = secrets.token_hex(16)
        self._part = 0

    async def claim(self, headers: Mapping[str, str]) -> None:
        """Makes this writer the only one of the turn from now on. Raises Lost, Forgotten, RemitError."""
        await self._write(b"", headers, PATIENCE_S)

    async def write(self, text: bytes, patience_s: float) -> None:
        """Writes further text. Raises Lost, Forgotten, or RemitError if the broker does not take it in time."""
        size = min(MOST_BYTES, self._broker.client.max_payload // 2)
        for at in range(0, len(text), size):
            await self._write(text[at : at + size], {}, patience_s)

    async def _write(self, data: bytes, more: Mapping[str, str], patience_s: float) -> None:
        headers = {
            Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(self._last),
            TURN: str(self._key),
            CLAIM: self._claim,
            PART: str(self._part),
            **more,
        }
        waiting, looks = _Waiting(patience_s), _LOOKS
        while True:
            try:
                taken = await self._broker.jetstream.publish(self._subject, data, headers=headers)
                self._last, self._part = taken.seq, self._part + 1
                return
            except APIError as error:
                if error.err_code != WRONG_LAST:
                    await waiting.pause(error)
                elif await self._is_written():
                    return
                elif headers[Header.EXPECTED_LAST_SUBJECT_SEQUENCE] != str(self._last):
                    headers[Header.EXPECTED_LAST_SUBJECT_SEQUENCE] = str(self._last)
                elif (looks := looks - 1) > 0:  # the server that answers reads may be behind the one that takes writes
                    await waiting.pause(error)
                else:
                    raise Forgotten from error
            except (Error, OSError) as error:
                await waiting.pause(error)

    async def _is_written(self) -> bool:
        """Returns whether the message is there, so that only its receipt was lost. Skips messages of no writer.

        Raises Lost if another writer has begun.
        """
        reader = TurnReader(self._broker, self._key, self._last)
        while (message := await reader.read()) is not None:
            self._last = message.place
            own = message.headers.get(CLAIM) == self._claim and message.headers.get(TURN) == str(self._key)
            if own and message.headers.get(PART) == str(self._part):
                self._part += 1
                return True
            if message.claims(self._key):
                raise Lost
        return False


class _Waiting:
    """Pauses between attempts, for at most `patience_s` seconds in all."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s, self._began, self._attempts = patience_s, time.monotonic(), 0

    async def pause(self, error: Exception) -> None:
        """Waits for a while. Raises RemitError once `patience_s` seconds have passed."""
        if time.monotonic() - self._began > self._patience_s:
            raise unreachable(self._patience_s) from error
        await asyncio.sleep(_PAUSES[min(self._attempts, len(_PAUSES) - 1)])
        self._attempts += 1


async def find_message(
    broker: Broker, stream: str, subject: str, place: int | None = None, patience_s: float = PATIENCE_S
) -> Kept | None:
    """Returns the first message at or after `place` that matches a subject, or the last one if `place` is None; None if
    there is none. Raises RemitError if the broker does not answer."""
    waiting = _Waiting(patience_s)
    while True:
        try:
            found = await broker.jetstream.get_msg(stream, place, subject, direct=True, next=place is not None)
        except NotFoundError:
            return None
        except (Error, OSError) as error:
            await waiting.pause(error)
        else:
            headers = cast("Mapping[str, str] | None", found.headers)  # pyright: ignore[reportUnknownMemberType]
            return Kept(found.seq or 0, headers or {}, found.data or b"")
