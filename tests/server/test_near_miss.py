"""A text that does not occur is explained so that a model can correct itself (agent.md §2, `edit_file`)."""

from __future__ import annotations

from remit_server.tools.near_miss import explain

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
    assert "nothing in the file is close" in explain(TEXT, "zzzzzzzzzz\nyyyyyyyy", whole_word=False).why
