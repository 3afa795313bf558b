"""Tables of rows as one test each: a row costs a call and no more, and each that fails is told by itself."""

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

    For tests that take nothing but their row: what a fixture gives is there once for all of them. `names`, `table` and
    `ids` are as there. All rows are run, whichever of them fail; their number is the property `rows` of the report.
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
                    # Told here alone: to tell of each that passes takes longer than it.
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
