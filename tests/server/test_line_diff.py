"""The lines that two texts share: right for all texts, close to the fewest edits, and found fast (APP-03)."""

from __future__ import annotations

import difflib
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from work_done import calls_made_by

from remit_server.workspace.line_diff import MAX_COMPARED, common_runs, line_edits

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", ""]), max_size=40)


@given(LINES, LINES)
@settings(max_examples=examples(500), deadline=None)
def test_edits_make_the_new_lines_of_the_old_ones(old: list[str], new: list[str]) -> None:
    made, at = [], 0
    for edit in line_edits(old, new):
        assert (edit.old, edit.new) >= (at, len(made))
        made += [*old[at : edit.old]]
        assert len(made) == edit.new
        made += new[edit.new : edit.new_end]
        at = edit.old_end
    assert [*made, *old[at:]] == new


@given(LINES, LINES)
@settings(max_examples=examples(500), deadline=None)
def test_runs_are_as_long_as_they_can_be(old: list[str], new: list[str]) -> None:
    """No edit begins or ends with a line that both sides share there, and no two runs touch."""
    runs = common_runs(old, new)
    for run in runs:
        assert run.size > 0
        assert old[run.old : run.old + run.size] == new[run.new : run.new + run.size]
    for edit in line_edits(old, new):
        if edit.old < edit.old_end and edit.new < edit.new_end:
            assert old[edit.old] != new[edit.new]


def _edited(lines: int, edits: int, seed: int) -> tuple[list[str], list[str]]:
    """Returns lines of which a third repeat, as in code, and the same with some replaced, removed and added."""
    choose = random.Random(seed)
    old = [
        choose.choice(["", "    }", "    return x", f"line {n} = {choose.random()}"][-(n % 3 != 0) :])
        for n in range(lines)
    ]
    new = list(old)
    for at in sorted(choose.sample(range(lines), edits), reverse=True):
        new[at : at + choose.choice((0, 1, 1, 2))] = [f"new {at}"] * choose.choice((0, 1, 1, 3))
    return old, new


@pytest.mark.parametrize(("lines", "edits"), [(200, 20), (2_000, 100), (5_000, 1)])
def test_as_few_lines_change_as_gnu_diff_says(lines: int, edits: int, tmp_path: Path) -> None:
    if shutil.which("diff") is None:
        pytest.skip("there is no diff")
    old, new = _edited(lines, edits, lines)
    for name, text in (("old", old), ("new", new)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text))
    theirs = subprocess.run(
        ["diff", "-u", "old", "new"], check=False, cwd=tmp_path, capture_output=True, text=True
    ).stdout
    changed = sum(line[0] in "+-" for line in theirs.splitlines()[2:])
    ours = sum(edit.old_end - edit.old + edit.new_end - edit.new for edit in line_edits(old, new))
    assert ours <= changed * 1.1 + 2


@pytest.mark.parametrize("lines", [("abc", "caa"), ("ab", "ba"), ("aab", "b")])
def test_APP_03_lines_that_repeat_themselves_take_work_by_their_number(lines: tuple[str, str]) -> None:
    """Comparing each line with each other used to take minutes for a file of three different lines."""
    old, new = (list(each * (MAX_COMPARED // 2 // len(each))) for each in lines)
    assert calls_made_by(lambda: line_edits(old, new), in_c=True) < 40 * MAX_COMPARED


def test_APP_03_lines_of_which_each_look_finds_one_take_work_by_their_number() -> None:
    """In `y b a b` only `a` is unique; to the left of it `b` is, and so on."""
    nested = [line for number in range(2_000) for line in (f"{number + 1}", f"{number}")]
    old, new = ["o", "o", *nested, "o", "o"], ["n", "n", *nested, "n", "n"]
    assert calls_made_by(lambda: line_edits(old, new), in_c=True) < 400 * len(nested)
    made, at = [], 0
    for edit in line_edits(old, new):
        made += [*old[at : edit.old], *new[edit.new : edit.new_end]]
        at = edit.old_end
    assert [*made, *old[at:]] == new


def test_lines_that_are_nowhere_unique_are_compared_with_each_other() -> None:
    old, new = ["a", "b"] * 20, ["b", "a"] * 19
    found = sum(run.size for run in common_runs(old, new))
    assert found == sum(
        block.size for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    )


def test_too_many_such_lines_have_nothing_in_common() -> None:
    """If a comparison would take too long, everything is one edit, which is never a wrong one."""
    old, new = ["x", "y"] * MAX_COMPARED, ["y", "x", "x"] * MAX_COMPARED
    (edit,) = line_edits(old, new)
    assert edit.old_end - edit.old > MAX_COMPARED
