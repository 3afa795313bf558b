"""A script as the parser gets it: without any character above U+00FF (CMD-06).

The grammar looks characters up in C's table of 256 without asking how large they are: `{` before an emoji reads memory
that is not its own, and may end the process.
"""

from __future__ import annotations

import re

_MARK = "\x80"
"""Begins a character's number. No script that is parsed holds one: it is not shown."""
_DIGITS = 0xC0
"""Letters that nothing in the grammar begins with: 64 of them, so six bits each."""
_WIDE = re.compile(r"[^\x00-\xff]")
_NUMBERED = re.compile(f"{_MARK}([{chr(_DIGITS)}-{chr(_DIGITS + 63)}]{{4}})")


def to_parse(script: str) -> bytes:
    """Returns what the parser gets; `as_written` is the way back, for each part of it."""
    return _WIDE.sub(_number, script).encode()


def as_written(parsed: bytes) -> str:
    """Returns a part of a script as it was written."""
    return _NUMBERED.sub(_character, parsed.decode())


def _number(found: re.Match[str]) -> str:
    point = ord(found[0])
    return _MARK + "".join(chr(_DIGITS + (point >> shift & 63)) for shift in (18, 12, 6, 0))


def _character(found: re.Match[str]) -> str:
    point = 0
    for digit in found[1]:
        point = point << 6 | ord(digit) - _DIGITS
    return chr(point)
