"""The events of one turn on the broker: lines of JSON, in the order of their numbers, by one writer at a time (TRN-32).

The texts of a subject's messages, in their order, are one text of lines; a line may go over several messages. A writer
begins with a claim, a message without text. Each of its messages names the one that it follows: where another writer
came in between, the broker refuses it, and this one has lost the turn. What a claim finds half written counts for
nothing, and so does a message that is not the last writer's or names another turn: the broker itself sends its receipts
wherever it is asked to.
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
"""The broker's code for a message that does not follow the one it names."""
MOST_BYTES = 256 << 10
PATIENCE_S = 30.0
_PAUSES = (0.05, 0.2, 0.5, 1.0)
_LOOKS = 10
"""How often a message is looked for that the broker says is there."""
_EVENT: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent, config=ConfigDict(defer_build=True))


class Lost(Exception):
    """Another writer has the turn."""


class Forgotten(Exception):
    """The broker has lost what was told of the turn, and with it who writes it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a stream holds: a message, and its place."""

    place: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Portion:
    """One message: its place in the stream, its headers, and the whole lines that it ended."""

    place: int
    headers: Mapping[str, str]
    lines: tuple[bytes, ...]

    def claims(self, key: TurnKey) -> bool:
        """Returns whether a new writer of this turn began here."""
        return self.headers.get(PART) == "0" and self.headers.get(TURN) == str(key)


class TurnReader:
    """Reads a subject from its beginning on, message by message."""

    def __init__(self, broker: Broker, key: TurnKey, place: int = 0) -> None:
        self._broker, self._key, self._subject = broker, str(key), broker.names.told(key)
        self._writer: str | None = None
        self._rest = b""
        self.place = place

    async def read(self, patience_s: float = PATIENCE_S) -> Portion | None:
        """Returns the next message; None where there is none yet. Raises RemitError where nobody answers."""
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
    """What a turn's subject holds: the place of its last message, its claims, how many events, whether it ended."""

    last: int = 0
    claims: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    events: int = 0
    ended: bool = False


async def read_told(broker: Broker, key: TurnKey) -> Told:
    """Reads all that was told of a turn. Raises RemitError."""
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
    """Returns the event in a line; None where it is none, which no worker of ours has written."""
    try:
        return _EVENT.validate_json(line)
    except ValidationError:
        return None


class TurnWriter:
    """Writes a turn, from the message in place `last` on."""

    def __init__(self, broker: Broker, key: TurnKey, last: int) -> None:
        self._broker, self._key, self._last = broker, key, last
        self._subject = broker.names.told(key)
        self._claim = secrets.token_hex(16)
        self._part = 0

    async def claim(self, headers: Mapping[str, str]) -> None:
        """Has this writer alone write from now on. Raises Lost, RemitError."""
        await self._write(b"", headers, PATIENCE_S)

    async def write(self, text: bytes, patience_s: float) -> None:
        """Writes further text. Raises Lost, and RemitError where the broker does not take it in so many seconds."""
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
                elif (looks := looks - 1) > 0:  # what answers a read may be behind what answers a write
                    await waiting.pause(error)
                else:
                    raise Forgotten from error
            except (Error, OSError) as error:
                await waiting.pause(error)

    async def _is_written(self) -> bool:
        """Returns whether the message is there, and only its receipt was lost; what else is there is no writer's.

        Raises Lost where another writer began.
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
    """The pauses between attempts, until patience ends."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s, self._began, self._attempts = patience_s, time.monotonic(), 0

    async def pause(self, error: Exception) -> None:
        """Waits for a while. Raises RemitError at the end of patience."""
        if time.monotonic() - self._began > self._patience_s:
            raise unreachable(self._patience_s) from error
        await asyncio.sleep(_PAUSES[min(self._attempts, len(_PAUSES) - 1)])
        self._attempts += 1


async def find_message(
    broker: Broker, stream: str, subject: str, place: int | None = None, patience_s: float = PATIENCE_S
) -> Kept | None:
    """Returns the first message from a place on that fits a subject, without a place the last one; None where there is
    none. Raises RemitError where the broker does not answer."""
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
