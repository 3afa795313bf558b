"""What `git diff` printed, as one section a file: pure, and a section whose file cannot be told is none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

_START = re.compile(rb"^(?=diff --git |diff --cc |diff --combined |\* Unmerged path )", re.MULTILINE)
_UNMERGED = b"* Unmerged path "
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_LETTERS = {b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11, b'"': 34, b"\\": 92}
_STATES = {b"new file mode": "added", b"deleted file mode": "deleted", b"rename from": "renamed"}


@dataclass(frozen=True, slots=True)
class Section:
    """One file's part of a diff. `path` is None where it could not be read; `old_path` differs after a rename."""

    path: str | None
    old_path: str | None
    state: str
    added: int
    removed: int
    binary: bool
    text: bytes


def sections(data: bytes, prefix: str = "") -> tuple[Section, ...]:
    """Each file's section, in order, of the folder `prefix`. A line of a file's content begins with a sign, so none can
    begin a section."""
    return tuple(_section(part, os.fsencode(prefix)) for part in _START.split(data) if part.strip())


def _section(text: bytes, prefix: bytes) -> Section:
    header, hunks = _split_sections(text)
    old, new = _paths(header, prefix)
    state = next((word for key, word in _STATES.items() if any(line.startswith(key) for line in header)), "modified")
    combined = not header[0].startswith(b"diff --git ")
    return Section(
        path=new,
        old_path=old,
        state="conflict" if combined else state,
        added=sum(line.startswith(b"+") for line in hunks),
        removed=sum(line.startswith(b"-") for line in hunks),
        binary=any(line.startswith((b"Binary files ", b"GIT binary patch")) for line in header),
        text=text,
    )


def _split_sections(text: bytes) -> tuple[list[bytes], list[bytes]]:
    lines = text.split(b"\n")
    first = next((number for number, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    return lines[:first], lines[first:]


def _paths(header: list[bytes], prefix: bytes) -> tuple[str | None, str | None]:
    if header[0].startswith(_UNMERGED):
        # As it is, with line feeds.
        name = os.fsdecode(b"\n".join(header).removeprefix(_UNMERGED).removesuffix(b"\n"))
        return name, name
    for key in (b"diff --cc ", b"diff --combined "):
        if header[0].startswith(key):
            # Whatever git is told, a combined diff begins with the path in the repository.
            path = _path(header[0][len(key) :], prefix)
            return path, path
    fields = dict(_names_in(header))
    if b"rename from " in fields or b"rename to " in fields:
        return (_path(fields.get(b"rename from ", b""), b""), _path(fields.get(b"rename to ", b""), b""))
    return _same_twice(header[0].removeprefix(b"diff --git "))


def _names_in(header: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for key in (b"rename from ", b"rename to "):
        yield from ((key, line[len(key) :]) for line in header[1:] if line.startswith(key))


def _same_twice(names: bytes) -> tuple[str | None, str | None]:
    """`a/X b/X`: without a rename both are the same, and that is what tells where the first ends."""
    middle = len(names) // 2
    first, second = names[:middle], names[middle + 1 :]
    if len(names) % 2 == 0 or names[middle : middle + 1] != b" ":
        return None, None
    old, new = _path(first, b"a/"), _path(second, b"b/")
    return (old, new) if old == new else (None, None)


def _path(word: bytes, prefix: bytes) -> str | None:
    """A path as git writes it, quoted or not, without its prefix; None where it is neither."""
    if word.startswith(b'"'):
        if len(word) < 2 or not word.endswith(b'"'):
            return None
        word = _ESCAPE.sub(lambda found: bytes([_LETTERS.get(found[1]) or int(found[1], 8) & 255]), word[1:-1])
    return os.fsdecode(word.removeprefix(prefix)) if word.startswith(prefix) and len(word) > len(prefix) else None
