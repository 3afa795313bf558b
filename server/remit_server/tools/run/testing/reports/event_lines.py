"""Reads the reports that our own code writes inside pytest, unittest and Node: one line for each event."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from remit_server.tools.run.testing.reports.results import (
    BadReport,
    Ending,
    Kind,
    Origin,
    Report,
    ReportForm,
    Result,
    first_lines,
)

_PYTEST_PLACE = re.compile(r"^([^\s/:<][^\n:]*):(\d+): ", re.MULTILINE)
_PY_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_JS_PLACE = re.compile(r"(?:\(|\bat |^|file://)(/[^\s():]+):(\d+)(?::\d+)?", re.MULTILINE)
_JS_TRACE = re.compile(r"^\s+at |^Node\.js v|^(?:node|file):|^/|^\s*\^+\s*$")

Read = Callable[[str, Path], tuple[str, str | None, int | None]]
"""Takes what a failed test printed; returns its message, and the file and line in the workspace."""


class _Line(ReportForm):
    event: Literal["plan", "start", "drop", "end", "doubt", "from"]
    id: str
    count: int | None = None
    ending: Ending = "passed"
    seconds: float | None = None
    kind: Kind | None = None
    text: str = ""
    file: str | None = None
    line: int | None = None
    of: str = ""


def pytest_results(data: bytes, root: Path) -> Report:
    """Returns the results of `inside_pytest.py`. Raises BadReport."""
    return _report(data, root, _parse_pytest)


def unittest_results(data: bytes, root: Path) -> Report:
    """Returns the results of `inside_unittest.py`. Raises BadReport."""
    return _report(data, root, _parse_unittest)


def node_results(data: bytes, root: Path) -> Report:
    """Returns the results of `inside_node.mjs`. Raises BadReport."""
    return _report(data, root, _parse_node)


def _report(data: bytes, root: Path, read: Read) -> Report:
    """Returns the report. A test that started and never ended is unfinished; the first failure of a test counts."""
    planned: int | None = None
    doubts: list[str] = []
    origins: list[Origin] = []
    began: dict[str, _Line] = {}
    ended: dict[str, _Line] = {}
    for line in _lines(data):
        if line.event == "plan":
            planned = line.count
        elif line.event == "doubt":
            doubts.append(line.text)
        elif line.event == "from":
            origins.append(Origin(line.id, line.file or "", line.of))
        elif line.event == "start":
            began[line.id] = line
        else:
            began.pop(line.id, None)
        if line.event == "end" and (line.id not in ended or ended[line.id].ending in {"passed", "skipped"}):
            ended[line.id] = line
    # An unfinished file with unfinished tests is not listed, because its tests say more.
    open_files = {line.file for key, line in began.items() if key != line.file}
    hung = [
        Result(key, "unfinished", file=line.file, line=line.line)
        for key, line in began.items()
        if key not in ended and key not in open_files
    ]
    told = (*(_result(line, root, read) for line in ended.values()), *hung)
    return Report(told, planned, tuple(dict.fromkeys(doubts)), tuple(origins))


def _lines(data: bytes) -> list[_Line]:
    lines = [line for line in data.split(b"\n") if line]
    if lines and not data.endswith(b"\n"):
        del lines[-1]  # this line was being written when the run was stopped
    try:
        return [_Line.model_validate_json(line) for line in lines]
    except ValidationError as error:
        raise BadReport("it has a line that no runner writes") from error


def _result(line: _Line, root: Path, read: Read) -> Result:
    if line.ending not in {"failed", "error"}:
        return Result(line.id, line.ending, line.seconds, file=line.file, line=line.line)
    said, file, number = read(line.text, root)
    place = (file, number) if file else (line.file, line.line)
    return Result(line.id, line.ending, line.seconds, line.kind, first_lines(said or line.text), *place)


def _parse_pytest(text: str, root: Path) -> tuple[str, str | None, int | None]:
    said = "\n".join(line[1:].strip() for line in text.splitlines() if line.startswith("E  "))
    # For a file that is no valid Python, the traceback ends inside the parser, but the message names the place.
    places = _PY_PLACE.findall(said) if "SyntaxError" in said or "IndentationError" in said else []
    own = _own(places, root) or _own(_PYTEST_PLACE.findall(text), root)
    file, line = own or (None, None)
    return said, file, line


def _parse_unittest(text: str, root: Path) -> tuple[str, str | None, int | None]:
    own = _own(_PY_PLACE.findall(text), root)
    # The last entry of the traceback and the error say what happened; the entries before serve only to find the place.
    tail = text[text.rfind("\n  File ") + 1 :] if "\n  File " in text else text
    said = "\n".join(line for line in tail.splitlines() if not line.startswith("  "))
    file, line = own or (None, None)
    return said or tail, file, line


def _parse_node(text: str, root: Path) -> tuple[str, str | None, int | None]:
    places = _JS_PLACE.findall(text)
    file, line = _own(places[::-1], root) or (None, None)  # the innermost call comes first
    said = "\n".join(line for line in text.splitlines() if not _JS_TRACE.search(line))
    return said, file, line


def _own(places: list[tuple[str, str]], root: Path) -> tuple[str, int] | None:
    """Returns the last place that is in the workspace."""
    below = [(path.removeprefix(f"{root}/"), int(line)) for path, line in places]
    return next((place for place in reversed(below) if not place[0].startswith(("/", "<"))), None)
