"""The edits of single lines that a sentence can name (MOD-23). `planning.py` makes the `edit_file` call of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AtLine:
    """The place before the line with this number, counted from 1; 0 is the end of the file. `beside` is the line that
    the sentence named for it, 0 if it named none."""

    number: int
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Beside:
    """The place before or after the one line that has this text."""

    text: str
    after: bool


@dataclass(frozen=True, slots=True)
class AmongImports:
    """The place after the last unindented import, or else below the comments and the docstring at the top."""


@dataclass(frozen=True, slots=True)
class Insert:
    """A new line at a place."""

    text: str
    place: AtLine | Beside | AmongImports


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, in the file's language."""

    text: str
    place: AtLine | Beside


@dataclass(frozen=True, slots=True)
class Commented:
    """Turns the line with this number or this text into a comment if `out`, or else back into code; -1 is the last
    line."""

    line: int | str
    out: bool


@dataclass(frozen=True, slots=True)
class Document:
    """A new docstring for a Python function or class."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes the line with this number or this text; with `last`, all lines from `line` to `last`. Negative numbers
    count from the end: -1 is the last line."""

    line: int | str
    last: int | None = None


@dataclass(frozen=True, slots=True)
class RemoveEntry:
    """Removes the line of a list with this entry, regardless of a bullet before it and a version after it."""

    name: str


@dataclass(frozen=True, slots=True)
class Title:
    """A new title for a page: its first heading, or the `<title>` of HTML; or another text for the heading `old`."""

    text: str
    old: str | None = None


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A new last entry of the list of this name, or, if it is not `added`, the entry to take out of it."""

    name: str
    entry: str
    added: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """A new version for a requirement. If it is `exact`, the requirement allows no other version."""

    name: str
    version: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class SetValue:
    """A new value for a name, which is a constant or a key."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A new text for the line with this number; -1 is the last line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class AddSetting:
    """A new setting at the top level of a file of settings. A value in quotes is a text."""

    name: str
    value: str


LineEdit = (
    AddSetting
    | Insert
    | Comment
    | Commented
    | Document
    | ListEntry
    | Pin
    | Remove
    | RemoveEntry
    | Rewrite
    | SetValue
    | Title
)
