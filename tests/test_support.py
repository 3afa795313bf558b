"""Tests of the tests' own helpers: a failing row hides no other row, and the time of a run is kept per file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from durations import note_durations
from rows import rows


class Subtests:
    """Replaces pytest's subtests: remembers what failed in each, and goes on."""

    def __init__(self) -> None:
        self.failed: dict[str | None, BaseException] = {}

    @contextmanager
    def test(self, msg: str | None = None, **_: object) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # as pytest does
            self.failed[msg] = error


def folded(test: Any) -> tuple[Subtests, dict[str, object]]:
    subtests, properties = Subtests(), dict[str, object]()
    test(subtests=subtests, record_property=properties.__setitem__)
    return subtests, properties


def test_each_row_is_run_and_each_that_fails_is_told() -> None:
    seen: list[tuple[int, int]] = []

    @rows("left, right", [(1, 1), (1, 2), pytest.param(3, 3), (4, 5)])
    def equal(left: int, right: int) -> None:
        seen.append((left, right))
        assert left == right

    subtests, properties = folded(equal)
    assert seen == [(1, 1), (1, 2), (3, 3), (4, 5)]
    assert list(subtests.failed) == ["1-2", "4-5"]
    assert properties == {"rows": 4}


def test_a_row_that_is_no_row_is_an_error_at_once() -> None:
    with pytest.raises(AssertionError):
        rows(("left", "right"), [(1,)])
    with pytest.raises(AssertionError):
        rows("left", [1])(lambda left, tmp_path: None)


def test_what_a_run_took_is_kept_by_file_and_a_part_of_one_says_no_less(tmp_path: Path) -> None:
    kept = tmp_path / "durations.json"
    note_durations([("a.py::x", 2.0), ("a.py::y", 3.0), ("b.py::z", 1.0)], kept)
    note_durations([("a.py::x", 2.5)], kept)
    assert json.loads(kept.read_text()) == {"a.py": 5.0, "b.py": 1.0}
