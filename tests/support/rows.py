"""Runs a table of rows as one test: a row costs only a call, and each row that fails is reported by itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def rows(
    names: str | Sequence[str], table: Iterable[Any], ids: Callable[[Any], object] | Sequence[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test for each row of a table, as `pytest.mark.parametrize` would, within one test.

    For tests that take nothing but their row, because a fixture would be made only once for all rows. `names`, `table`
    and `ids` are as for `parametrize`. All rows are run, even if some fail; their number is the property `rows` of the
    report.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [row.values if isinstance(row, _Param) else (row,) if len(arguments) == 1 else tuple(row) for row in table]
    assert all(len(row) == len(arguments) for row in given), f"each row has {len(arguments)} values"

    def fold(test: Callable[..., None]) -> Callable[..., None]:
        assert list(inspect.signature(test).parameters) == arguments, "a test of rows takes nothing but its row"

        @functools.wraps(test)
        def folded(subtests: pytest.Subtests, record_property: Callable[[str, object], None]) -> None:
            record_property("rows", len(given))
            for number, row in enumerate(given):
                try:
                    test(*row)
                except Exception:
                    # Report only rows that fail, because reporting a row takes longer than running it.
                    with subtests.test(msg=_name_row(number, row, ids)):
                        raise

        del folded.__wrapped__  # pytest would look through it for the parameters
        return folded

    return fold


_Param = type(pytest.param())


def _name_row(number: int, row: Sequence[Any], ids: Callable[[Any], object] | Sequence[str] | None) -> str:
    if ids is None:
        return "-".join(map(repr, row))[:200]
    return "-".join(str(ids(value)) for value in row) if callable(ids) else str(ids[number])
