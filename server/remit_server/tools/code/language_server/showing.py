"""Makes the outcome from an answer about code, without places that may not be shown (TOOL-07).

An editor and a language server may know files that policy keeps unread, and may name any other. So only files that may
be read are shown, and every line is read here, not taken from the answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from remit_governance.visible import visible
from remit_server.counted import counted, list_some
from remit_server.errors import OutsideWorkspace, ToolError
from remit_server.tools.files.read_source import current_image
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.code import Answer, Finding, Place, Problem, Symbol
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath

MAX_SHOWN = 100
MAX_LINE_CHARS = 300
_MAX_FILE_CHARS = 2_000_000
_MAX_OUTSIDE = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding that may be shown. `line` and `column` are from 1; `text` is the source line, or empty."""

    finding: Finding
    path: str
    line: int
    column: int
    text: str

    @property
    def where(self) -> str:
        """The place in the form that compilers print."""
        return f"{visible(self.path, 'show')}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Style:
    """How one kind of finding is shown: its noun, its line, its data, its order, and whether its source line is
    shown."""

    noun: str
    line: Callable[[Seen], str]
    data: Callable[[Seen], dict[str, JsonValue]]
    order: Callable[[Finding], int] = lambda _: 0
    code: bool = False


@dataclass(slots=True)
class _Sorted:
    inside: list[tuple[str, Place, Finding]] = field(default_factory=list[tuple[str, Place, Finding]])
    outside: dict[str, None] = field(default_factory=dict[str, None])
    hidden: int = 0


def place_of(finding: Finding) -> Place:
    """Returns the place of a finding."""
    return finding if isinstance(finding, Place) else finding.place


def render_answer(answer: Answer, about: str, style: Style, ctx: ToolContext) -> Outcome:
    """Returns the outcome of a call that asked for `about`, such as `of `total``."""
    found, seen = _show(answer.findings, style, ctx)
    total = len(found.inside) + max(0, answer.total - len(answer.findings))
    notes = _notes(answer, found, len(seen), total)
    count = counted(total, style.noun) if total else f"no {style.noun}s"
    summary = f"{count} {about}, says {answer.source}"
    return Outcome(
        text="\n".join(["; ".join([summary, *notes]), *(style.line(each) for each in seen)]),
        summary=summary,
        data={
            "source": answer.source,
            "total": total,
            "items": [{"path": s.path, "line": s.line, "column": s.column, **style.data(s)} for s in seen],
            "left_out": found.hidden,
            "outside": [*itertools.islice(found.outside, _MAX_OUTSIDE)],
            "truncated": len(seen) < total,
        },
    )


def show_readable(findings: Iterable[Finding], style: Style, ctx: ToolContext) -> tuple[Seen, ...]:
    """Returns the findings in files that may be read, at most `MAX_SHOWN`."""
    return tuple(_show(findings, style, ctx)[1])


def _show(findings: Iterable[Finding], style: Style, ctx: ToolContext) -> tuple[_Sorted, list[Seen]]:
    found = _sort_findings(findings, ctx)
    found.inside.sort(key=lambda each: (style.order(each[2]), each[0], each[1].line, each[1].character))
    texts = Texts(ctx)
    return found, [_show_finding(*each, texts, style) for each in found.inside[:MAX_SHOWN]]


def _notes(answer: Answer, found: _Sorted, seen: int, total: int) -> list[str]:
    outside = list(found.outside)
    notes = [
        f"the first {seen} are shown" if seen < total else "",
        f"{found.hidden} in files that may not be read are left out" if found.hidden else "",
        f"outside the workspace: {list_some(outside, _MAX_OUTSIDE)}" if outside else "",
        *answer.notes,
    ]
    return [note for note in notes if note]


