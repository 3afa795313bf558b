"""YAML read into plain values that remember where they stood; anchors yes, tags and duplicate keys no
(governance.md §2, Policy engine).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from remit_governance.errors import PolicyError, Problem

MAX_CHARACTERS = 1_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 32

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"
Place: TypeAlias = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """Scalars as YAML 1.2's core schema has them: `no` and `1:30` are strings."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 shape is the base's


for _name, _expression, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType] the stub leaves it untyped
        _TAG + _name, re.compile(f"(?:{_expression})\\Z"), list(_first)
    )


@dataclass(frozen=True, slots=True)
class Document:
    """A file's value, and for each place in it the line and column (from 1) where it begins."""

    file: str
    value: Plain
    marks: dict[Place, tuple[int, int]] = field(default_factory=dict[Place, tuple[int, int]])

    def mark(self, place: Place) -> tuple[int, int]:
        """Where `place` begins, or the nearest enclosing place that has a mark."""
        while place and place not in self.marks:
            place = place[:-1]
        return self.marks.get(place, (1, 1))

    def problem(self, place: Place, message: str, fix: str) -> Problem:
        """A problem at this place."""
        line, column = self.mark(place)
        return Problem(self.file, line, column, message, fix)


def read_document(file: str, text: str) -> Document:
    """Parse one YAML (or JSON) document. Raises PolicyError with the place of the first fault."""
    if len(text) > MAX_CHARACTERS:
        raise PolicyError((Problem(file, 1, 1, f"the file is over {MAX_CHARACTERS} characters", "split it"),))
    try:
        # JSON may be indented with tabs, which inside its strings are not allowed; YAML may not.
        loader = _Loader(text.replace("\t", " ") if text.lstrip().startswith("{") else text)
        root = loader.get_single_node()
        document = Document(file, None)
        return Document(file, _Reader(document).read(root, (), 0), document.marks)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        character = ord(error.character) if isinstance(error.character, str) else error.character
        message = f"the character U+{character:04X} may not stand in YAML"
        raise PolicyError((Problem(file, line, column, message, "remove it"),)) from None
    except yaml.MarkedYAMLError as error:
        raise PolicyError((_syntax(file, error),)) from None
    except RecursionError:
        raise PolicyError((Problem(file, 1, 1, "the file is nested too deeply", "flatten it"),)) from None


def _syntax(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    message = " ".join(part for part in (error.context, error.problem) if part) or "not YAML"
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    quote = "alias" in message
    return Problem(file, line, column, message, "quote a value that starts with `*`" if quote else "correct the YAML")


class _Reader:
    """Turns YAML nodes into plain values, noting where each one stands."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._count = 0

    def read(self, node: Node | None, place: Place, depth: int) -> Plain:
        if node is None:
            return None
        self._document.marks.setdefault(place, (node.start_mark.line + 1, node.start_mark.column + 1))
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_VALUES:
            # Also what ends a recursive anchor, and a small file whose aliases multiply.
            raise self._fault(node, "there are too many values, or they are nested too deeply", "write less")
        match node:
            case ScalarNode():
                return self._scalar(node)
            case SequenceNode():
                self._known_tag(node, "seq")
                return [self.read(item, (*place, i), depth + 1) for i, item in enumerate(node.value)]
            case MappingNode():
                self._known_tag(node, "map")
                return self._mapping(node, place, depth)
            case _:
                raise self._fault(node, "this is no YAML value", "correct the YAML")

    def _mapping(self, node: MappingNode, place: Place, depth: int) -> dict[str, Plain]:
        own: dict[str, Plain] = {}
        merged: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key_node.tag == _TAG + "merge":
                for name, value in self._merge(value_node, place, depth).items():
                    merged.setdefault(name, value)
                continue
            if key in own:
                raise self._fault(key_node, f"the key `{key}` is given twice", "keep one of them")
            self._document.marks[(*place, key)] = (
                key_node.start_mark.line + 1,
                key_node.start_mark.column + 1,
            )
            own[key] = self.read(value_node, (*place, key), depth + 1)
        return merged | own

    def _merge(self, node: Node, place: Place, depth: int) -> dict[str, Plain]:
        parts = node.value if isinstance(node, SequenceNode) else [node]
        result: dict[str, Plain] = {}
        for part in parts:
            value = self.read(part, place, depth + 1)
            if not isinstance(value, dict):
                raise self._fault(part, "`<<` merges something that is no mapping", "merge an anchored mapping")
            result = value | result
        return result

    def _key(self, node: Node) -> str:
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return node.value
        raise self._fault(node, "a key has to be a plain word", "write `word: value`")

    def _scalar(self, node: ScalarNode) -> Plain:
        text: str = node.value
        match node.tag.removeprefix(_TAG):
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int" if len(text) <= 18:
                return int(text)
            case "float" if len(text) <= 40:
                return float(text)
            case "int" | "float":
                raise self._fault(node, "the number is too long", "write it shorter")
            case _:
                raise self._foreign_tag(node)

    def _known_tag(self, node: Node, tag: str) -> None:
        if node.tag != _TAG + tag:
            raise self._foreign_tag(node)

    def _foreign_tag(self, node: Node) -> PolicyError:
        return self._fault(node, f"the tag `{node.tag}` is not allowed", "remove the tag")

    def _fault(self, node: Node, message: str, fix: str) -> PolicyError:
        mark = node.start_mark
        return PolicyError((Problem(self._document.file, mark.line + 1, mark.column + 1, message, fix),))
