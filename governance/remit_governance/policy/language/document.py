"""Reads YAML into plain values and notes where each one stands. Anchors are allowed; tags and duplicate keys are not
(POL-05).

The text is read as a stream of events and not as a tree, because libyaml builds a tree by unbounded recursion, and the
garbage collector takes half of the time for the tree of a large file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from remit_governance.errors import PolicyError, Problem

MAX_REPEATED = 10_000
"""The most values that replace aliases, so that a small file in which aliases multiply is refused after some
milliseconds."""
MAX_DEPTH = 32

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"
Place: TypeAlias = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_STR, _MERGE = f"{_TAG}str", f"{_TAG}merge"

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads the events. PyYAML's wheels bring libyaml; without it this takes some twenty times as long."""

_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_PLAIN_TAGS = tuple(
    (f"{_TAG}{name}", re.compile(expression))
    for name, expression in (
        ("bool", r"true|True|TRUE|false|False|FALSE"),
        ("null", r"~|null|Null|NULL|"),
        ("int", r"[-+]?[0-9]+"),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"),
        ("merge", "<<"),
    )
)
"""The types of plain scalars, as in YAML 1.2's core schema: `no` and `1:30` are strings."""

_MAYBE_NO_STR = frozenset("tTfF~nN-+.0123456789<")
"""First characters of the plain scalars that may be of another type than text."""


@dataclass(frozen=True, slots=True)
class Most:
    """The limits for a file: its characters are counted before it is parsed, its values while it is parsed."""

    characters: int = 4_000_000
    values: int = 1_000_000


OWN = Most()
"""For a file that the person wrote."""
OF_PROJECT = Most(40_000, 6_000)
"""For a file that came with a workspace. It is read when the workspace is opened; so much takes a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's value, and for each place in it the line and column (from 1) where it begins."""

    file: str
    value: Plain
    marks: dict[Place, tuple[int, int]] = field(default_factory=dict[Place, tuple[int, int]])

    def mark(self, place: Place) -> tuple[int, int]:
        """Returns the line and column where `place` begins, or those of the nearest enclosing place that has a mark."""
        while place and place not in self.marks:
            place = place[:-1]
        return self.marks.get(place, (1, 1))

    def problem(self, place: Place, message: str, fix: str) -> Problem:
        """Returns a problem at this place."""
        line, column = self.mark(place)
        return Problem(self.file, line, column, message, fix)


def read_document(file: str, text: str, most: Most = OWN) -> Document:
    """Parses one YAML (or JSON) document. Raises PolicyError with the place of the first fault."""
    if len(text) > most.characters:
        raise PolicyError((Problem(file, 1, 1, f"the file has more than {most.characters} characters", "write less"),))
    if foreign := _NOT_YAML.search(text):
        raise PolicyError((_foreign_character(file, text, foreign.start()),))
    document = Document(file, None)
    # JSON may be indented with tabs, YAML may not. Strings of JSON hold no tabs, so replacing them changes no value.
    loader = _Loader(text.replace("\t", " ") if text.lstrip().startswith("{") else text)
    try:
        return Document(file, _Reader(document, loader, most.values).read_all(), document.marks)
    except yaml.MarkedYAMLError as error:
        raise PolicyError((_syntax(file, error),)) from None


def _foreign_character(file: str, text: str, position: int) -> Problem:
    before = text[:position]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return Problem(file, line, column, f"the character U+{ord(text[position]):04X} is not allowed in YAML", "remove it")


