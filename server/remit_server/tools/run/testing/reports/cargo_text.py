"""Parses the text of `cargo test`, because stable Rust has no other report."""

from __future__ import annotations

import re
from pathlib import Path

from remit_server.tools.run.testing.reports.cargo_signs import without_signs
from remit_server.tools.run.testing.reports.results import Ending, Report, Result, first_lines

_TEST = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_PLAN = re.compile(r"^running (\d+) tests?$", re.MULTILINE)
_PART = re.compile(r"^---- (\S.*?) stdout ----\n(.*?)(?=^---- |^failures:|\Z)", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"panicked at (?:'.*', )?([^\s:]+):(\d+):\d+")
_ENDINGS: dict[str, Ending] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def cargo_results(data: bytes, root: Path) -> Report:
    """Returns each test, a failed one with its panic message. Tests that did not finish are counted but not named."""
    del root
    text = without_signs(data.decode(errors="replace")).replace("\r\n", "\n")
    said = dict(_PART.findall(text))
    tests = tuple(_result(name, _ENDINGS[word], said.get(name, "")) for name, word in _TEST.findall(text))
    _, *parts = _PLAN.split(text)
    # A test program that ended prints its result, so fewer results than planned matter only without that line. A
    # program with all results and no such line was ended by a test, which may have printed results itself.
    cut = sum(
        max(1, int(planned) - len(_TEST.findall(part)))
        for planned, part in zip(parts[::2], parts[1::2], strict=True)
        if "\ntest result: " not in part
    )
    return Report(tests, len(tests) + cut)


def _result(name: str, ending: Ending, said: str) -> Result:
    if ending != "failed" or not said:  # panic messages come at the end, so a stopped run has none
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
