"""Makes messages that are wrong in one place each, from the types that a server reads, so that new methods and new
fields are covered automatically.

A case is a valid message of a method with one value replaced: by a value of another type, by too many values, or by
nothing. The place, the value and its size are drawn from `seed`; the first cases touch every field of every method
once.
"""

from __future__ import annotations

import enum
import itertools
import json
import random
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union

import attrs
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pydantic import BaseModel
from sent_cases import MEBI, Case, frame

from remit_server import contract
from remit_server.transports.gateway.protocol import COMMANDS, RequestForm
from remit_server.transports.lsp.rpc.custom_methods import CUSTOM

Json = Any
Place = tuple[str | int, ...]

DEEPEST = 6
PAYLOADS: Mapping[str, type[BaseModel] | None] = {
    method: None if row.content is None else getattr(contract, row.content) for method, row in CUSTOM.items()
}
"""The contract's types of the custom methods' params."""


get_converter()  # resolves the names in the protocol's types


# What types say


def members(kind: Any) -> dict[str, tuple[Any, bool]] | None:
    """Returns the members of an object type, and whether each is required; None for another type."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: (field.annotation, field.is_required()) for name, field in kind.model_fields.items()}
    if kind is not lsp.LSPObject and isinstance(kind, type) and attrs.has(kind):
        return {_camel(field.name): (field.type, field.default is attrs.NOTHING) for field in attrs.fields(kind)}
    return None


def _camel(name: str) -> str:
    first, *words = name.removesuffix("_").split("_")
    return first + "".join(map(str.title, words))


def _plain(kind: Any) -> Any:
    """Returns a type without `Annotated` and unions; of a union, the first alternative that is an object, else the
    first."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _plain(arguments[0])
    if origin in {Union, types.UnionType}:
        plain = [_plain(one) for one in arguments if one is not type(None)]
        return next((one for one in plain if members(one) is not None), plain[0])
    return kind


def example(kind: Any, depth: int = 0) -> Json:
    """Returns a valid value of a type, with optional members down to the depth `DEEPEST`."""
    kind = _plain(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if (fields := members(kind)) is not None:
        there = {name: one for name, (one, required) in fields.items() if required or depth < DEEPEST}
        return {name: example(one, depth + 1) for name, one in there.items()}
    if origin is Literal:
        return arguments[0]
    if origin is tuple and arguments[-1] is not Ellipsis:
        return [example(one, depth + 1) for one in arguments]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"key": example(arguments[1], depth + 1)}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return [example(arguments[0], depth + 1)]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind)).value
    return {str: "text", int: 1, float: 1.0, bool: True}.get(kind)


def places(value: Json, here: Place = ()) -> Iterator[Place]:
    """Yields every place in a value, the outermost first."""
    yield here
    inside: Iterator[tuple[str | int, Json]] = iter(())
    if isinstance(value, dict):
        inside = iter(value.items())
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, one in inside:
        yield from places(one, (*here, key))


# What is put there instead

MISSING = object()


def _list_in_list(depth: int) -> Json:
    value: Json = []
    for _ in range(depth):
        value = [value]
    return value


def _chain(depth: int) -> Json:
    value: Json = {}
    for _ in range(depth):
        value = {"parent": value}
    return value


def _as_often(value: Json, size: int) -> int:
    return 1 + size // (2 + len(json.dumps(value)))


