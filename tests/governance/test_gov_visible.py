"""Hostile characters are spelled out before a person approves (APP-03)."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.visible import visible


@rows(
    "character",
    [
        *("\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u2028", "\x1b", "\r", "\x00", "\x7f", "\u00a0"),
        *("\u3164", "\u2800", "\ufe0f", "\U000e0041", "\u034f", "\ue000", "\ud800"),
    ],
)
def test_hidden_characters_are_spelled_out(character: str) -> None:
    """THR-approvals-hidden-characters."""
    shown = visible(f"rm {character}x")
    assert shown == f"rm ⟨U+{ord(character):04X}⟩x"


def test_newlines_stay_in_a_diff_and_are_shown_in_an_argv() -> None:
    assert visible("a\n\tb\r\n") == "a\n\tb⟨U+000D⟩\n"
    assert visible("a\n\tb", newlines="show") == "a⟨U+000A⟩⟨U+0009⟩b"


@given(st.text(), st.text())
def test_different_texts_never_look_the_same(first: str, second: str) -> None:
    assert (visible(first, "show") == visible(second, "show")) == (first == second)


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    assert all(unicodedata.category(c)[0] not in "CZ" or c == " " for c in visible(text, "show"))


@given(st.text(st.characters(categories=["L", "N", "P", "Sm"], exclude_characters="⟨⟩\u3164\uffa0\u115f\u1160")))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


def test_a_literal_mark_cannot_pass_for_a_real_one() -> None:
    assert visible("⟨U+202E⟩") == "⟨U+27E8⟩U+202E⟨U+27E9⟩"