def _syntax(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    said = " ".join(part for part in (error.context, error.problem) if part) or "not YAML"
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    begun = error.context_mark.line + 1 if error.context_mark else line
    found = next((row for part, row in _IN_WORDS.items() if part in said), None)
    message, fix = (said, "correct the YAML") if found is None else (found[0].replace("LINE", str(begun)), found[1])
    return Problem(file, line, column, message, fix)


_CLOSE = "close it, or put a comma between its values"
_IN_WORDS: Mapping[str, tuple[str, str]] = {
    "expected ',' or '}'": ("the `{` of line LINE is not closed", _CLOSE),
    "expected ',' or ']'": ("the `[` of line LINE is not closed", _CLOSE),
    "alias": ("a value that starts with `*` stands for another place", "quote a value that starts with `*`"),
    "cannot start any token": (
        "no value can start with this character",
        "indent with spaces, or quote the value",
    ),
    "mapping values are not allowed": (
        "there is a `:` where no key can be",
        "quote the value, or begin a line with the key",
    ),
    "unexpected end of stream": ("a quote is not closed", "close the quote"),
}
"""Words of the parser's message → the message for a person, and how to fix the fault."""


class _Reader:
    """Turns YAML's events into plain values, noting where each one stands."""

    def __init__(self, document: Document, loader: yaml.SafeLoader, most: int) -> None:
        self._document = document
        self._loader = loader
        self._most = most
        self._count = 0
        self._repeated = 0
        self._anchors: dict[str, list[Event]] = {}
        self._recording: list[list[Event]] = []
        self._replaying: list[Iterator[Event]] = []

    def read_all(self) -> Plain:
        """Returns the value of the only document, or None if there is none. Raises PolicyError and
        yaml.MarkedYAMLError."""
        self._next()
        if not isinstance(self._next(), DocumentStartEvent):
            return None
        value = self._read(self._next(), (), 0)
        self._next()
        end = self._next()
        if not isinstance(end, StreamEndEvent):
            raise self._fault(end, "expected a single document, but found another one", "correct the YAML")
        return value

    def _next(self) -> Event:
        """Returns the next event. An alias is replaced by the events of what it stands for."""
        event = self._next_expanded()
        for events in self._recording:
            events.append(event)
        if isinstance(event, NodeEvent) and event.anchor is not None and not self._replaying:
            self._record(event, event.anchor)
        return event

    def _next_expanded(self) -> Event:
        while self._replaying:
            repeated = next(self._replaying[-1], None)
            if repeated is not None:
                return repeated
            self._replaying.pop()
        event = cast("Event", self._loader.get_event())  # type: ignore[no-untyped-call]
        if not isinstance(event, AliasEvent):
            return event
        events = self._anchors.get(event.anchor or "")
        if events is None:
            raise self._fault(event, f"found undefined alias '{event.anchor}'", "quote a value that starts with `*`")
        if any(events is each for each in self._recording):
            raise self._too_much(event)
        self._replaying.append(iter(events))
        return self._next_expanded()

    def _record(self, event: NodeEvent, anchor: str) -> None:
        """Keeps the events of a node with an anchor, until `_end` is called for the node."""
        if anchor in self._anchors:
            raise self._fault(event, f"the anchor `{anchor}` is given twice", "rename one of them")
        events = self._anchors[anchor] = [event]
        if isinstance(event, CollectionStartEvent):
            self._recording.append(events)

    def _end(self, start: Event) -> None:
        if self._recording and self._recording[-1][0] is start:
            self._recording.pop()

    def _read(self, event: Event, place: Place, depth: int) -> Plain:
        self._document.marks.setdefault(place, _start_of(event))
        self._count += 1
        self._repeated += bool(self._replaying)
        if depth > MAX_DEPTH or self._count > self._most or self._repeated > MAX_REPEATED:
            raise self._too_much(event)
        match event:
            case ScalarEvent():
                return self._scalar(event)
            case SequenceStartEvent():
                self._check_tag(event, f"{_TAG}seq")
                return [self._read(item, (*place, i), depth + 1) for i, item in enumerate(self._items(event))]
            case MappingStartEvent():
                self._check_tag(event, f"{_TAG}map")
                return self._mapping(event, place, depth)
            case _:
                raise self._fault(event, "this is not a YAML value", "correct the YAML")

    def _items(self, start: SequenceStartEvent) -> Iterator[Event]:
        """Yields the first event of each item of a sequence. The caller has to read an item before it asks for the next
        one."""
        while not isinstance(event := self._next(), SequenceEndEvent):
            yield event
        self._end(start)

    def _mapping(self, start: MappingStartEvent, place: Place, depth: int) -> dict[str, Plain]:
        own: dict[str, Plain] = {}
        merged: dict[str, Plain] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                raise self._fault(event, "a key has to be a plain word", "write `word: value`")
            key: str = event.value
            if key == "<<" and _tag_of(event) == _MERGE:
                for name, value in self._merge(place, depth).items():
                    merged.setdefault(name, value)
                continue
            if key in own:
                raise self._fault(event, f"the key `{key}` is given twice", "keep one of them")
            inner = (*place, key)
            self._document.marks[inner] = _start_of(event)
            own[key] = self._read(self._next(), inner, depth + 1)
        self._end(start)
        return merged | own

    def _merge(self, place: Place, depth: int) -> dict[str, Plain]:
        event = self._next()
        result: dict[str, Plain] = {}
        for part in self._items(event) if isinstance(event, SequenceStartEvent) else (event,):
            value = self._read(part, place, depth + 1)
            if not isinstance(value, dict):
                raise self._fault(part, "`<<` merges something that is not a mapping", "merge an anchored mapping")
            for name, each in value.items():
                result.setdefault(name, each)
        return result

    def _scalar(self, event: ScalarEvent) -> Plain:
        text: str = event.value
        match _tag_of(event).removeprefix(_TAG):
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
                raise self._fault(event, "the number is too long", "write it shorter")
            case _:
                raise self._foreign_tag(event, _tag_of(event))

    def _check_tag(self, event: CollectionStartEvent, tag: str) -> None:
        if event.tag not in {None, "!", tag}:
            raise self._foreign_tag(event, str(event.tag))

    def _foreign_tag(self, event: Event, tag: str) -> PolicyError:
        return self._fault(event, f"the tag `{tag}` is not allowed", "remove the tag")

    def _too_much(self, event: Event) -> PolicyError:
        return self._fault(event, "there are too many values, or they are nested too deeply", "write less")

    def _fault(self, event: Event, message: str, fix: str) -> PolicyError:
        return PolicyError((Problem(self._document.file, *_start_of(event), message, fix),))


def _start_of(event: Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _tag_of(event: ScalarEvent) -> str:
    if event.tag not in {None, "!"}:
        return str(event.tag)
    value = event.value
    if not event.implicit[0] or (value and value[0] not in _MAYBE_NO_STR):
        return _STR
    return next((tag for tag, expression in _PLAIN_TAGS if expression.fullmatch(value)), _STR)
