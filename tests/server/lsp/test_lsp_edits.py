"""Positions and edits as LSP counts them, compared with a reference that uses the encoded bytes (LSP-04; LSP-07)."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from remit_server.transports.lsp.buffers.edits import (
    Edit,
    Encoding,
    Place,
    apply_changes,
    identifier_at,
    minimal_edit,
    offset_at,
    same_but_for_line_ends,
    split_lines,
)

PIECES = ["a", "é", "𝒳", "🙂", "\n", "\r", "\r\n", "\x0c", "\u2028", " "]
TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


CODECS: dict[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}
ENCODINGS = st.sampled_from(sorted(CODECS))


def reference_offset(text: str, place: Place, encoding: Encoding = "utf-16") -> int:
    """Returns the offset, found by counting units in the encoded line."""
    parts = re.split("(\r\n|\r|\n)", text)
    lines, ends = parts[::2], parts[1::2]
    if place.line >= len(lines):
        return len(text)
    before = sum(map(len, lines[: place.line])) + sum(map(len, ends[: place.line]))
    codec, size = CODECS[encoding]
    units = lines[place.line].encode(codec)[: size * place.character]
    return before + len(units.decode(codec, "ignore"))


@given(TEXT, st.integers(0, 12), st.integers(0, 12), ENCODINGS)
def test_LSP_07_offsets_agree_with_the_encoded_text(text, line, character, encoding):
    place = Place(line, character)
    assert offset_at(text, place, encoding) == reference_offset(text, place, encoding)


PLACES = st.builds(Place, st.integers(0, 12), st.integers(0, 12))
CHANGES = st.lists(st.one_of(TEXT, st.builds(Edit, PLACES, PLACES, TEXT)), max_size=5)


@given(TEXT, CHANGES, ENCODINGS)
def test_LSP_07_changes_agree_with_one_after_the_other_in_the_whole_text(text, changes, encoding):
    expected = text
    for change in changes:
        if isinstance(change, str):
            expected = change
        else:
            start, end = sorted(reference_offset(expected, place, encoding) for place in (change.start, change.end))
            expected = expected[:start] + change.text + expected[end:]
    assert apply_changes(text, changes, encoding) == expected


@given(TEXT)
def test_lines_join_to_the_text(text):
    assert "".join(split_lines(text)) == text


@given(TEXT, TEXT, ENCODINGS)
def test_LSP_07_the_minimal_edit_makes_before_after(before, after, encoding):
    assert apply_changes(before, [minimal_edit(before, after, encoding)], encoding) == after


@given(TEXT, TEXT, TEXT, TEXT)
def test_the_minimal_edit_leaves_common_lines_alone(head, tail, old, new):
    head, tail = head + "\n", "\n" + tail
    edit = minimal_edit(head + old + tail, head + new + tail)
    assert edit.start.line >= len(split_lines(head))
    assert apply_changes(head + old + tail, [edit]) == head + new + tail


def test_an_edit_after_an_astral_character_and_crlf():
    text = "🙂🙂 total\r\nx\r\n"
    edit = Edit(Place(0, 5), Place(0, 10), "sum")
    assert apply_changes(text, [edit]) == "🙂🙂 sum\r\nx\r\n"
    assert minimal_edit(text, text.replace("x", "y")) == Edit(Place(1, 0), Place(2, 0), "y\r\n")


def test_a_last_line_without_end_is_addressed_in_utf_16_units():
    assert minimal_edit("a\n🙂b", "a\n🙂c") == Edit(Place(1, 0), Place(1, 3), "🙂c")


def test_form_feed_and_line_separator_end_no_line():
    assert offset_at("a\x0cb\u2028c\nd", Place(1, 0)) == 6


def test_identifier_under_a_cursor_or_selection():
    line = "🙂 total = sub_total2 + 3x"
    found = {c: identifier_at(line, Place(0, c), Place(0, c)) for c in range(28)}
    assert found[0] is None
    assert found[3] == found[5] == found[8] == "total"
    assert found[9] is None
    assert found[11] == found[21] == "sub_total2"
    assert identifier_at(line, Place(0, 3), Place(0, 8)) == "total"
    assert identifier_at(line, Place(0, 3), Place(0, 14)) is None
    assert identifier_at("größe\n", Place(0, 2), Place(0, 2)) == "größe"
    assert identifier_at("a\nb", Place(9, 9), Place(9, 9)) == "b"


@given(TEXT)
def test_line_ends_are_the_editor_s(text):
    normal = re.sub("\r\n|\r|\n", "\n", text)
    assert same_but_for_line_ends(text, normal)
    assert same_but_for_line_ends(normal.replace("\n", "\r\n"), text)
    assert not same_but_for_line_ends(text, text + "x")
