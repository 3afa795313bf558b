"""Finds the lines of private keys, each for itself: of a part of a key, all markers may be missing (SEC-04).

A line is taken for one of a key if it is as wide as tools write keys (64 characters, or 70 as OpenSSH does) and has
small and large letters and digits, unless what is above it says that the block is public. Before it in its line there
may be other words, a file's name, a line's number or the sign of a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

from remit_governance.secrets.secret_shapes import compile_bytes

_BEFORE = rb"(?:(?:[^\s:]{1,200}:)?(?:[0-9]{1,9}[|:])?|(?:[^\s:]{1,200}-)?[0-9]{1,9}-)[ \t>+-]{0,20}"
_END = rb"[ \t]{0,20}\r?(?:\^M)?\$?\n?\Z"
"""The end of a line; `cat -A` shows it as `$`."""
_WIDE = re.compile(rb"(?:^[+-]?|[\s:|>]|(?:^|-)[0-9]{1,9}-)([A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?)" + _END)
_LAST = re.compile(_BEFORE + rb"[A-Za-z0-9+/]{1,69}={1,2}" + _END)
_HASH = re.compile(rb"(?i)sha-?[0-9]{1,4}:\Z")
_KINDS = (re.compile(rb"[a-z]"), re.compile(rb"[A-Z]"), re.compile(rb"[0-9]"))
_PUBLIC = (b"-----BEGIN ", b"ertificate>")
"""Each line at which a public block begins holds one of these."""
_IN_BLOCK = re.compile(_BEFORE + rb"(?:[A-Za-z0-9+/=]{0,100}|[A-Za-z-]{1,30}: .{0,200})[ \t]{0,20}\r?\n?")
_LABEL = b"[redacted private key]"


@cache
def _run() -> Any:
    return compile_bytes("[A-Za-z0-9+/]{64}")


def may_hold_key_lines(data: bytes) -> bool:
    """Tells whether `without_key_lines` could find anything in this text or in any part of it."""
    return _run().search(data) is not None


def without_key_lines(data: bytes, *, keep_lines: bool, public: bool = False) -> tuple[bytes, bool]:
    """Returns the text with the lines of keys replaced, and whether it ends in a public block. `public` says whether it
    begins in one."""
    if not (public or may_hold_key_lines(data) or any(mark in data for mark in _PUBLIC)):
        return data, False
    lines = data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+", data)
    told = list(_told(lines, public=public))
    shown = list[bytes]()
    for is_key, group in groupby(zip(lines, told, strict=True), key=lambda each: each[1] == "key"):
        run = [line for line, _ in group]
        end = b"\n" if run[-1].endswith(b"\n") else b""
        shown += [_before(run[0]), _LABEL, b"\n" * (len(run) - 1 if keep_lines else 0), end] if is_key else run
    return b"".join(shown), bool(told) and told[-1] == "public"


def _told(lines: list[bytes], *, public: bool) -> Iterator[str]:
    """Yields for each line what it is: `key`, `public` for one of a public block, or nothing."""
    last = "public" if public else ""
    for line in lines:
        if any(mark in line for mark in _PUBLIC):
            last = "" if b"PRIVATE KEY" in line else "public"
        elif last == "public":
            last = "public" if _IN_BLOCK.fullmatch(line) else ""
        elif _is_of_key(line) or (last == "key" and _LAST.fullmatch(line)):
            last = "key"
        else:
            last = ""
        yield last


def _before(line: bytes) -> bytes:
    found = _WIDE.search(line)
    return b"" if found is None else line[: found.start(1)]


def _is_of_key(line: bytes) -> bool:
    found = _WIDE.search(line)
    if found is None or _HASH.search(line, 0, found.start(1)):
        return False
    return all(kind.search(found[1]) for kind in _KINDS)
