"""The rows that come with Remit (`policy/programs/*.yaml`): each is read when its program is first asked for (CMD-08).

Reading all of them takes some 40 ms, finding where each stands two. A row begins at the start of a line with its names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple, cast

import yaml
from pydantic import ValidationError

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.shell.catalogue.program_form import ProgramForm
from remit_governance.policy.shell.catalogue.rows import Program

_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Reads every scalar as text: `true` and `yes` are programs. PyYAML's wheels bring libyaml."""

_ROW = re.compile(r"^- programs: \[(.*?)\]$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"\"([^\"]+)\"|([^\s,\"]+(?: [^\s,\"]+)*)")


class RowText(NamedTuple):
    """One row as it is written: in which file, from which line (from 1) on, of which programs."""

    file: str
    line: int
    names: tuple[str, ...]
    text: str


def row_texts() -> Iterator[RowText]:
    """Every row, by file and place."""
    folder = files("remit_governance.policy") / "programs"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".yaml"):
            yield from _rows_of(path.name, path.read_text(encoding="utf-8"))


def _rows_of(file: str, text: str) -> Iterator[RowText]:
    found = list(_ROW.finditer(text))
    for row, end in zip(found, [*(each.start() for each in found[1:]), len(text)], strict=True):
        names = tuple(quoted or plain for quoted, plain in _NAME.findall(row[1]))
        yield RowText(file, text.count("\n", 0, row.start()) + 1, names, text[row.start() : end])


@lru_cache(maxsize=1)
def _index() -> Mapping[str, RowText]:
    return {name: row for row in row_texts() for name in row.names}


def packaged_names() -> tuple[str, ...]:
    """The programs that have a row, in the order of their names."""
    return tuple(sorted(_index()))


@lru_cache(maxsize=4096)
def packaged(name: str) -> Program | None:
    """What Remit knows of a program; None where it has no row."""
    row = _index().get(name)
    return None if row is None else read_row(row)


@cache
def read_row(row: RowText) -> Program:
    """The row as a value. Raises PolicyError, with the file, the program and what is wrong."""
    try:
        form = ProgramForm.model_validate(cast("list[object]", yaml.load(row.text, _Loader))[0])  # noqa: S506 text alone
    except yaml.YAMLError as error:
        raise _faulty(row, " ".join(str(error).split()), "correct the YAML") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why, _, fix = first["msg"].removeprefix("Value error, ").partition(": ")
        place = ".".join(map(str, first["loc"]))
        raise _faulty(row, f"`{place}`: {why}", fix or "correct the value") from None
    return form.program(row.file.removesuffix(".yaml"))


def _faulty(row: RowText, why: str, fix: str) -> PolicyError:
    return PolicyError((Problem(row.file, row.line, 1, f"the row of `{row.names[0]}` cannot be used: {why}", fix),))
