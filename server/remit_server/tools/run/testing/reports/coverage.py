"""Reads coverage reports: the share of lines that ran, of all files together and of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from remit_server.tools.run.testing.reports.results import BadReport, ReportForm

_GO = re.compile(r"^(\S+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$", re.MULTILINE)


_OWN = "remit-aids"
"""The folder of our own files inside the sandbox, whose lines Node measures too."""


class _File(ReportForm):
    path: str
    ran: int
    all: int
    missed: list[int]


class _Told(ReportForm):
    files: list[_File]


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The number of lines (Go: statements) of one file that ran, of all that could run, and the line numbers that did
    not."""

    path: str
    ran: int
    all: int
    missed: tuple[int, ...] = ()


def told_lines(data: bytes, root: Path) -> tuple[FileCoverage, ...]:
    """Returns the coverage that our own code reports beside the runner's results. Raises BadReport."""
    try:
        told = _Told.model_validate_json(data)
    except ValidationError as error:
        raise BadReport("the coverage report cannot be read") from error
    files = (FileCoverage(f.path.removeprefix(f"{root}/"), f.ran, f.all, tuple(f.missed)) for f in told.files)
    return tuple(file for file in files if PurePosixPath(file.path).parent.name != _OWN)


def go_profile(data: bytes, root: Path) -> tuple[FileCoverage, ...]:
    """Returns the coverage in a `-coverprofile` file, which counts statements block by block."""
    del root
    blocks: dict[str, dict[tuple[int, int], tuple[int, bool]]] = {}
    for path, first, last, statements, count in _GO.findall(data.decode(errors="replace")):
        place = (int(first), int(last))
        ran = int(count) > 0 or blocks.get(path, {}).get(place, (0, False))[1]
        blocks.setdefault(path, {})[place] = (int(statements), ran)
    return tuple(
        FileCoverage(path, sum(n for n, ran in each.values() if ran), sum(n for n, _ in each.values()))
        for path, each in blocks.items()
    )


def percent(files: tuple[FileCoverage, ...]) -> float | None:
    """Returns the percentage of all lines together that ran, or None if there are no lines."""
    total = sum(each.all for each in files)
    return round(100 * sum(each.ran for each in files) / total, 1) if total else None
