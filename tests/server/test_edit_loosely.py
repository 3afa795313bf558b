"""TOOL-12: if a call says so, the old text may differ from the file in spaces within a line and in quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.errors import ToolError
from remit_server.tools.edit.edit_file import EditFileArguments, edit_content
from remit_server.tools.edit.occurrences import spelled_there
from remit_server.workspace.paths.workspace_path import WorkspacePath

CASES = {
    "spaces around an operator": ("f(x, level=5)\n", "level = 5", "level = 4", "f(x, level = 4)\n"),
    "spaces that the file has": ("RATE  =  2\n", "RATE = 2", "RATE = 3", "RATE = 3\n"),
    "the indentation is the file's": ("if a:\n    b = 1\n", "b=1", "b = 2", "if a:\n    b = 2\n"),
    "quotes of the other kind": ('A = "#;"\n', "A = '#;'", "A = '#'", 'A = "#"\n'),
    "every place": ("a=1\na = 1\n", "a  = 1", "a = 2", None),
    "words stay apart": ("returnx\n", "return x", "return y", None),
    "lines stay apart": ("a\nb\n", "a b", "c", None),
}


def edited(content: str, old: str, new: str) -> str:
    arguments = EditFileArguments(path="a.py", old_text=old, new_text=new, loosely=True)
    return edit_content(WorkspacePath("/w/a.py", "a.py"), content, arguments, str)[0]  # type: ignore[arg-type]


@rows("case", CASES)
def test_TOOL_12_only_spaces_and_quotes_may_differ(case: str) -> None:
    content, old, new, after = CASES[case]
    if after is None and case == "every place":
        assert edited(content, old, new) == "a = 2\na = 1\n", (
            "the first spelling that is found is the one that is meant"
        )
    elif after is None:
        with pytest.raises(ToolError):
            edited(content, old, new)
    else:
        assert edited(content, old, new) == after


def test_TOOL_12_a_text_that_begins_everywhere_is_looked_for_in_time_by_its_length() -> None:
    """An engine that starts again at each place would take minutes."""
    assert spelled_there("(" * 3_000_000, "(" * 399 + ")") is None


LINES = st.text(st.sampled_from("ab= '\"()\t."), min_size=1, max_size=30)


@given(LINES, LINES, LINES)
def test_TOOL_12_what_is_found_has_the_same_characters_but_spaces_and_quotes(
    before: str, wanted: str, behind: str
) -> None:
    def bare(text: str) -> str:
        return "".join(text.replace("'", '"').split())

    found = spelled_there(before + wanted + behind, wanted)
    if found is not None:
        assert bare(found) == bare(wanted)
    if wanted.strip():
        assert found is not None, "it is there as it is spelled"
