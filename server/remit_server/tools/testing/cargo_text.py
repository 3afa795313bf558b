"""`cargo test` as text, for stable Rust has no other report."""

from __future__ import annotations

import re
from pathlib import Path

from remit_server.tools.testing.results import Ending, Result, first_lines

_TEST = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_PART = re.compile(r"^---- (\S.*?) stdout ----\n(.*?)(?=^---- |^failures:|\Z)", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"panicked at (?:'.*', )?([^\s:]+):(\d+):\d+")
_ENDINGS: dict[str, Ending] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def cargo_results(data: bytes, root: Path) -> tuple[Result, ...]:
    """Each test; one that failed with what it panicked with."""
    del root
    text = data.decode(errors="replace").replace("\r\n", "\n")
    said = dict(_PART.findall(text))
    return tuple(_result(name, _ENDINGS[word], said.get(name, "")) for name, word in _TEST.findall(text))


def _result(name: str, ending: Ending, said: str) -> Result:
    if ending != "failed":
        return Result(name, ending)
    place = _PLACE.search(said)
    start = said.find("panicked at")
    message = first_lines(
        "\n".join(
            line
            for line in said[max(0, start) :].partition("\nstack backtrace:\n")[0].splitlines()
            if not line.startswith("note: ")
        )
    )
    return Result(
        id=name,
        ending="failed",
        kind="assertion" if "assertion" in message else "error",
        message=message,
        file=place[1] if place else None,
        line=int(place[2]) if place else None,
    )
