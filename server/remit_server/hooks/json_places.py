"""Reads JSON text, comments allowed, with the place of each value, so that one member can be put in or taken out and
no other byte changes (HOK-06). Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OTHER = re.compile(r"[-+.\w]+")
MOST_DEEP = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and where its text starts and ends. `items` are the values in a list or an object, `starts` where each
    of them begins, `keys` an object's keys; None for other values."""

    start: int
    end: int
    value: object = None
    items: tuple[Node, ...] | None = None
    keys: tuple[str, ...] | None = None
    starts: tuple[int, ...] = ()

    def plain(self) -> object:
        """Returns the value, with all values in it."""
        if self.items is None:
            return self.value
        held = [item.plain() for item in self.items]
        return held if self.keys is None else dict(zip(self.keys, held, strict=True))

    def member(self, key: str) -> Node | None:
        """Returns the value of an object's key, or None if there is no such key, or this is no object."""
        named = zip(self.keys or (), self.items or (), strict=True)
        return next((item for name, item in named if name == key), None)


class NoPlace(ValueError):
    """The text cannot be changed so that everything else stays as it is."""


def read_places(text: str) -> Node:
    """Returns the value in the text. Raises NoPlace."""
    try:
        node, end = _value(text, _skip(text, 0), 0)
    except (IndexError, ValueError) as error:
        raise NoPlace(f"it is not JSON: {error}") from None
    if _skip(text, end) != len(text):
        raise NoPlace("something follows its value")
    return node


def with_item(text: str, container: Node, item: str, key: str | None = None) -> str:
    """Returns the text with one more item at the end of a list, or member of an object."""
    assert container.items is not None
    named = item if key is None else f"{json.dumps(key)}: {item}"
    if container.items:
        margin = _margin(text, container.starts[-1])
        return (
            f"{text[: container.items[-1].end]},\n{margin}{_indented(named, margin)}{text[container.items[-1].end :]}"
        )
    outer = _margin(text, container.start)
    margin = f"{outer}  "
    inside = f"\n{margin}{_indented(named, margin)}\n{outer}"
    return f"{text[: container.start + 1]}{inside}{text[container.end - 1 :]}"


def without_item(text: str, container: Node, at: int) -> str:
    """Returns the text without one item; undoes all that `with_item` put in."""
    assert container.items is not None
    if len(container.items) == 1:
        return f"{text[: container.start + 1]}{text[container.end - 1 :]}"
    if at == 0:
        return f"{text[: container.starts[0]]}{text[container.starts[1] :]}"
    return f"{text[: container.items[at - 1].end]}{text[container.items[at].end :]}"


def _indented(item: str, margin: str) -> str:
    return item.replace("\n", f"\n{margin}")


def _margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > MOST_DEEP:
        raise ValueError("it is nested too deeply")
    sign = text[at]
    if sign in "{[":
        return _container(text, at, depth)
    found = (_STRING if sign == '"' else _OTHER).match(text, at)
    if found is None:
        raise ValueError(f"there is no value at {at}")
    return Node(at, found.end(), json.loads(found[0])), found.end()


def _container(text: str, at: int, depth: int) -> tuple[Node, int]:
    start, closing = at, "}" if text[at] == "{" else "]"
    keys: list[str] = []
    items: list[Node] = []
    starts: list[int] = []
    at = _skip(text, at + 1)
    while text[at] != closing:
        starts.append(at)
        if closing == "}":
            found = _STRING.match(text, at)
            if found is None:
                raise ValueError(f"there is no key at {at}")
            keys.append(json.loads(found[0]))
            at = _skip(text, found.end())
            if text[at] != ":":
                raise ValueError(f"there is no `:` at {at}")
            at = _skip(text, at + 1)
        node, at = _value(text, at, depth + 1)
        items.append(node)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
            if text[at] == closing:
                raise ValueError(f"there is an extra comma at {at}")
        elif text[at] != closing:
            raise ValueError(f"there is no `,` at {at}")
    if len(set(keys)) < len(keys):
        raise ValueError("a key occurs twice")
    return Node(start, at + 1, None, tuple(items), tuple(keys) if closing == "}" else None, tuple(starts)), at + 1
