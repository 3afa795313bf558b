"""The attributes of a path in `.gitattributes` files, as far as they change the bytes that git stores (GIT-03).

The files are read as git reads them when it adds a file: from the working tree, or from the index if one is missing
there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from remit_governance.secrets.cutting import shorten
from remit_server.errors import ToolError
from remit_server.workspace.git_patterns import MAX_PATTERN_BYTES, compile_git_pattern

Value = bool | str | None
"""The value of an attribute: set, unset, or a word; None resets it to `unspecified`."""

Line = tuple[Callable[[bytes], bool], Mapping[str, Value]]

_MACRO = b"[attr]"
_BUILT_IN: Mapping[str, Mapping[str, Value]] = {"binary": {"diff": False, "merge": False, "text": False}}
_ESCAPED = re.compile(rb"\\(.)")


@dataclass(slots=True)
class Attributes:
    """All attribute files of a repository. `in_folder` returns the text of a folder's own file. `outer` are lines that
    any of those override, `inner` lines that override all of them. `prefix` is the workspace's path in the repository,
    with a final `/`, or empty."""

    in_folder: Callable[[str], bytes]
    outer: bytes = b""
    inner: bytes = b""
    prefix: str = ""
    _macros: dict[str, Mapping[str, Value]] = field(default_factory=lambda: dict(_BUILT_IN))
    _known: dict[str, tuple[Line, ...]] = field(default_factory=dict[str, tuple[Line, ...]])

    def of(self, path: str) -> Mapping[str, Value]:
        """Returns the attributes of the file at `path`. Raises ToolError if a pattern is too complex to be matched."""
        found: dict[str, Value] = {}
        path = self.prefix + path
        for lines in self._files(path):
            for matches, values in lines:
                if matches(path.encode(errors="surrogateescape")):
                    found.update(self._with_macros(values))
        return {name: value for name, value in found.items() if value is not None}

    def _files(self, path: str) -> Iterator[tuple[Line, ...]]:
        folders = path.split("/")[:-1]
        yield self._lines("<outer>", lambda: self.outer, "")
        for depth in range(len(folders) + 1):
            folder = "/".join(folders[:depth])
            yield self._lines(f"/{folder}", partial(self.in_folder, folder), folder)
        yield self._lines("<inner>", lambda: self.inner, "")

    def _lines(self, key: str, text: Callable[[], bytes], folder: str) -> tuple[Line, ...]:
        if key not in self._known:
            self._known[key] = tuple(self._parsed(text(), folder))
        return self._known[key]

    def _parsed(self, text: bytes, folder: str) -> Iterator[Line]:
        for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            pattern, words = _split(line.strip(b" \t\r"))
            values = dict(map(_value, words))
            if pattern.startswith(_MACRO):
                self._macros[pattern.removeprefix(_MACRO).decode(errors="replace")] = values
            elif pattern and values:
                if len(pattern) > MAX_PATTERN_BYTES:
                    raise _complexity_error(pattern)
                try:
                    yield _matcher(pattern, folder.encode(errors="surrogateescape")), values
                except ValueError:
                    continue  # git lets such a pattern match nothing

    def _with_macros(self, values: Mapping[str, Value]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, value in values.items():
            if value is True:
                found.update(self._macros.get(name, {}))
            found[name] = value
        return found


def _matcher(pattern: bytes, folder: bytes) -> Callable[[bytes], bool]:
    """Returns a function that says whether a pattern of the file in `folder` matches a path."""
    return compile_git_pattern(pattern.removeprefix(b"/"), folder, anywhere=b"/" not in pattern)


def _split(line: bytes) -> tuple[bytes, list[bytes]]:
    if not line or line.startswith(b"#"):
        return b"", []
    if not line.startswith(b'"'):
        pattern, *words = line.split()
        return pattern, words
    end = re.match(rb'"((?:[^"\\]|\\.)*)"', line)
    if end is None or re.search(rb"\\[^\"\\]", end[1]):
        raise _complexity_error(line)
    return _ESCAPED.sub(rb"\1", end[1]), line[end.end() :].split()


def _value(word: bytes) -> tuple[str, Value]:
    text = word.decode(errors="replace")
    if text.startswith("!"):
        return text[1:], None
    if text.startswith("-"):
        return text[1:], False
    name, given, value = text.partition("=")
    return name, value if given else True


def _complexity_error(pattern: bytes) -> ToolError:
    shown = shorten(pattern.decode(errors="replace"), 80)
    return ToolError(
        "cannot commit",
        f"Remit does not understand the pattern {shown!r} in an attributes file",
        "a person can commit with git itself",
    )
