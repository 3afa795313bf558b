"""A repository's own configuration, read as text: no include is followed and nothing in it starts (GIT-01)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MAX_CONFIG_BYTES = 1_000_000

_HEADER = re.compile(r'\s*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

# What says how the working tree is to be read, and names no program.
_TREE = frozenset(
    {
        *("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"),
        *("core.sparsecheckout", "core.sparsecheckoutcone"),
    }
)
_TRACKING = re.compile(r"remote\.[^\n]+\.fetch")


@lru_cache(maxsize=32)
def parse_config(text: str) -> tuple[tuple[str, str], ...]:
    """`section.subsection.key` and value, in order; section and key in lower case. What cannot be read is left out."""
    return tuple(_settings(text.removeprefix("\ufeff")))


def harmless(settings: tuple[tuple[str, str], ...], branch: str | None) -> tuple[tuple[str, str], ...]:
    """Those that git may be told: how the tree is read, and what `branch` follows. Nothing in them starts a program."""
    followed = {f"branch.{branch}.remote", f"branch.{branch}.merge"} if branch else set[str]()
    return tuple(
        (name, value)
        for name, value in settings
        if name in _TREE or name in followed or (branch and _TRACKING.fullmatch(name))
    )


def _settings(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    rest = text.replace("\r\n", "\n")
    while rest:
        if header := _HEADER.match(rest):
            name, subsection = header.groups()
            section = name.lower() + ("" if subsection is None else "." + re.sub(r"\\(.)", r"\1", subsection))
            rest = rest[header.end() :]
        elif key := _KEY.match(rest):
            value, rest = _value(rest[key.end() :])
            if section and "\0" not in section + value:
                yield f"{section}.{key[1].lower()}", value
        else:
            rest = rest.partition("\n")[2]


def _value(rest: str) -> tuple[str, str]:
    """The value after a key, and what follows its line. A key alone means true."""
    if not rest.startswith("="):
        return "true", rest.partition("\n")[2]
    found: list[str] = []
    kept = 0  # up to here spaces count: they were quoted, or something follows them
    quoted = False
    position = 1
    while position < len(rest) and (rest[position] != "\n" or quoted):
        sign = rest[position]
        position += 1
        if sign == "\\":
            escaped = rest[position : position + 1]
            position += 1
            found += [] if escaped == "\n" else [_ESCAPES.get(escaped, escaped)]
            kept = len(found)
        elif sign == '"':
            quoted = not quoted
            kept = len(found)
        elif sign in "#;" and not quoted:
            position = rest.find("\n", position)
            position = len(rest) if position < 0 else position
        elif found or quoted or not sign.isspace():
            found.append(sign)
            kept = len(found) if quoted or not sign.isspace() else kept
    return "".join(found[:kept]), rest[position + 1 :]
