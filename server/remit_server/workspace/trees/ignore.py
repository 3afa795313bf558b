"""Matches paths against a project's ignore files as git does, in time proportional to their length (FILE-05).

The files are untrusted, so their patterns are matched by RE2, which does not backtrack. Patterns without wildcards,
which most are, are looked up in a dict.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from remit_server.workspace.git_patterns import MAX_PATTERN_BYTES, git_expression, git_options

MAX_IGNORE_BYTES = 256 * 1024
MAX_IGNORE_LINES = 2000
BYTE_ORDER_MARK = codecs.BOM_UTF8

_SIGN = re.compile(rb"[*?\[\\]")
_ODD = re.compile(rb"[{}]|\[[^\]]*?(?:\[:|[\\/])|[^/!*]\*\*|\*\*[^/*\s]|\*{3}|\A!/?\s*\Z")
_HIDES_MORE = re.compile(rb"[{}]|\[[^\]]*?[\\/]")
_re2 = cast("Any", re2)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A line of an ignore file. If `whole`, it is matched against the path below the file's folder, else against the
    name alone. If `folders`, it matches folders only."""

    number: int
    text: bytes
    whole: bool
    folders: bool


@dataclass(slots=True)
class _Patterns:
    """Patterns for paths, or for names: the literal ones by their text, with a final `/` if they are for folders; the
    others as expressions, in as few parts as RE2's memory limit allows. Each has the number of its line."""

    literal: dict[bytes, int] = field(default_factory=dict[bytes, int])
    parts: list[tuple[Any, tuple[int, ...]]] = field(default_factory=list[tuple[Any, tuple[int, ...]]])

    def last(self, path: bytes) -> int:
        """Returns the number of the last pattern that matches `path`, which ends with `/` for a folder; else -1."""
        found: int = max(self.literal.get(path, -1), self.literal.get(path.removesuffix(b"/"), -1))
        for part, numbers in reversed(self.parts):
            if numbers[-1] < found:
                break
            matched: list[int] | None = part.Match(path)
            if matched is not None:
                found = max(found, numbers[max(matched)])
                break
        return found


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRules:
    """The rules of an ignore file; compared by identity, which is fast. If `fold`, case is ignored, as on a
    case-insensitive disk. `prefix` is put before each path that is asked about. `cut` says that rules of the file are
    missing, because all of them would take seconds or the file cannot be read."""

    _names: _Patterns
    _paths: _Patterns
    _kept: frozenset[int]
    _fold: bool = False
    prefix: str = ""
    cut: bool = False

    def __bool__(self) -> bool:
        return self.cut or any((self._names.literal, self._names.parts, self._paths.literal, self._paths.parts))

    def ignores(self, path: str) -> bool | None:
        """Returns whether the path (with a final `/` for a folder) is ignored by the last rule that matches it; None if
        no rule does. Files in an ignored folder are ignored too, but the caller has to check the folders above."""
        return self.ignores_whole(self.prefix + path)

    def ignores_whole(self, path: str) -> bool | None:
        """Returns what `ignores` does for a path that has the prefix already, or a part of it."""
        data = os.fsencode(path)
        data = data.lower() if self._fold else data
        name = data[data.rfind(b"/", 0, -1) + 1 :]
        number = max(self._names.last(name), self._paths.last(data))
        return None if number < 0 else number not in self._kept


def parse_ignore_file(data: bytes, *, fold: bool = False, prefix: str = "") -> IgnoreRules:
    """Parses an ignore file, whose paths begin with `prefix`. Lines that are too long or malformed are skipped."""
    lines = data[:MAX_IGNORE_BYTES].removeprefix(BYTE_ORDER_MARK).split(b"\n")
    short = [line if len(line) <= MAX_PATTERN_BYTES else b"" for line in lines[:MAX_IGNORE_LINES]]
    kept = frozenset(number for number, line in enumerate(short) if line.startswith(b"!"))
    patterns = tuple(_patterns(short, fold=fold))
    names, paths = ([each for each in patterns if each.whole is whole] for whole in (False, True))
    return IgnoreRules(_compiled(names), _compiled(paths), kept, fold, prefix, is_cut(data))


