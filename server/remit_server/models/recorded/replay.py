"""Plays a recording back: a request gets the answer recorded for that very request, or an error that tells the first
difference.

Requests are matched by content (messages, tools, schema, sampling), so sessions may come in any order; equal ones are
answered in the order of the recording. Call ids are those of the recording, so that the following requests match too.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from remit_server.errors import ModelFailed, SetupError
from remit_server.models.ports import IN_TURNS, GenerateRequest, ModelEvent, ModelProvider, ModelState, Traits
from remit_server.models.profile import LARGE, PROFILES, Profile, ProfileName
from remit_server.models.recorded.traffic import (
    Asked,
    Header,
    Redact,
    Said,
    TrafficEnd,
    error_of,
    event_of,
    line_of,
    request_digest,
    request_value,
)

_ANEW = "record again with this version of Remit"


@dataclass(slots=True)
class Exchange:
    """A recorded generation: the request, the events (with seconds since), and the end, if there was one."""

    digest: str
    request: dict[str, Any]
    profile: ProfileName
    events: list[tuple[float, ModelEvent]] = field(default_factory=list[tuple[float, ModelEvent]])
    end: TrafficEnd | None = None
    played: bool = False


class ReplayProvider(ModelProvider):
    """A `ModelProvider` that plays a recording, each answer once."""

    def __init__(
        self, exchanges: Sequence[Exchange], redact: Redact, *, name: str, reads_context: bool, timed: bool
    ) -> None:
        self._exchanges = tuple(exchanges)
        self._redact, self._timed = redact, timed
        self._traits = Traits(name, reads_context=reads_context, abilities=IN_TURNS)
        self._running = 0
        self._closed = False

    @classmethod
    def from_file(cls, path: Path, redact: Redact, *, timed: bool = False) -> ReplayProvider:
        """Reads a recording; with `timed` it is played with its recorded pauses. Raises SetupError."""
        header, exchanges = read_recording(path)
        return cls(exchanges, redact, name=f"replay:{path.name}", reads_context=header.reads_context, timed=timed)

    @property
    def traits(self) -> Traits:
        """The recording's traits. It completes nothing at a cursor, because nobody types the same text twice."""
        return self._traits

    @property
    def state(self) -> ModelState:
        """The state for a status bar."""
        if self._closed:
            return "stopped"
        return "busy" if self._running else "ready"

    async def meet(self) -> Profile:
        """Returns the profile that the recorded model had."""
        return PROFILES[self._exchanges[0].profile] if self._exchanges else LARGE

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Plays the answer to this request. Raises the recorded error, or ModelFailed if nothing was recorded."""
        exchange = self._find_recorded(request_value(request, self._redact))
        exchange.played = True
        self._running += 1
        try:
            async with aclosing(self._play(exchange)) as events:
                async for event in events:
                    yield event
        finally:
            self._running -= 1

    async def close(self) -> None:
        """Does nothing. Idempotent."""
        self._closed = True

    async def _play(self, exchange: Exchange) -> AsyncGenerator[ModelEvent]:
        began = time.monotonic()
        for at_s, event in exchange.events:
            await self._wait(began, at_s)
            yield event
        if exchange.end is None:
            why = "the program that recorded it was stopped in the middle of this answer"
            raise ModelFailed("the recording ends here", why, "record again")
        await self._wait(began, exchange.end.at_s)
        if exchange.end.how == "cancelled":
            # The recorded consumer stopped here: what would have come next is unknown, so this waits.
            await asyncio.Event().wait()
        if exchange.end.error is not None:
            raise error_of(exchange.end.error)

    async def _wait(self, began: float, at_s: float) -> None:
        await asyncio.sleep(max(0.0, began + at_s - time.monotonic()) if self._timed else 0)

    def _find_recorded(self, asked: dict[str, Any]) -> Exchange:
        wanted = request_digest(asked)
        left = [(number, each) for number, each in enumerate(self._exchanges, 1) if not each.played]
        for _, exchange in left:
            if exchange.digest == wanted:
                return exchange
        if not left:
            why = f"all of its {len(self._exchanges)} answers were given, and the model was asked once more"
            raise ModelFailed("the recording is over", why, _ANEW)
        number, nearest = max(left, key=lambda item: likeness(item[1].request, asked))
        why = f"answer {number} of {len(self._exchanges)} is to another request: {difference(nearest.request, asked)}"
        raise ModelFailed("the recording has no answer to this", why, f"ask what was asked then, or {_ANEW}")


def read_recording(path: Path) -> tuple[Header, list[Exchange]]:
    """Reads a file; a last line that was cut off is skipped. Raises SetupError."""
    what = f"the recording `{path}` cannot be played"
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise SetupError(what, (error.strerror or str(error)).lower(), "name an existing file") from error
    first: Header | None = None
    found: dict[str, Exchange] = {}
    for number, line in enumerate(lines, 1):
        try:
            header = _take(line, found)
        except (ValueError, RecursionError) as error:
            raise SetupError(what, f"line {number}: it is not a line of a recording", _ANEW) from error
        first = first or header
        if first is None:
            raise SetupError(what, "it does not begin like a recording", _ANEW)
    if first is None:
        raise SetupError(what, "there is nothing in it", _ANEW)
    return first, list(found.values())


def _take(data: bytes, found: dict[str, Exchange]) -> Header | None:
    """Adds a line; returns the header if the line is one. Raises ValueError."""
    line = line_of(data)
    match line:
        case Header():
            return line
        case Asked():
            if line.id in found or line.digest != request_digest(line.request):
                raise ValueError("it was changed")
            found[line.id] = Exchange(line.digest, line.request, line.profile)
        case Said() | TrafficEnd():
            exchange = found.get(line.id)
            if exchange is None or exchange.end is not None:
                raise ValueError("it belongs to no request")
            if isinstance(line, Said):
                exchange.events.append((line.at_s, event_of(line.event)))
            else:
                exchange.end = line
    return None


_AROUND = 24


def likeness(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[int, int]:
    """Returns how many leading messages two requests share, and how many characters of the next one."""
    old, new = recorded.get("messages", ()), asked["messages"]
    at = _shared_length(old, new)
    return at, _shared_length(_spell(old[at]), _spell(new[at])) if at < min(len(old), len(new)) else 0


def difference(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Returns the first difference: a message and the place in it, the number of messages, or a setting."""
    old, new = recorded.get("messages", ()), asked["messages"]
    at = _shared_length(old, new)
    if at < min(len(old), len(new)):
        return f"message {at + 1} differs: {_message_difference(old[at], new[at])}"
    if len(old) != len(new):
        return f"it had {len(old)} messages, this one has {len(new)}, and the first {at} are equal"
    return _value_difference("the request", recorded, asked)


def _value_difference(name: str, old: Any, new: Any) -> str:
    """Returns where two values differ, inside objects too."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        left, right = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
        for key in sorted({*left, *right}):
            if key not in right or key not in left:
                return f"{name} {'had' if key in left else 'did not have'} {key}"
            if left[key] != right[key]:
                return _value_difference(key, left[key], right[key])
    return f"{name} differs: {_text_difference(_spell(old), _spell(new))}"


def _message_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if old.get("role") != new.get("role"):
        return f"the recorded one has the role {old.get('role')}, the new one {new.get('role')}"
    parts = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    name = "text" if "text" in parts else parts[0]
    return f"its {name} ({new.get('role')}), {_text_difference(_spell(old.get(name)), _spell(new.get(name)))}"


def _text_difference(old: str, new: str) -> str:
    at = _shared_length(old, new)
    start = max(0, at - _AROUND)
    return f"at character {at + 1}: recorded `{old[start : at + _AROUND]}`, asked `{new[start : at + _AROUND]}`"


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _shared_length(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Returns how many leading items two sequences share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
