"""The port to what an editor knows about code from its own language servers (TOOL-07).

Positions are those of LSP: lines and UTF-16 characters from 0. Answers come from other programs and are untrusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

QueryKind = Literal["diagnostics", "symbols", "workspace_symbols", "definition", "references"]


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """One question. `path` is relative, None for the whole workspace; `name` is the symbol name to look up."""

    kind: QueryKind
    path: str | None = None
    line: int = 0
    character: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A position: a file's URI, a line and a character."""

    uri: str
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol that code defines. `kind` is a word of `SYMBOL_KINDS`, or empty; `container` is the symbol that it is
    part of.
    """

    place: Place
    name: str
    kind: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One diagnostic. `source` is the program that reported it, `code` its identifier there."""

    place: Place
    severity: Literal["error", "warning", "information", "hint"]
    message: str
    source: str = ""
    code: str = ""


Finding: TypeAlias = Place | Symbol | Problem


@dataclass(frozen=True, slots=True)
class Answer:
    """The items found, at most as many as were sent, of `total`. `source` names the program that found them; `notes`
    are remarks for the reader.
    """

    source: str
    findings: tuple[Finding, ...] = ()
    total: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No answer, with the reason."""

    why: str


class CodeIntelligence(Protocol):
    """An editor that may know about the code that it shows."""

    @property
    def available(self) -> bool:
        """Whether the editor announced that it answers such questions."""
        ...

    async def ask(self, query: CodeQuery) -> Answer | Unavailable:
        """Returns the answer, in bounded time and size, or `Unavailable` if it cannot be understood."""
        ...


class NoEditor:
    """No editor: a terminal, or a client without code intelligence."""

    available = False

    async def ask(self, query: CodeQuery) -> Answer | Unavailable:
        """Returns `Unavailable`."""
        del query
        return Unavailable("there is no editor that can be asked")