def is_cut(data: bytes) -> bool:
    """Returns whether patterns of the ignore file are left out, because the file or one of its lines is too long."""
    if len(data) > MAX_IGNORE_BYTES or data.count(b"\n") > MAX_IGNORE_LINES:
        return True
    return any(len(line) > MAX_PATTERN_BYTES for line in data.removeprefix(BYTE_ORDER_MARK).split(b"\n"))


UNKNOWN = IgnoreRules(_Patterns(), _Patterns(), frozenset(), cut=True)
"""The rules of an ignore file that cannot be read."""


def ripgrep_reads_otherwise(data: bytes) -> bool:
    """Returns whether ripgrep may read the ignore file otherwise than git."""
    return data.startswith(BYTE_ORDER_MARK) or any(True for _ in _odd_lines(data))


def ripgrep_hides_more(data: bytes) -> bool:
    """Returns whether this ignore file may make ripgrep ignore files that git does not ignore."""
    return data.startswith(BYTE_ORDER_MARK + b"!") or any(
        line.startswith(b"!") or _HIDES_MORE.search(line) or _is_no_text(line) or _odd_end(line)
        for line in _odd_lines(data)
    )


def _odd_lines(data: bytes) -> Iterator[bytes]:
    """Yields the lines whose pattern ripgrep reads otherwise than git: with braces, classes or slashes of both kinds in
    brackets, stars beside other signs, `!` alone, a dot or white space that git keeps at the end; and lines that are
    not UTF-8, at which ripgrep stops."""
    for line in data.split(b"\n"):
        if line and not line.startswith(b"#") and (_ODD.search(line) or _is_no_text(line) or _odd_end(line)):
            yield line


def _odd_end(line: bytes) -> bool:
    """Returns whether the line ends with white space that git keeps, or with a dot: ripgrep compares names that end
    with a dot with no pattern for names."""
    text = line.decode(errors="replace").removesuffix("\r")
    return text.rstrip() != text.rstrip(" ") or text.rstrip(" ").removesuffix("/").endswith(".")


def _is_no_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def _patterns(lines: Sequence[bytes], *, fold: bool) -> Iterator[_Pattern]:
    for number, line in enumerate(lines):
        if line.startswith(b"#"):
            continue
        text = _without_spaces(line.removesuffix(b"\r")).removeprefix(b"!")
        folders, text = text.endswith(b"/"), text.removesuffix(b"/")
        if fold:
            # A class of capital letters would match nothing, because the paths are in lower case.
            text = text.replace(b"[:upper:]", b"[:lower:]").lower()
        whole = b"/" in text
        if text:
            yield _Pattern(number, text.removeprefix(b"/"), whole, folders)


def _without_spaces(line: bytes) -> bytes:
    """Returns the line without trailing spaces, except one that a backslash escapes."""
    text = line.rstrip(b" ")
    escaped = (len(text) - len(text.rstrip(b"\\"))) % 2
    return line[: len(text) + escaped]


def _compiled(patterns: Sequence[_Pattern]) -> _Patterns:
    literal = {each.text + b"/" * each.folders: each.number for each in patterns if _SIGN.search(each.text) is None}
    return _Patterns(literal, list(_parts(dict(_expressions(patterns)))))


def _expressions(patterns: Sequence[_Pattern]) -> Iterator[tuple[int, bytes]]:
    for each in patterns:
        if _SIGN.search(each.text) is not None:
            try:
                yield each.number, git_expression(each.text) + (b"/" if each.folders else b"/?")
            except ValueError:
                continue


def _parts(expressions: Mapping[int, bytes]) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Compiles the expressions in order. One that RE2 refuses is skipped."""
    if not expressions:
        return
    numbers = tuple(expressions)
    try:
        part = _re2.Set.FullMatchSet(git_options())
        for expression in expressions.values():
            part.Add(expression)
        part.Compile()
    except _re2.error:
        half = len(numbers) // 2
        if half:
            yield from _parts({number: expressions[number] for number in numbers[:half]})
            yield from _parts({number: expressions[number] for number in numbers[half:]})
    else:
        yield part, numbers
