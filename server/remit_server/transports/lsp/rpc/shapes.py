"""Checks that a JSON value has the shape of an LSP type, before it is converted (LSP-02).

The check is derived from the type's fields, builds no objects, and ends at the first mismatch. Known deviations of
editors are corrected before the check (LSP-06).
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin

import attrs
from lsprotocol import types as lsp

from remit_server.transports.lsp.rpc.custom_methods import Json

_Json = dict[str, Any]


def mend_envelope(method: str, envelope: _Json) -> _Json:
    """Returns the message with the known deviations of editors corrected; `mismatch` finds any other error."""
    if method == lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS:
        return _without_empty_folders(envelope)
    return envelope


def _without_empty_folders(envelope: _Json) -> _Json:
    """Removes empty folders: Neovim 0.7 sends no added or removed folders as a list of one empty object or list."""
    params = envelope.get("params")
    event = cast("_Json", params).get("event") if isinstance(params, dict) else None
    if not isinstance(event, dict):
        return envelope
    mended = {key: _without_empty(value) for key, value in cast("_Json", event).items()}
    return {**envelope, "params": {**cast("_Json", params), "event": mended}}


def _without_empty(value: object) -> object:
    return [each for each in cast("list[object]", value) if each not in ({}, [])] if isinstance(value, list) else value


_LARGEST = 2**53
"""The largest accepted whole number. Larger JSON numbers are not exact in every program, and LSP has none."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first value of the wrong shape: its place, and what is wrong with it."""

    where: str
    problem: str

    def below(self, place: str) -> Mismatch:
        """Returns the mismatch as seen from the enclosing value, which holds the checked value at `place`."""
        joint = "" if not self.where or self.where.startswith("[") else "."
        return Mismatch(f"{place}{joint}{self.where}", self.problem)

    def __str__(self) -> str:
        return f"`{self.where}` {self.problem}"


Check: TypeAlias = Callable[[Json], Mismatch | None]


def mismatch(envelope: Mapping[str, Json], message: type, member: Literal["params", "result"]) -> Mismatch | None:
    """Returns the first mismatch in a message's member, or None if there is none or the type has no such member."""
    attribute = attrs.fields_dict(message).get(member)
    if attribute is None:
        return None
    if member not in envelope:
        return Mismatch(member, "is missing") if attribute.default is attrs.NOTHING else None
    found = _check(cast("Hashable", attribute.type))(envelope[member])
    return None if found is None else found if found.where else found.below(member)


@cache
def _check(kind: Hashable) -> Check:
    """Returns the check for a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    made: Check
    if origin in {Union, types.UnionType}:
        made = _one_of(arguments)
    elif origin is Literal:
        made = _constant(arguments)
    elif origin is tuple:
        made = _fixed_list(arguments)
    elif origin is not None and issubclass(origin, Mapping):
        made = _map(arguments[1])
    elif origin is not None and issubclass(origin, Sequence):
        made = _list(arguments[0])
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        made = _constant(tuple(member.value for member in kind))
    elif kind is not lsp.LSPObject and isinstance(kind, type) and attrs.has(kind):
        made = _object(kind)
    else:
        made = _SCALARS.get(kind, _anything)
    return made


def _anything(_: Json) -> None:
    return None


def _scalar(accepts: Callable[[Json], bool], kind: str) -> Check:
    wrong = Mismatch("", f"is not {kind}")
    return lambda value: None if accepts(value) else wrong


def _is_whole(value: Json) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) and abs(value) <= _LARGEST and value == int(value)


_SCALARS: Mapping[Any, Check] = {
    str: _scalar(lambda value: isinstance(value, str), "a string"),
    int: _scalar(_is_whole, "a whole number"),
    float: _scalar(lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number"),
    bool: _scalar(lambda value: isinstance(value, bool | int | float), "a boolean"),  # some editors send 0 and 1
    type(None): _scalar(lambda value: value is None, "null"),
}


def _constant(values: tuple[Json, ...]) -> Check:
    return _scalar(lambda value: isinstance(value, str | int | float) and value in values, "a known value")


def _one_of(kinds: tuple[Any, ...]) -> Check:
    checks = [_check(kind) for kind in kinds]
    only = (
        _check(next(kind for kind in kinds if kind is not type(None)))
        if len(kinds) == 2 and type(None) in kinds
        else None
    )

    def check(value: Json) -> Mismatch | None:
        if any(one(value) is None for one in checks):
            return None
        return only(value) if only is not None else Mismatch("", "has the wrong kind")

    return check


def _list(kind: Any) -> Check:
    item = _check(kind)

    def check(value: Json) -> Mismatch | None:
        if not isinstance(value, list):
            return Mismatch("", "is not a list")
        for index, one in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if (found := item(one)) is not None:
                return found.below(f"[{index}]")
        return None

    return check


def _fixed_list(kinds: tuple[Any, ...]) -> Check:
    checks = [_check(kind) for kind in kinds]

    def check(value: Json) -> Mismatch | None:
        if not isinstance(value, list) or len(value) != len(checks):  # pyright: ignore[reportUnknownArgumentType]
            return Mismatch("", f"is not a list of {len(checks)}")
        found = (one(item) for one, item in zip(checks, value, strict=True))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return next((wrong.below(f"[{index}]") for index, wrong in enumerate(found) if wrong is not None), None)

    return check


def _map(kind: Any) -> Check:
    item = _check(kind)

    def check(value: Json) -> Mismatch | None:
        if not isinstance(value, dict):
            return Mismatch("", "is not an object")
        found = next((wrong for one in value.values() if (wrong := item(one)) is not None), None)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return None if found is None else found.below("[…]")  # without the key, because the sender chose it

    return check


def _object(cls: type) -> Check:
    """Returns the check for an object, which ignores unknown members. An empty list passes too, because Lua spells an
    empty list and an empty object alike.
    """
    members: list[_Member] = []

    def check(value: Json) -> Mismatch | None:
        if not isinstance(value, dict) and value != []:
            return Mismatch("", "is not an object")
        if not members:  # built on first use, because types are recursive and most are never used
            members.extend(_Member.of(attribute) for attribute in attrs.fields(cls))
        for member in members:
            if (found := member.mismatch(value)) is not None:  # pyright: ignore[reportUnknownArgumentType]
                return found
        return None

    return check


@dataclass(frozen=True, slots=True)
class _Member:
    """One field of a type, under its JSON name."""

    key: str
    required: bool
    check: Check
    validator: Callable[..., object] | None
    attribute: attrs.Attribute[Any]

    @staticmethod
    def of(attribute: attrs.Attribute[Any]) -> _Member:
        first, *words = attribute.name.removesuffix("_").split("_")
        key = first + "".join(word.title() for word in words)
        validator = attribute.validator if attribute.type is int else None
        return _Member(
            key, attribute.default is attrs.NOTHING, _check(cast("Hashable", attribute.type)), validator, attribute
        )

    def mismatch(self, holder: Mapping[str, Json]) -> Mismatch | None:
        if self.key not in holder:
            return Mismatch(self.key, "is missing") if self.required else None
        value = holder[self.key]
        if (found := self.check(value)) is not None:
            return found.below(self.key)
        if self.validator is not None:
            try:
                self.validator(None, self.attribute, int(value))
            except ValueError:
                return Mismatch(self.key, "is out of range")
        return None
