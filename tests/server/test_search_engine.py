"""A search uses the syntax of RE2, matches each line by itself, and no pattern takes for ever (TOOL-06)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st
from rows import rows

from remit_server.errors import ToolError
from remit_server.tools.search.file_search import Query
from remit_server.tools.search.line_matches import find_match, matching_lines, parse_pattern
from remit_server.tools.search.search_files import search
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments
from remit_server.workspace.trees.walk import Limits

PATTERNS = [
    "",
    "a*",
    "^$",
    "$",
    "é",
    "(?i)k",
    "b|^",
    r"\s",
    "[^a]",
    "a.b",
    r"\w+$",
    r"^\S",
    "(?s)a.b",
    r"a\nb",
]


def ten_seconds() -> float:
    return 10.0


def obvious(text: str, pattern: str) -> list[int]:
    """Returns the numbers of the matching lines, by matching line by line."""
    options = cast("Any", re2).Options()
    options.never_nl = True
    compiled = cast("Any", re2).compile(pattern.encode(), options)
    return [number for number, line in enumerate(Text(text).lines, 1) if compiled.search(line.encode())]


@given(pattern=st.sampled_from(PATTERNS), text=st.text(st.sampled_from("abkKé漢 _\t\n"), max_size=40))
@example(pattern="^$", text="a\n\n")
@example(pattern="$", text="\n")
def test_TOOL_06_the_lines_that_match_are_those_that_match_by_themselves(pattern: str, text: str) -> None:
    assert matching_lines(text.encode(), parse_pattern(pattern), ten_seconds) == obvious(text, pattern)


INVOLVED = parse_pattern(r"needle\w{0,1000}")
"""A pattern that is searched 64 KiB at a time."""


def test_TOOL_06_an_involved_pattern_is_searched_part_by_part() -> None:
    lines = ["some words of a line" + " and more" * (number % 50) for number in range(2_000)]
    for at in (0, 411, 1_999):
        lines[at] = "find it here: needleabc"
    text = "\n".join(lines)
    assert INVOLVED.window < len(text)
    assert matching_lines(text.encode(), INVOLVED, ten_seconds) == [1, 412, 2_000]


def test_TOOL_06_a_match_is_found_across_the_parts_of_a_long_line() -> None:
    for at in range(INVOLVED.window - 8, INVOLVED.window + 2):
        line = "é" * (at // 2) + " " * (at % 2) + "needleabc" + "z" * 1_000
        assert find_match(line, INVOLVED, ten_seconds) == line.index("needle")


@rows(
    ("pattern", "why"),
    [
        ("a(?=b)", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "look-around and references"),
        ("a(", "missing"),
        ("a**", "bad repetition"),
        (r"\Aa", "each line is searched by itself"),
        ("(?-m)b$", "each line is searched by itself"),
        ("a(?i-sm:b$)", "each line is searched by itself"),
        (r"\pL{100}", "too complex"),
        ("(?x) a", "not a valid regular expression"),
    ],
)
def test_TOOL_06_what_cannot_be_searched_for_is_refused_with_the_reason(pattern: str, why: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_pattern(pattern)
    assert why in refused.value.why
    assert refused.value.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(.*)*b", "(a?){500}a{500}b", "a[ab]{900}c", "(?:[ab]*a){20}c"]
)
def test_THR_expressions_no_pattern_takes_for_ever(pattern: str) -> None:
    text = ("a" * 5_000 + "\n") * 20
    assert matching_lines(text.encode(), parse_pattern(pattern), ten_seconds) == []


def test_TOOL_06_the_time_that_is_left_is_asked_for_between_the_parts() -> None:
    left = iter([1.0, 1.0, 0.0])
    with pytest.raises(TimeoutError):
        matching_lines(b"some line\n" * 50_000, INVOLVED, lambda: next(left))


def searched(root: Path, pattern: str, *, denied: str = "", hidden: str = "") -> Outcome:
    with Workspace(root) as workspace:
        ctx = ToolContext(
            workspace,
            NoDocuments(),
            {},
            lambda _, path: path != denied,
            lambda text: text.replace(hidden, "[redacted]") if hidden else text,
        )
        return search(ctx, Query(parse_pattern(pattern), ctx.resolve("."), context=0), Limits())


def test_SEC_03_a_search_for_a_part_of_a_secret_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("foo = hush\n")
    assert searched(tmp_path, "hu").data["total_matches"] == 1
    assert searched(tmp_path, "hu", hidden="hush").data["total_matches"] == 0
    assert "foo = [redacted]" in searched(tmp_path, "foo", hidden="hush").text
    assert searched(tmp_path, "foo", denied="a.py").data["total_matches"] == 0
