"""`edit_file` with `line` changes only the occurrence that starts there, and is as strict as without it (TOOL-04)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.errors import ToolError
from remit_server.tools.edit.edit_file import EditFileArguments, edit_content
from remit_server.workspace.paths.workspace_path import WorkspacePath

PATH = WorkspacePath("a.py", Path())
TEXT = "x = 1\n\nx = 1\n  x = 1\n\nend"


def edit(old: str, new: str, text: str = TEXT, **more: int | bool) -> str:
    return edit_content(PATH, text, EditFileArguments(path="a.py", old_text=old, new_text=new, **more), str)[0]  # type: ignore[arg-type]


@rows(
    ("old", "new", "line", "after"),
    [
        ("x = 1", "y", 3, "x = 1\n\ny\n  x = 1\n\nend"),
        ("x = 1", "y", 4, "x = 1\n\nx = 1\n  y\n\nend"),
        ("x = 1\n", "", 1, "\nx = 1\n  x = 1\n\nend"),
        ("\n", "\nnew\n", 2, "x = 1\n\nnew\nx = 1\n  x = 1\n\nend"),
        ("end", "END", 6, "x = 1\n\nx = 1\n  x = 1\n\nEND"),
        ("1\n  x", "2\n  z", 3, "x = 1\n\nx = 2\n  z = 1\n\nend"),
    ],
)
def test_only_the_occurrence_on_that_line_is_replaced(old: str, new: str, line: int, after: str) -> None:
    assert edit(old, new, line=line) == after


@pytest.mark.parametrize(("old", "line"), [("x = 1", 2), ("x = 1", 7), ("end", 1), ("nowhere", 1)])
def test_text_that_does_not_start_on_that_line_is_refused(old: str, line: int) -> None:
    with pytest.raises(ToolError) as refused:
        edit(old, "y", line=line)
    assert refused.value.code == "no_match"


def test_the_refusal_says_where_the_text_is() -> None:
    with pytest.raises(ToolError, match="line 2") as refused:
        edit("x = 1", "y", line=2)
    assert "1, 3, 4" in refused.value.why


def test_twice_on_one_line_is_still_not_unique() -> None:
    with pytest.raises(ToolError) as refused:
        edit("x", "y", "a\nx x\n", line=2)
    assert refused.value.code == "not_unique"
    assert edit("x", "y", "x\nx x\n", line=2, replace_all=True) == "x\ny y\n"


@given(st.lists(st.sampled_from(["a", "b", "", "a a", "ab"]), min_size=1, max_size=8), st.data())
def test_any_whole_line_can_be_replaced_by_its_number(lines: list[str], data: st.DataObject) -> None:
    number = data.draw(st.integers(1, len(lines)))
    text = "".join(f"{line}\n" for line in lines)
    after = [*lines[: number - 1], "new", *lines[number:]]
    old = f"{lines[number - 1]}\n"
    assert edit(old, "new\n", text, line=number) == "".join(f"{line}\n" for line in after)


SAME = "x = 1\nx = 1\nx = 1\n"


def test_occurrences_that_overlap_are_not_unique() -> None:
    with pytest.raises(ToolError) as refused:
        edit("x = 1\nx = 1", "y", SAME)
    assert (refused.value.code, refused.value.why) == ("not_unique", "old_text occurs 2 times, on lines 1, 2")
    with pytest.raises(ToolError, match="not unique|occurs") as refused:
        edit("a b a", "c", "a b a b a", whole_word=True)
    assert refused.value.code == "not_unique"


def test_a_line_names_one_of_several_that_overlap() -> None:
    assert edit("x = 1\nx = 1", "y", SAME, line=2) == "x = 1\ny\n"
    assert edit("x = 1\nx = 1", "y", SAME, replace_all=True) == "y\nx = 1\n"


def test_a_text_that_occurs_very_often_is_refused_at_once() -> None:
    with pytest.raises(ToolError) as refused:
        edit("a" * 500_000, "b", "a" * 1_000_000)
    assert "more than 10 times, on lines 1, 1," in refused.value.why


@given(st.text("ab\n", max_size=12), st.text("ab\n", min_size=1, max_size=3), st.booleans())
def test_an_edit_without_more_is_done_only_where_the_text_stands_once(text: str, old: str, whole_word: bool) -> None:
    places = [at for at in range(len(text)) if text.startswith(old, at)]
    word = "ab"
    if whole_word:
        places = [at for at in places if text[at - 1 : at] not in word or at == 0]
        places = [
            at for at in places if text[at + len(old) : at + len(old) + 1] not in word or at + len(old) == len(text)
        ]
    if len(places) == 1:
        assert edit(old, "Z", text, whole_word=whole_word) == text[: places[0]] + "Z" + text[places[0] + len(old) :]
        return
    with pytest.raises(ToolError) as refused:
        edit(old, "Z", text, whole_word=whole_word)
    assert refused.value.code == ("not_unique" if places else "no_match")
