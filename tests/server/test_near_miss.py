"""If a text does not occur, the error explains it so that a model can correct itself (`edit_file`; TOOL-04)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from work_done import calls_made_by

from remit_server.tools.edit.near_miss import explain

TEXT = "def f(a):\n    b = a + 1\n    return b\n\n\ndef g(a):\n    b = a + 2\n    return b\n"


def test_a_block_with_one_other_line_names_that_line_and_shows_what_stands_there() -> None:
    miss = explain(TEXT, "def g(a):\n    b = a + 3\n    return b", whole_word=False)
    assert miss.why == "it is close to lines 6-8, but line 7 is `b = a + 2`, not `b = a + 3`"
    assert miss.fix.endswith("def g(a):\n    b = a + 2\n    return b")


def test_a_line_that_is_nearly_there() -> None:
    assert "closest line is 7: `b = a + 2`" in explain(TEXT, "b = a + 2;", whole_word=False).why


def test_white_space_and_case() -> None:
    assert "only white space differs from line 2" in explain(TEXT, "b  =  a + 1", whole_word=False).why
    assert "only upper and lower case differs from line 1" in explain(TEXT, "DEF F(A):", whole_word=False).why


def test_nothing_like_it() -> None:
    assert SAYS.nothing_in_the_file_is in explain(TEXT, "zzzzzzzzzz\nyyyyyyyy", whole_word=False).why


def test_line_numbers_that_were_copied_are_named() -> None:
    miss = explain(TEXT, "2|    b = a + 1\n3|    return b", whole_word=False)
    assert miss.why == "it has the line numbers that read_file shows, such as `2|`, which the file does not have"
    assert miss.fix == SAYS.leave_them_out_in_the


def test_line_numbers_that_were_copied_are_named_where_something_else_differs_too() -> None:
    miss = explain(TEXT, "6|def g(a):\n7|    b = a + 3\n8|    return b", whole_word=False)
    assert "`6|`, which the file does not have; without them, it is close to lines 6-8" in miss.why
    assert miss.fix.startswith("leave them out, in the new text as well; then copy it exactly")


def test_a_file_that_has_such_numbers_itself_is_compared_as_it_is() -> None:
    assert "closest line is 2: `2|two`" in explain("1|one\n2|two\n", "2|twoo", whole_word=False).why


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        (r"    b = a + 1\n    return b", r"`\n`"),
        (r"2|    b = a + 1\n3|    return b", r"`\n` and the line numbers that read_file shows, such as `2|`"),
        ("\ufeffdef f(a):", "an invisible character, `⟨U+FEFF⟩`"),
        ("def\u200b f(a):", "an invisible character, `⟨U+200B⟩`"),
    ],
)
def test_what_is_no_character_of_the_file_is_named(wanted: str, what: str) -> None:
    assert f"{what}, which the file does not have" in explain(TEXT, wanted, whole_word=False).why


def test_quotes_with_needless_backslashes_are_named() -> None:
    assert r"`\"`, which" in explain('print("a")\n', r"print(\"a\")", whole_word=False).why


@given(st.data())
def test_any_lines_with_their_numbers_are_seen_as_such(data: st.DataObject) -> None:
    lines = TEXT.splitlines()
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    if any(lines[first:last]):
        numbered = "\n".join(f"{number}|{line}" for number, line in enumerate(lines[first:last], first + 1))
        assert f"such as `{first + 1}|`, which the file does not have" in explain(TEXT, numbered, whole_word=False).why


@given(
    st.text(st.sampled_from("1|\\n\ufeff a\n"), min_size=1, max_size=20),
    st.text(st.sampled_from("1|a \n"), max_size=20),
)
def test_anything_is_explained(wanted: str, content: str) -> None:
    assert explain(content, wanted, whole_word=False).why


WANTED = {
    "a line of many words": " ".join(f"w{number:02}" for number in range(60)),
    "a line like many": "abcdefgjih klmpno qrsvtu " * 8,
    "lines that repeat themselves": "\n".join(["a"] * 5_000 + ["b"] + ["a"] * 4_000),
    "more lines than there are": "b\n" * 400_000,
}
CONTENT = {
    "lines like it": "".join(f"{'abcdefghij klmnop qrstuv ' * 6}{number}\n" for number in range(20_000)),
    "lines that repeat themselves": "a\n" * 400_000,
}


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("content", CONTENT)
def test_TOOL_04_a_miss_is_explained_in_bounded_work(content: str, wanted: str) -> None:
    assert calls_made_by(lambda: explain(CONTENT[content], WANTED[wanted], whole_word=False), in_c=True) < 1_000_000
