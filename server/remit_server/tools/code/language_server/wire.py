"""Parses the answer of an editor or a language server about code. Both use one shape, and neither is trusted
(docs/editors/protocol.md; TOOL-07).

    {items: [{uri, range: {start: {line, character}}, name?, kind?, container?, severity?, message?, source?, code?}],
     total?, unfinished?, failed?}

The numbers of kinds and severities are those of LSP.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from remit_server.workspace.code import Answer, CodeQuery, Finding, Place, Problem, QueryKind, Symbol, Unavailable

MAX_ITEMS = 2_000
"""How many items of an answer are used."""
MAX_NAME = 300
MAX_MESSAGE = 10_000
_MAX_NUMBER = 2**31 - 1

SYMBOL_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enum member", "struct", "event", "operator", "type parameter"),
)
"""The words for LSP's kinds of symbols, which are numbered from 1."""
_SEVERITIES: Mapping[int, Literal["error", "warning", "information", "hint"]] = MappingProxyType(
    {1: "error", 2: "warning", 3: "information", 4: "hint"}
)


def _cut_to(most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: value[:most] if isinstance(value, str) else value)


def _word(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


Name = Annotated[str, _cut_to(MAX_NAME)]
Number = Annotated[int, Field(ge=0, le=_MAX_NUMBER)]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Position(_Wire):
    line: Number
    character: Number


class _Range(_Wire):
    start: _Position


class _Place(_Wire):
    uri: Annotated[str, Field(max_length=8_192)]
    range: _Range

    @property
    def place(self) -> Place:
        return Place(self.uri, self.range.start.line, self.range.start.character)


class _Symbol(_Place):
    name: Name
    kind: int | None = None
    container: Name | None = None


class _Problem(_Place):
    message: Annotated[str, _cut_to(MAX_MESSAGE)]
    severity: int | None = None
    source: Name | None = None
    code: Annotated[Name | None, BeforeValidator(_word)] = None


class _Answer(_Wire):
    items: list[Any] = Field(default_factory=list[Any])
    total: Number | None = None
    unfinished: bool = False
    failed: Annotated[str, _cut_to(MAX_MESSAGE)] | None = None


def question(query: CodeQuery, root: str) -> dict[str, Any]:
    """Returns a query in the form that is sent to an editor."""
    asked: dict[str, Any] = {"kind": query.kind, "limit": MAX_ITEMS}
    if query.path is not None:
        asked["uri"] = file_uri(f"{root}/{query.path}")
    if query.kind in {"definition", "references"}:
        asked["position"] = {"line": query.line, "character": query.character}
    if query.kind == "workspace_symbols":
        asked["query"] = query.name
    return asked


def file_uri(path: str) -> str:
    """Returns the URI of an absolute path."""
    return "file://" + quote(path, errors="surrogateescape")


def parse_answer(raw: Any, kind: QueryKind, source: str) -> Answer | Unavailable:
    """Returns the answer, cut to a usable size. An item without the agreed shape is left out and counted."""
    try:
        said = _Answer.model_validate(raw)
    except ValidationError:
        return Unavailable(f"{source} gave an answer of an unexpected shape")
    if said.failed is not None:
        return Unavailable(said.failed)
    findings: list[Finding] = []
    bad = 0
    for item in said.items[:MAX_ITEMS]:
        try:
            findings.append(_finding(item, kind))
        except ValidationError:
            bad += 1
    if bad and not findings:
        return Unavailable(f"{source} gave an answer of an unexpected shape")
    notes = (
        f"{bad} results of {source} were not understood" if bad else "",
        "not everything was looked at in time" if said.unfinished else "",
    )
    total = max(said.total or 0, len(said.items)) - bad
    return Answer(source, tuple(findings), max(total, len(findings)), tuple(filter(None, notes)))


def _finding(item: Any, kind: QueryKind) -> Finding:
    """Returns the finding in an item. Raises ValidationError."""
    match kind:
        case "diagnostics":
            problem = _Problem.model_validate(item)
            severity = _SEVERITIES.get(problem.severity or 1, "error")
            return Problem(problem.place, severity, problem.message, problem.source or "", problem.code or "")
        case "symbols" | "workspace_symbols":
            symbol = _Symbol.model_validate(item)
            number = symbol.kind or 0
            word = SYMBOL_KINDS[number - 1] if 1 <= number <= len(SYMBOL_KINDS) else ""
            return Symbol(symbol.place, symbol.name, word, symbol.container or "")
        case "definition" | "references":
            return _Place.model_validate(item).place
