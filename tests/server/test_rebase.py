"""A change is applied to a text that has changed elsewhere, and never in another place (invariant 4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit_server.harness.approval.review import hunks_between
from remit_server.harness.writes.rebase import apply_hunks

CONTEXT = 3
LINES = st.lists(st.sampled_from([f"line {n}\n" for n in range(60)]), min_size=1, max_size=40, unique=True)
TYPED = st.lists(st.sampled_from(["typed\n", "    more\n", "\n"]), max_size=3)


def rebased(before: str, after: str, current: str) -> str | None:
    return apply_hunks(before, current, hunks_between(before, after))


@given(LINES, st.data())
def test_an_edit_and_typing_elsewhere_give_both(lines: list[str], data: st.DataObject) -> None:
    """The lines are distinct, so each edit has only one place, and both orders give the same text."""
    at = data.draw(st.integers(0, len(lines) - 1))
    free = [n for n in range(len(lines) + 1) if n <= at - CONTEXT or n > at + CONTEXT]
    edited = [*lines[:at], "edited\n", *lines[at + 1 :]]
    for place in free:
        typed = data.draw(TYPED)
        current = [*lines[:place], *typed, *lines[place:]]
        both = [*edited[:place], *typed, *edited[place:]]
        found = rebased("".join(lines), "".join(edited), "".join(current))
        # The typed text may repeat the context; then there are two possible places, and neither is used.
        assert found == "".join(both)


@given(LINES, st.data())
def test_a_change_of_what_was_shown_is_never_fitted(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    near = data.draw(st.integers(max(0, at - CONTEXT), min(len(lines) - 1, at + CONTEXT)))
    edited = [*lines[:at], "edited\n", *lines[at + 1 :]]
    current = [*lines[:near], "typed here\n", *lines[near + 1 :]]
    assert rebased("".join(lines), "".join(edited), "".join(current)) is None


@given(LINES, LINES, LINES)
def test_what_is_fitted_has_every_hunk_and_keeps_the_rest(before: list[str], after: list[str], now: list[str]) -> None:
    """For any three texts: the old lines of all hunks are replaced by the new ones, and no other line changes."""
    hunks = hunks_between("".join(before), "".join(after))
    found = apply_hunks("".join(before), "".join(now), hunks)
    if found is not None:
        back = found
        for hunk in reversed(hunks):
            assert "".join(now).count(hunk.old) == 1
            assert hunk.new in found
            back = back.replace(hunk.new, hunk.old, 1) if hunk.new else back
        assert all(not hunk.new for hunk in hunks) or sorted(back.split("\n")) == sorted("".join(now).split("\n"))


SAFE = "def test_only():\n    a = 1\n    b = 2\n    check = True\n    c = 3\n    d = 4\n"
EDITED = SAFE.replace("check = True", "check = False")


def test_THR_approvals_an_approved_hunk_goes_into_no_other_function() -> None:
    """Another process moved the shown block below another heading, so it is shown again instead."""
    body = SAFE.partition("\n")[2]
    moved = f"def test_only():\n    pass\n\ndef charge_the_customer():\n{body}"
    assert rebased(SAFE, EDITED, moved) is None
    assert rebased(SAFE, EDITED, SAFE.replace("test_only", "charge_the_customer")) is None
    assert rebased(SAFE, EDITED, f"import os\n\n{SAFE}") == f"import os\n\n{EDITED}"


def test_THR_approvals_an_approved_hunk_with_two_places_takes_neither() -> None:
    assert rebased(SAFE, EDITED, SAFE + "\n" + SAFE) is None
    assert rebased("", "new\n", "somebody's\n") is None


def test_hunks_keep_their_order() -> None:
    before = "".join(f"{n}\n" for n in range(30))
    after = before.replace("3\n", "three\n", 1).replace("25\n", "twenty-five\n")
    first, second = hunks_between(before, after)
    assert apply_hunks(before, before, (first, second)) == after
    assert rebased(before, after, second.old + "between\n" + first.old) is None