def _sort_findings(findings: Iterable[Finding], ctx: ToolContext) -> _Sorted:
    """Returns the findings, each once, sorted by whether they may be shown."""
    found = _Sorted()

    @cache
    def path_of(uri: str) -> str | None:
        return _relative(uri, ctx)

    @cache
    def may(relative: str) -> bool:
        return ctx.permits("fs.read", relative)

    for finding in dict.fromkeys(findings):
        place = place_of(finding)
        relative = path_of(place.uri)
        if relative is None:
            found.outside[_last_names(place.uri)] = None
        elif may(relative):
            found.inside.append((relative, place, finding))
        else:
            found.hidden += 1
    return found


def _relative(uri: str, ctx: ToolContext) -> str | None:
    """Returns the real path in the workspace that a URI leads to after links, or None."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
            return None
        return ctx.workspace.resolve(unquote(parts.path, errors="surrogateescape")).relative
    except (OutsideWorkspace, ToolError, ValueError):
        return None


def _last_names(uri: str) -> str:
    """Returns the last two names of a path outside the workspace, which are enough to tell which library it is."""
    names = PurePosixPath(unquote(uri.partition("://")[2] or uri)).parts[-2:]
    return visible("/".join(names), "show")[:MAX_LINE_CHARS] or "?"


class Texts:
    """The lines of files, as they are and without secrets; empty for a file that is missing, binary or huge."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self.redact = ctx.redact
        self.lines = lru_cache(maxsize=64)(self._lines)
        self.redacted = lru_cache(maxsize=64)(self._redacted)

    def _lines(self, relative: str) -> list[str]:
        path = WorkspacePath(relative, self._ctx.workspace.root)
        try:
            content = Text.decode(current_image(path, self._ctx).data, relative).content
        except ToolError:
            return []
        return content.split("\n") if len(content) <= _MAX_FILE_CHARS else []

    def _redacted(self, relative: str) -> list[str]:
        return self._ctx.redact("\n".join(self.lines(relative))).split("\n")


def _show_finding(relative: str, place: Place, finding: Finding, texts: Texts, style: Style) -> Seen:
    lines = texts.lines(relative)
    line = lines[place.line] if place.line < len(lines) else ""
    text = ""
    if style.code and line:
        text = cut_line(texts.redacted(relative)[place.line].strip())
    return Seen(_safe(finding, texts.redact), relative, place.line + 1, column_of(line, place.character), text)


def _safe(finding: Finding, redact: Callable[[str], str]) -> Finding:
    """Returns a finding with its texts redacted and cut, because others wrote them and may have quoted a file."""

    def safe(text: str) -> str:
        return cut_line(redact(text)) if text else ""

    match finding:
        case Place():
            return finding
        case Symbol(place=place, name=name, kind=kind, container=container):
            return Symbol(place, safe(name), kind, safe(container))
        case Problem(place=place, severity=severity, message=message, source=source, code=code):
            return Problem(place, severity, safe(message), safe(source), safe(code))


def code_style(noun: str) -> Style:
    """Returns a style that shows each place with its source line."""

    def line(seen: Seen) -> str:
        return f"{seen.where}  {seen.text}".rstrip()

    return Style(noun, line, lambda seen: {"content": seen.text}, code=True)


def column_of(line: str, character: int) -> int:
    """Returns the column, from 1, of a UTF-16 character, from 0. If the line is known, the column is at most one past
    its end."""
    if not line or line.isascii():
        return min(character, len(line)) + 1 if line else character + 1
    return len(line.encode("utf-16-le", "surrogatepass")[: 2 * character].decode("utf-16-le", "ignore")) + 1


def character_of(line: str, index: int) -> int:
    """Returns the UTF-16 character, from 0, of an index into the line."""
    return len(line[:index].encode("utf-16-le", "surrogatepass")) // 2


def cut_line(text: str) -> str:
    """Returns the text on one line, cut to `MAX_LINE_CHARS` and with hidden characters spelled out."""
    plain = visible(" ".join(text.split()), "show")
    over = len(plain) - MAX_LINE_CHARS
    return plain if over <= 0 else f"{plain[:MAX_LINE_CHARS]}… ({over} more characters)"
