"""Unified diffs are read leniently and applied strictly (`apply_diff`; TOOL-05)."""

from __future__ import annotations

import contextlib
import difflib
import random
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_server.errors import ToolError
from remit_server.tools.edit.patch.apply import MOST_TOLD, Placed, Unplaced, apply_hunks, place
from remit_server.tools.edit.patch.envelope import NO_NEWLINE, Hunk
from remit_server.tools.edit.patch.parse import parse_diff

SOURCES = [path for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")) if path.stat().st_size < 60_000]
EDITS = 500


def diff_of(before: str, after: str, context: int = 3, path: str = "x.py") -> str:
    """Returns what `diff -u` would write."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=context)
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}\n" for line in lines)


def patched(content: str, diff: str) -> str:
    (patch,) = parse_diff(diff)
    placed = place(content, patch.hunks)
    assert all(isinstance(each, Placed) for each in placed), placed
    return apply_hunks(content, [each for each in placed if isinstance(each, Placed)])


def edited(lines: Sequence[str], random_: random.Random) -> list[str]:
    """Returns the lines with some removed, changed and inserted, in up to six places."""
    result = list(lines)
    for _ in range(random_.randint(1, 6)):
        at = random_.randrange(len(result) + 1)
        result[at : at + random_.randint(0, 4)] = [f"line {random_.random()}\n" for _ in range(random_.randint(0, 4))]
    return result


TEXTS = st.lists(st.sampled_from(["a", "b", "", "- x", "-- x", "++ y", "@@ -1 +1 @@", "\\ n"]), max_size=20).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n"])
)


@given(before=TEXTS, after=TEXTS, context=st.integers(0, 4))
@settings(max_examples=examples(400), deadline=None)
def test_what_diff_writes_is_applied_byte_for_byte(before: str, after: str, context: int) -> None:
    if before != after:
        assert patched(before, diff_of(before, after, context)) == after


@pytest.mark.slow
def test_500_multi_hunk_edits_of_real_files_come_out_byte_for_byte() -> None:
    random_ = random.Random(4)
    for _ in range(EDITS):
        before = random_.choice(SOURCES).read_text(errors="replace")
        after = "".join(edited(before.splitlines(keepends=True), random_))
        if before != after:
            assert patched(before, diff_of(before, after)) == after


LINES = [f"line {n}" for n in range(40)]
TEXT = "\n".join(LINES) + "\n"


def hunk(header: str, *lines: str) -> str:
    return "\n".join(["--- a/x.py", "+++ b/x.py", header, *lines, ""])


@rows(
    "header",
    ["@@ -11,3 +11,3 @@", "@@ -11 +11 @@ def f():", "@@ -11,9 +11,1 @@", "@@ -30,3 +30,3 @@", "@@ ... @@", "@@"],
)
def test_wrong_counts_and_drifted_or_missing_line_numbers_do_not_matter(header: str) -> None:
    diff = hunk(header, " line 10", "-line 11", "+new", " line 12")
    assert patched(TEXT, diff) == TEXT.replace("line 11\n", "new\n")


def test_prose_around_the_diff_and_a_stripped_blank_line_do_not_matter() -> None:
    diff = "Here it is:\n```diff\n" + hunk("@@ -1,3 +1,3 @@", " a", "", "-b", "+c") + "```\nDone.\n"
    assert patched("a\n\nb\n", diff) == "a\n\nc\n"


@pytest.mark.parametrize("header", ["@@ -11,3 +11,3 @@", "@@ -11,9 +11,9 @@", "@@"])
def test_the_next_file_is_found_whatever_the_counts_say(header: str) -> None:
    one = hunk(header, " line 10", "-line 11", "+new", " line 12")
    first, second = parse_diff(one + "\n" + one.replace("x.py", "y.py"))
    assert (first.path, second.path, first.hunks) == ("x.py", "y.py", second.hunks)


def test_context_is_strict() -> None:
    (patch,) = parse_diff(hunk("@@ -1,2 +1,2 @@", " line  0", "-line 1", "+x"))
    assert [type(each) for each in place(TEXT, patch.hunks)] == [Unplaced]


def test_several_places_and_no_right_number_is_refused() -> None:
    (patch,) = parse_diff(hunk("@@ -9,1 +9,1 @@", "-b", "+c"))
    assert place("a\nb\na\nb\n", patch.hunks) == (Unplaced(patch.hunks[0], "ambiguous", (2, 4)),)


def test_TOOL_05_a_hunk_that_could_stand_anywhere_is_placed_within_bounds_or_refused() -> None:
    ambiguous, repetitive = Hunk(None, ("a",) * 5_000, ("b",)), Hunk(None, ("a", "b") * 2_000 + ("b", "a") * 500, ())
    (found,) = place("a\n" * 100_000, [ambiguous])
    assert isinstance(found, Unplaced)
    assert (found.trouble, found.lines) == ("ambiguous", tuple(range(1, MOST_TOLD + 1)))
    (found,) = place("a\nb\n" * 50_000, [repetitive])
    assert isinstance(found, Unplaced)
    assert found.trouble == "repetitive"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=8))
def test_TOOL_05_of_hunks_that_overlap_the_later_one_is_refused(spans: Sequence[tuple[int, int]]) -> None:
    lines = [f"{number}" for number in range(20)]
    hunks = [Hunk(start + 1, tuple(lines[start : start + size]), ("new",)) for start, size in spans]
    taken: list[Placed] = []
    for each in place("\n".join(lines) + "\n", hunks):
        if isinstance(each, Placed):
            assert not any(overlap(each, other) for other in taken)
            taken.append(each)
        elif each.trouble == "overlaps":
            assert any(overlap(Placed(each.hunk, each.lines[0] - 1, 0), other) for other in taken)


def overlap(one: Placed, other: Placed) -> bool:
    """Returns whether the two changes overlap, or would both insert at the same place."""
    if (one.start, one.end) == (other.start, other.end):
        return True
    return one.start < other.end and other.start < one.end


def test_two_hunks_over_the_same_lines_are_refused() -> None:
    diff = hunk("@@ -2,1 +2,1 @@", "-line 1", "+x", "@@ -2,2 +2,1 @@", "-line 1", " line 2")
    (patch,) = parse_diff(diff)
    assert [getattr(each, "trouble", None) for each in place(TEXT, patch.hunks)] == [None, "overlaps"]


def test_the_final_line_end_is_kept_unless_the_diff_says_otherwise() -> None:
    assert patched("a\nb", hunk("@@ -2 +2 @@", "-b", "+c")) == "a\nc"
    assert patched("a\nb", hunk("@@ -2 +2 @@", "-b", NO_NEWLINE, "+b")) == "a\nb\n"
    assert patched("a\nb\n", hunk("@@ -2 +2 @@", "-b", "+b", NO_NEWLINE)) == "a\nb"


def test_git_headers() -> None:
    diff = (
        "diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n"
        "diff --git a/made.py b/made.py\nnew file mode 100644\n--- /dev/null\n+++ b/made.py\n@@ -0,0 +1 @@\n+x\n"
        'diff --git "a/g\\303\\274.py" "b/g\\303\\274.py"\ndeleted file mode 100644\n'
        '--- "a/g\\303\\274.py"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n'
    )
    assert [(p.old, p.new, len(p.hunks)) for p in parse_diff(diff)] == [
        ("old.py", "new.py", 0),
        (None, "made.py", 1),
        ("gü.py", None, 1),
    ]


BAD = {
    "nothing": ("hello", "no `--- a/path`"),
    "no header": ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk without"),
    "no hunk": ("--- a/x\n+++ b/x\n", "no hunk"),
    "no change": (hunk("@@ -1 +1 @@", " a"), "changes nothing"),
    "twice": (hunk("@@ -1 +1 @@", "-a", "+b") * 2, "comes up twice"),
    "nowhere": ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both sides"),
    "broken line": (hunk("@@ -1,3 +1,3 @@", " a", "x"), "starts with a blank"),
}


@rows("name", BAD)
def test_a_diff_that_cannot_be_used_names_its_line(name: str) -> None:
    diff, why = BAD[name]
    with pytest.raises(ToolError) as error:
        parse_diff(diff)
    assert why in error.value.why


@given(text=st.text(st.sampled_from("-+ @a\n\\/,1"), max_size=200))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ToolError):
        parse_diff("--- a/x\n+++ b/x\n" + text)
