"""Who knows about the code: a port for the editor, which has language servers of its own (TOOL-07).

Positions are those of LSP: lines and UTF-16 characters from 0. Whatever an answer holds was made up elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

QueryKind = Literal["diagnostics", "symbols", "workspace_symbols", "definition", "references"]


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """One question. `path` is relative, None for the whole workspace; `name` is what symbols are looked up by."""

    kind: QueryKind
    path: str | None = None
    line: int = 0
    character: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: a file's URI, a line and a character of it."""

    uri: str
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something that code defines. `kind` is a word of `SYMBOL_KINDS`, or empty; `container` is what it is part of."""

    place: Place
    name: str
    kind: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One diagnostic. `source` is who found it, `code` its name there."""

    place: Place
    severity: Literal["error", "warning", "information", "hint"]
    message: str
    source: str = ""
    code: str = ""


Finding: TypeAlias = Place | Symbol | Problem


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found: of `total`, as many as were told. `source` says by whom; `notes` what to know about it."""

    source: str
    findings: tuple[Finding, ...] = ()
    total: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No answer, and why."""

    why: str


class CodeIntelligence(Protocol):
    """An editor that may know about the code that it shows."""

    @property
    def available(self) -> bool:
        """Whether it said that it can be asked."""
        ...

    async def ask(self, query: CodeQuery) -> Answer | Unavailable:
        """The answer, in bounded time and size. One that is not understood is no answer."""
        ...


class NoEditor:
    """Nobody to ask: a terminal, or an editor that cannot say."""

    available = False

    async def ask(self, query: CodeQuery) -> Answer | Unavailable:
        """No answer."""
        del query
        return Unavailable("there is no editor that can be asked")
