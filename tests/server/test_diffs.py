"""The diff that a person reviews is difflib's, found faster (governance.md §4)."""

from __future__ import annotations

import difflib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.harness.approval import diffs
from remit_server.harness.approval.diffs import ONLY_FORM, unified
from remit_server.tools.patch.apply import Placed, applied, place
from remit_server.tools.patch.parse import parse_diff
from remit_server.tools.spec import FileChange
from remit_server.workspace.files import image_of
from remit_server.workspace.paths import WorkspacePath

TEXTS = st.lists(st.sampled_from(["a", "b", "", "ab", "ba"]), max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "".join(f"{line}\n" for line in lines)])
)


def shown(before: str, after: str) -> str:
    path = WorkspacePath("x", Path())
    return unified(FileChange(path, image_of(before.encode()), after.encode()))


@given(before=TEXTS, after=TEXTS)
@settings(max_examples=500, deadline=None)
def test_a_diff_applied_to_the_old_text_is_the_new_text(before: str, after: str) -> None:
    if before == after:
        assert shown(before, after) == ONLY_FORM
        return
    (patch,) = parse_diff(shown(before, after))
    placed = place(before, patch.hunks)
    assert all(isinstance(each, Placed) and each.drift == 0 for each in placed)
    assert applied(before, [each for each in placed if isinstance(each, Placed)]) == after


@given(text=st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=40), at=st.integers(0, 39), more=TEXTS)
@settings(max_examples=300, deadline=None)
def test_one_change_is_shown_as_difflib_does(text: list[str], at: int, more: str) -> None:
    old = [f"{n} {line}\n" for n, line in enumerate(text)]
    new = [*old[:at], "changed\n", *old[at + 1 :]]
    assert shown("".join(old), "".join(new)) == "".join(difflib.unified_diff(old, new, "a/x", "b/x"))


def test_more_than_can_be_compared_is_one_hunk() -> None:
    old = "".join(f"{n}\n" for n in range(diffs.MAX_COMPARED))
    new = "0\n1\n2\n3\n" + "".join(f"new {n}\n" for n in range(10)) + f"{diffs.MAX_COMPARED - 1}\n"
    lines = shown(old, new).splitlines()
    assert lines[2] == f"@@ -2,{diffs.MAX_COMPARED - 1} +2,14 @@"
    assert (lines[3], lines[-1]) == (" 1", f" {diffs.MAX_COMPARED - 1}")
