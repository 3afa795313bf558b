"""The diff that a person reviews equals difflib's, but is found faster (APP-03)."""

from __future__ import annotations

import difflib
from pathlib import Path

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.harness.approval.review import ONLY_FORM, unified
from remit_server.tools.edit.patch.apply import Placed, apply_hunks, place
from remit_server.tools.edit.patch.parse import parse_diff
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import image_of
from remit_server.workspace.line_diff import MAX_COMPARED
from remit_server.workspace.paths.workspace_path import WorkspacePath

TEXTS = st.lists(st.sampled_from(["a", "b", "", "ab", "ba"]), max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "".join(f"{line}\n" for line in lines)])
)


def shown(before: str, after: str) -> str:
    path = WorkspacePath("x", Path())
    return unified(FileChange(path, image_of(before.encode()), after.encode()))


@given(before=TEXTS, after=TEXTS)
@settings(max_examples=examples(500), deadline=None)
def test_a_diff_applied_to_the_old_text_is_the_new_text(before: str, after: str) -> None:
    if before == after:
        assert shown(before, after) == ONLY_FORM
        return
    (patch,) = parse_diff(shown(before, after))
    placed = place(before, patch.hunks)
    assert all(isinstance(each, Placed) and each.drift == 0 for each in placed)
    assert apply_hunks(before, [each for each in placed if isinstance(each, Placed)]) == after


@given(text=st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=40), at=st.integers(0, 39), more=TEXTS)
@settings(max_examples=examples(300), deadline=None)
def test_one_change_is_shown_as_difflib_does(text: list[str], at: int, more: str) -> None:
    old = [f"{n} {line}\n" for n, line in enumerate(text)]
    new = [*old[:at], "changed\n", *old[at + 1 :]]
    assert shown("".join(old), "".join(new)) == "".join(difflib.unified_diff(old, new, "a/x", "b/x"))


def test_more_than_can_be_compared_is_one_hunk() -> None:
    old = "".join(f"{n}\n" * 2 for n in range(MAX_COMPARED))
    new = "0\n0\n1\n1\n" + "".join(f"new {n}\n" for n in range(10)) + f"{MAX_COMPARED - 1}\n" * 2
    lines = shown(old, new).splitlines()
    assert lines[2] == f"@@ -2,{2 * MAX_COMPARED - 1} +2,15 @@"
    assert (lines[3], lines[-1]) == (" 0", f" {MAX_COMPARED - 1}")


def test_THR_approvals_many_edits_of_a_long_file_are_all_shown() -> None:
    """Each edit is shown in its place, and not as one removal and addition of the whole file."""
    old = [f"line {n}" for n in range(20_000)]
    new = [f"edited {n}" if n % 100 == 50 else line for n, line in enumerate(old)]
    lines = shown("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)).splitlines()
    assert [line for line in lines if line.startswith("@@")] == [
        f"@@ -{n - 3},7 +{n - 3},7 @@" for n in range(51, 20_000, 100)
    ]
