"""TOOL-10: lines are replaced by their numbers in the file as it was read; and which models get this tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_governance.values import Intent
from remit_server.agent.context.tool_budget import fit_tools
from remit_server.errors import ToolError
from remit_server.models.ports import ToolSpec
from remit_server.models.profile import LARGE, SMALL, SMALL_NATIVE, Profile
from remit_server.tools.edit.replace_lines import ReplaceLinesArguments, replace_lines
from remit_server.workspace.paths.workspace_path import WorkspacePath

PATH = WorkspacePath("a.py", Path())
LINES = st.lists(st.text("ab ", max_size=4), max_size=8)


def replaced(content: str, first: int, last: int, new: str) -> str:
    arguments = ReplaceLinesArguments(path="a.py", first_line=first, last_line=last, new_text=new)
    return replace_lines(PATH, content, arguments)


@rows(
    ("content", "first", "last", "new", "after"),
    [
        ("1\n2\n3\n", 2, 2, "two", "1\ntwo\n3\n"),
        ("1\n2\n3\n", 2, 2, "two\n", "1\ntwo\n3\n"),
        ("1\n2\n3\n", 2, 3, "a\nb\nc\n", "1\na\nb\nc\n"),
        ("1\n2\n3\n", 1, 3, "", ""),
        ("1\n2\n3\n", 2, 2, "", "1\n3\n"),
        ("1\n2\n3", 3, 3, "three", "1\n2\nthree"),
        ("1\n2\n3\n", 4, 3, "four", "1\n2\n3\nfour\n"),
        ("1\n2\n", 1, 0, "zero", "zero\n1\n2\n"),
        ("1\n\n3\n", 2, 2, "\n\n", "1\n\n\n3\n"),
        ("", 1, 0, "one", "one\n"),
    ],
)
def test_TOOL_10_the_lines_that_are_named_and_no_others(
    content: str, first: int, last: int, new: str, after: str
) -> None:
    assert replaced(content, first, last, new) == after


@given(LINES, LINES, st.integers(1, 10), st.integers(0, 10))
def test_TOOL_10_every_other_line_stays_where_it_was(held: list[str], new: list[str], first: int, last: int) -> None:
    content = "".join(f"{line}\n" for line in held)
    if not first - 1 <= last <= len(held) or first > len(held) + 1:
        return
    text = "".join(f"{line}\n" for line in new)
    if held[first - 1 : last] == new:
        with pytest.raises(ToolError, match="already has exactly"):
            replaced(content, first, last, text)
    else:
        made = replaced(content, first, last, text).split("\n")[:-1]
        assert made == [*held[: first - 1], *new, *held[last:]]


@pytest.mark.parametrize(("first", "last"), [(3, 4), (5, 4), (9, 9)])
def test_TOOL_10_lines_that_are_not_there_are_refused(first: int, last: int) -> None:
    with pytest.raises(ToolError, match="it has 3 lines"):
        replaced("1\n2\n3\n", first, last, "x")


READ = {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}
EDIT = {"calls": [intent("CODE"), call("replace_lines", path="a.py", first_line=1, last_line=1, new_text="total = 1")]}


async def test_TOOL_10_a_file_as_it_was_read_is_edited(make_bench: Any) -> None:
    bench = await make_bench(READ, EDIT, {"text": "Done."})
    assert (await bench.ask("go")).status == "completed"
    assert (bench.workspace / "a.py").read_text().startswith("total = 1\n")


@pytest.mark.parametrize("before", [[], [READ, EDIT]], ids=["unread", "edited since"])
async def test_THR_edit_a_number_that_may_mean_another_line_is_refused(make_bench: Any, before: list[Any]) -> None:
    """THR-edit-stale-lines."""
    again = {"calls": [intent("CODE"), call("replace_lines", path="a.py", first_line=2, last_line=2, new_text="x")]}
    bench = await make_bench(*before, again, {"text": "Done."})
    await bench.ask("go")
    error = bench.of("tool_result")[-1].error
    assert error.code == "stale"
    assert SAYS.read_it_with_read_file in error.fix
    assert "x" not in (bench.workspace / "a.py").read_text().split("\n")


async def test_THR_edit_a_change_from_outside_makes_numbers_stale(make_bench: Any) -> None:
    bench = await make_bench(READ, {"text": "Read."}, EDIT, {"text": "Done."})
    await bench.ask("read it")
    (bench.workspace / "a.py").write_text("import os\ntotal = 0\n")
    await bench.ask("edit it")
    assert bench.of("tool_result")[-1].error.code == "stale"
    assert (bench.workspace / "a.py").read_text() == "import os\ntotal = 0\n"


@rows("profile, way", [(LARGE, {"edit_file", "apply_diff"}), (SMALL, {"edit_file"}), (SMALL_NATIVE, {"replace_lines"})])
def test_TOOL_10_a_model_is_offered_one_way_to_edit(profile: Profile, way: set[str]) -> None:
    names = ("write_file", "edit_file", "replace_lines", "apply_diff")
    offered = fit_tools({Intent.CODE: tuple(ToolSpec(name, "", {}) for name in names)}, None, profile)
    assert {tool.name for tool in offered[Intent.CODE]} == {"write_file", *way}