WRONG: Mapping[str, Callable[[Json, int], Json]] = {
    "missing": lambda _, __: MISSING,
    "null": lambda _, __: None,
    "true": lambda _, __: True,
    "a negative number": lambda _, __: -1,
    "a large number": lambda _, __: 2**64,
    "an endless number": lambda _, size: 10 ** min(4_000, size),
    "a fraction": lambda _, __: 0.5,
    "text": lambda _, size: "A" * size,
    "text of half characters": lambda _, size: "\ud800" * (1 + size // 12),
    "text of hostile characters": lambda _, size: "\x00\x1b\u202e/../" * (1 + size // 40),
    "an address of nowhere": lambda _, size: "file:///" + "%2e/" * (size // 4),
    "an empty list": lambda _, __: [],
    "a list of null": lambda _, size: [None] * (1 + size // 6),
    "a list of numbers": lambda _, size: [7] * (1 + size // 3),
    "a list of text": lambda _, size: ["AAAA"] * (1 + size // 8),
    "a list of lists": lambda _, size: [[]] * (1 + size // 4),
    "a list of objects": lambda _, size: [{}] * (1 + size // 4),
    "a list of odd objects": lambda _, size: [{"range": "odd", "kind": [], "uri": 7}] * (1 + size // 50),
    "a nested list": lambda _, size: _list_in_list(min(900, size // 2)),
    "an empty object": lambda _, __: {},
    "an object of many": lambda _, size: {str(number): number for number in range(1 + size // 14)},
    "a nested object": lambda _, size: _chain(min(900, size // 12)),
    "many of it": lambda value, size: [value] * _as_often(value, size),
    "many of it, the last one wrong": lambda value, size: [*([value] * _as_often(value, size)), 7],
}


def replaced(value: Json, place: Place, wrong: Callable[[Json, int], Json], size: int) -> Json:
    """Returns the value with one place made wrong; MISSING if the value itself is left out."""
    if not place:
        return wrong(value, size)
    key, *rest = place
    new = replaced(value[key], tuple(rest), wrong, size)
    if isinstance(value, dict):
        return {k: (new if k == key else v) for k, v in value.items() if k != key or new is not MISSING}
    changed = [new if index == key else one for index, one in enumerate(value)]
    return [one for one in changed if one is not MISSING]


def _size(dice: random.Random) -> int:
    """Returns a size: mostly small, because small values find as many errors; one in thirty almost 1 MB."""
    return dice.choices([dice.randrange(64), dice.randrange(64 * 1024), MEBI - 64 * 1024], [76, 21, 3])[0]


# Messages of the language server


def lsp_methods() -> dict[str, tuple[Json, bool]]:
    """Returns every method that the protocol or this server knows: an example of its message, and whether it is a
    request."""
    known: dict[str, tuple[Json, bool]] = {}
    for method, (message, *_) in lsp.METHOD_TO_TYPES.items():
        envelope = example(message, 0) | {"method": method, "jsonrpc": "2.0"}
        known[method] = (envelope, "id" in envelope)
    for method, payload in PAYLOADS.items():
        params = example(payload, 1) if payload is not None else {}
        known[method] = ({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, True)
    return known


def lsp_cases(count: int, seed: int, methods: Collection[str]) -> Iterator[Case]:
    """Yields `count` messages of these methods; one in ten is wrong in how it is sent."""
    dice = random.Random(seed)
    known = {method: known for method, known in lsp_methods().items() if method in methods}
    everywhere = [(method, place) for method, (envelope, _) in known.items() for place in places(envelope) if place]
    dice.shuffle(everywhere)
    turns = itertools.chain(everywhere, _forever(known, dice))
    for number in range(count):
        method, place = next(turns)
        envelope, is_request = known[method]
        envelope = envelope | {"id": f"case-{number}"} if is_request else envelope
        how = dice.choice(list(WRONG))
        wrong = replaced(envelope, place, WRONG[how], _size(dice))
        name = f"{number}: {method}, {'.'.join(map(str, place))} is {how}"
        body = json.dumps(wrong).encode()
        if number % 10 == 9:
            yield dice.choice(SENT_WRONGLY)(f"{number}", method, body[:MEBI], dice)
        else:
            yield _sent(name, method, wrong, body)


def _forever(known: Mapping[str, tuple[Json, bool]], dice: random.Random) -> Iterator[tuple[str, Place]]:
    """Yields places without end, of each method equally often, however many fields it has."""
    all_places = {method: [place for place in places(envelope) if place] for method, (envelope, _) in known.items()}
    while True:
        method = dice.choice(list(known))
        yield method, dice.choice(all_places[method])


def _sent(name: str, method: str, message: Json, body: bytes) -> Case:
    """Returns a message that is sent correctly, and the answer that JSON-RPC demands for it."""
    known_id = message.get("id") if isinstance(message.get("id"), int | str) else None
    if isinstance(message.get("id"), bool):
        known_id = None
    is_notification = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str) and "id" not in message
    return Case(name, method, frame(body), not is_notification, known_id)


def _lone(name: str, method: str, data: bytes) -> Case:
    return Case(name, method, data, answered=False)


SENT_WRONGLY: Sequence[Callable[[str, str, bytes, random.Random], Case]] = (
    lambda n, m, b, dice: _lone(f"{n}: too short by some bytes", m, _with_length(b, -dice.randrange(1, 40))),
    lambda n, m, b, dice: _lone(f"{n}: too long by some bytes", m, _with_length(b, dice.randrange(1, 40))),
    lambda n, m, b, dice: _lone(f"{n}: too long by far", m, _with_length(b, dice.randrange(40, 10**9))),
    lambda n, m, b, dice: _lone(f"{n}: cut off", m, frame(b[: dice.randrange(len(b))])),
    lambda n, m, b, dice: _lone(f"{n}: ends early", m, frame(b)[: 20 + dice.randrange(len(b))]),
    lambda n, m, b, dice: _lone(f"{n}: changed bytes", m, frame(_changed(b, dice))),
    lambda n, m, b, dice: _lone(f"{n}: garbage before it", m, dice.randbytes(dice.randrange(1, 2_000)) + frame(b)),
    lambda n, m, b, dice: _lone(f"{n}: lines before it", m, b"starting up\nplease wait\n\n" + frame(b)),
    lambda n, m, b, dice: _lone(f"{n}: no length", m, b"Content-Type: x\r\n\r\n" + b),
    lambda n, m, b, dice: _lone(f"{n}: a negative length", m, b"Content-Length: -%d\r\n\r\n" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: a length with a sign", m, b"Content-Length: +%d\r\n\r\n" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: a length in hexadecimal", m, b"Content-Length: %#x\r\n\r\n" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: two lengths", m, b"Content-Length: 7\r\n" + frame(b)),
    lambda n, m, b, dice: _lone(f"{n}: a folded length", m, b"Content-Length:\r\n %d\r\n\r\n" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: LF alone", m, b"Content-Length: %d\n\n" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: CR alone", m, b"Content-Length: %d\r\r" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: LF and CRLF", m, b"Content-Length: %d\n\r\n" % len(b) + b),
    lambda n, m, b, dice: _lone(f"{n}: no header at all", m, b + b"\n"),
    lambda n, m, b, dice: _lone(f"{n}: a header without end", m, b"X-Header: " + b"x" * dice.randrange(MEBI)),
)


def _with_length(body: bytes, more: int) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (max(0, len(body) + more), body)


def _changed(body: bytes, dice: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(dice.randrange(1, 20)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


# Lines of the gateway


def gateway_cases(count: int, seed: int, session_id: str) -> Iterator[Case]:
    """Yields `count` lines for the gateway; one in ten is no JSON object. `session_id` names an open session."""
    dice = random.Random(seed)
    usual: dict[str, Json] = {name: example(field.annotation) for name, field in RequestForm.model_fields.items()}
    usual |= {"session_id": session_id, "output_format": "text"}
    commands = [command for command in COMMANDS if command != "shutdown"]
    fields = [name for name in usual if name != "request_id"]
    for number in range(count):
        request = usual | {"command": commands[number % len(commands)], "request_id": f"case-{number}"}
        how, field = dice.choice(list(WRONG)), fields[number // len(commands) % len(fields)]
        name = f"{number}: {request['command']}, {field} is {how}"
        body = json.dumps(replaced(request, (field,), WRONG[how], _size(dice))).encode()
        if number % 10 == 9:
            name, body = f"{number}: {how} by itself", json.dumps(_lone_value(how, dice)).encode()
        elif number % 10 == 8:
            name, body = f"{number}: changed bytes", _changed(body, dice)
        body = body.replace(b"\n", b" ").replace(b"\r", b" ").strip() or b"{"
        yield Case(name, str(request["command"]), body + b"\n", answered=True)


def _lone_value(how: str, dice: random.Random) -> Json:
    made = WRONG[how]({"key": 1}, _size(dice))
    return None if made is MISSING else made
