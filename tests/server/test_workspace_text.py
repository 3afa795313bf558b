"""Texts: unchanged lines are written back byte for byte (FILE-01)."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.text import Text, plain

LINES = st.lists(
    st.tuples(st.text(st.characters(exclude_characters="\0\n", exclude_categories=("Cs",)), max_size=12),
              st.sampled_from(["\n", "\r\n", "\r", "\r\r\n", "\u2028"])),
    max_size=12,
)  # fmt: skip
ENCODINGS = st.sampled_from(
    [(b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
     (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")]
)  # fmt: skip


@given(lines=LINES, encoding=ENCODINGS)
def test_text_round_trip(lines: list[tuple[str, str]], encoding: tuple[bytes, str]) -> None:
    mark, name = encoding
    data = mark + "".join(line + end for line, end in lines).encode(name)
    text = Text.decode(data, "x")
    assert text.encode() == data
    assert text.encode(text.content) == data


@given(st.binary(max_size=200))
def test_text_round_trip_of_any_bytes(data: bytes) -> None:
    try:
        text = Text.decode(data, "x")
    except ToolError:
        return
    assert text.encode() == data


@pytest.mark.slow
@given(st.text(st.characters(codec="cp1252", exclude_categories=("Cc",)), min_size=1, max_size=80))
def test_text_one_byte_encodings(content: str) -> None:
    data = (content + "\r\ngrün\r\n").encode("cp1252")
    text = Text.decode(data, "x")
    assert text.encode() == data
    changed = text.encode(text.content + "more\n")
    assert changed == data + b"more\r\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [("größe\nmäßig\n", "cp1252"), ("привет, это тест текста\n# комментарий\n", "cp1251"), ("これはテストです。\n", "cp932"),
     ("这是一个测试\n", "gb18030")],
)  # fmt: skip
def test_text_legacy_encodings_are_recognised(content: str, encoding: str) -> None:
    text = Text.decode(content.encode(encoding), "x")
    assert (text.content, text.encoding) == (content, encoding)


def test_text_mixed_line_ends_keep_theirs() -> None:
    data = b"one\r\ntwo\nthree\r\nfour\r\n"
    text = Text.decode(data, "x")
    assert text.content == "one\ntwo\nthree\nfour\n"
    assert text.encode("one\nTWO\nthree\nfour\n") == b"one\r\nTWO\nthree\r\nfour\r\n"
    assert text.encode("one\ntwo\nnew\nthree\nfour\n") == b"one\r\ntwo\nnew\r\nthree\r\nfour\r\n"
    assert text.encode("two\nfour\n") == b"two\nfour\r\n"
    assert text.encode("") == b""


@given(st.lists(st.sampled_from(["a\n", "b\n", "a\r\n", "b\r\n", ""])), st.text("ab\n", max_size=20))
def test_text_mixed_line_ends_any_change(pieces: list[str], new: str) -> None:
    """The written text reads back as intended, whichever line ends it got."""
    text = Text.decode("".join(pieces).encode(), "x")
    assert plain(text.encode(new).decode()) == new


def test_text_final_newline_is_kept() -> None:
    assert Text.decode(b"a\nb", "x").lines == ["a", "b"]
    assert Text.decode(b"a\nb\n", "x").lines == ["a", "b"]
    assert Text.decode(b"", "x").lines == []
    assert Text.decode(b"\n\n", "x").lines == ["", ""]


@rows("data", [b"\x7fELF\x02\x01\0\0", b"PNG\0", bytes(range(256)), b"a\x01\xff", b"\xff\xfe\x00\xd8"])
def test_text_binary(data: bytes) -> None:
    with pytest.raises(ToolError) as refused:
        Text.decode(data, "x")
    assert refused.value.code is ErrorCode.BINARY_FILE


def test_text_character_that_the_encoding_lacks() -> None:
    text = Text.decode("größe\r\nmäßig\r\n".encode("latin-1"), "x")
    with pytest.raises(ToolError) as refused:
        text.encode("größe\n漢字\n")
    assert "漢" in refused.value.what
