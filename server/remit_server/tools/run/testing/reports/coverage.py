"""Coverage reports, as the share of lines that ran, of all files and of each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit_server.tools.run.testing.reports.results import BadReport

_GO = re.compile(r"^(\S+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """Lines (Go: statements) of one file that ran, of those that could, and line numbers that did not."""

    path: str
    ran: int
    all: int
    missed: tuple[int, ...] = ()


def coverage_py(data: bytes, root: Path) -> tuple[FileCoverage, ...]:
    """`coverage json`. Raises BadReport."""
    del root
    return tuple(
        FileCoverage(
            path, each["summary"]["covered_lines"], each["summary"]["num_statements"], tuple(each["missing_lines"])
        )
        for path, each in _files(data, "files").items()
    )


def istanbul(data: bytes, root: Path) -> tuple[FileCoverage, ...]:
    """`json-summary` of Jest and Vitest. Raises BadReport."""
    return tuple(
        FileCoverage(path.removeprefix(f"{root}/"), each["lines"]["covered"], each["lines"]["total"])
        for path, each in _files(data).items()
        if path != "total"
    )


def lcov(data: bytes, root: Path) -> tuple[FileCoverage, ...]:
    """`lcov`, as Node writes it."""
    found: list[FileCoverage] = []
    for record in data.decode(errors="replace").split("end_of_record"):
        name = re.search(r"^SF:(.+)$", record, re.MULTILINE)
        if name is None:
            continue
        lines = {int(line): int(count) for line, count in re.findall(r"^DA:(\d+),(\d+)", record, re.MULTILINE)}
        missed = tuple(line for line, count in lines.items() if not count)
        path = name[1].removeprefix(f"{root}/")
        found.append(FileCoverage(path, len(lines) - len(missed), len(lines), missed))
    return tuple(found)


def go_profile(data: bytes, root: Path) -> tuple[FileCoverage, ...]:
    """`-coverprofile`: it counts statements, block by block."""
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
    """Of all lines together; None where there are none."""
    total = sum(each.all for each in files)
    return round(100 * sum(each.ran for each in files) / total, 1) if total else None


def _files(data: bytes, key: str | None = None) -> Mapping[str, Any]:
    try:
        loaded: Any = json.loads(data)
        files: Any = loaded[key] if key else loaded
        # Asked for once here, so that what reads it need not.
        for each in files.values():
            _ = each["summary"]["covered_lines"] if key else each["lines"]["covered"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadReport("the coverage report cannot be read") from error
    found: Mapping[str, Any] = files
    return found
