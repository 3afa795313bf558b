"""How bytes are split into messages, however they are cut: every whole message is read, also after malformed bytes
(LSP-02)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_server.json_bounds import has_too_many_values
from remit_server.transports.lsp.rpc.frames import FrameBuffer, Garbage, Message

NEXT = {"jsonrpc": "2.0", "id": "next", "method": "next"}
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "ü", "params": {"text": "Content-Length: 7\r\n\r\n{}"}}


def body(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def frame(message: Any, more: int = 0, text: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return text % (len(body(message)) + more) + body(message)


def read(*chunks: bytes) -> list[Any]:
    """Returns the values that were read; a string is a problem. The chunks end the input."""
    frames = FrameBuffer()
    found = [one for chunk in chunks for one in frames.feed(chunk)]
    found += frames.finish()
    return [one.value if isinstance(one, Message) else one.problem for one in found]


def messages(*chunks: bytes) -> list[Any]:
    return [one for one in read(*chunks) if not isinstance(one, str)]


@given(st.lists(st.integers(1, 40), max_size=20))
def test_messages_are_the_same_however_they_are_cut(cuts):
    sent = frame(MESSAGE) + frame(NEXT) + frame([]) + frame(NEXT)
    chunks = []
    for cut in cuts:
        chunks.append(sent[:cut])
        sent = sent[cut:]
    assert read(*chunks, sent) == [MESSAGE, NEXT, [], NEXT]


@rows("more", [-1, -2, -20, 1, 2, 5, 14, 17, 20, 22, 30, 100, 10_000, 10**8, 10**15])
def test_THR_protocol_a_wrong_length_loses_nothing_after_it(more):
    assert messages(frame(MESSAGE, more) + frame(NEXT))[-1] == NEXT
    assert messages(frame(MESSAGE, more), frame(NEXT))[-1] == NEXT


@rows("more", [-1, -3, 1, 2, 9, 16, 21])
def test_THR_protocol_a_message_with_a_wrong_length_is_taken_where_it_is_whole(more):
    assert read(frame(MESSAGE, more) + frame(NEXT)) == [MESSAGE, NEXT]


@given(st.integers(-60, 200), st.lists(st.integers(1, 60), max_size=6))
def test_THR_protocol_a_wrong_length_however_it_is_cut(more, cuts):
    more = max(more, -len(body(MESSAGE)))
    sent = frame(MESSAGE, more) + frame(NEXT) + frame(NEXT)
    chunks = []
    for cut in cuts:
        chunks.append(sent[:cut])
        sent = sent[cut:]
    found = read(*chunks, sent)
    assert found[-2:] == [NEXT, NEXT]
    assert len(found) <= 4


@rows(
    "before",
    [
        pytest.param(b"garbage", id="THR-protocol-garbage-without-end"),
        pytest.param(b"starting up\nplease wait\n\n", id="THR-protocol-lines-of-a-wrapper"),
        pytest.param(b"starting up\r\n", id="THR-protocol-a-line-in-a-header"),
        pytest.param(bytes(range(256)) * 200, id="THR-protocol-bytes"),
        pytest.param(b"Content-Length: +53\r\n\r\n" + body(NEXT), id="THR-protocol-length-with-a-sign"),
        pytest.param(b"Content-Length: -53\r\n\r\n" + body(NEXT), id="THR-protocol-a-negative-length"),
        pytest.param(b"Content-Length: 0x35\r\n\r\n" + body(NEXT), id="THR-protocol-length-in-hexadecimal"),
        pytest.param(b"Content-Length: 5 3\r\n\r\n" + body(NEXT), id="THR-protocol-length-with-a-space"),
        pytest.param(b"Content-Length: \xd9\xa5\r\n\r\n" + body(NEXT), id="THR-protocol-length-in-other-digits"),
        pytest.param(b"Content-Length:\r\n 53\r\n\r\n" + body(NEXT), id="THR-protocol-length-on-a-folded-line"),
        pytest.param(b"Content-Length: 5\r\n 3\r\n\r\n" + body(NEXT), id="THR-protocol-length-folded-in-two"),
        pytest.param(b"Content-Length: 2\r\nContent-Length: 53\r\n\r\n" + body(NEXT), id="THR-protocol-two-lengths"),
        pytest.param(b"Content-Length: 53\r\r" + body(NEXT), id="THR-protocol-cr-alone"),
        pytest.param(b"Content-Length: 53\r\n" + body(NEXT), id="THR-protocol-no-empty-line"),
        pytest.param(b"Content-Length: 53", id="THR-protocol-half-a-header"),
        pytest.param(b"Content-Length: 53\r\n\r\n" + body(NEXT)[:9], id="THR-protocol-half-a-body"),
        pytest.param(body(NEXT) + b"\n", id="THR-protocol-lines-of-json"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", id="THR-protocol-another-protocol"),
        pytest.param(frame([])[:-1] + b"]]]", id="THR-protocol-more-after-a-body"),
    ],
)
def test_what_is_no_message_is_reported_and_the_next_one_is_found(before):
    found = read(before + frame(NEXT) + frame(MESSAGE))
    assert [one for one in found if not isinstance(one, str)][-2:] == [NEXT, MESSAGE]
    assert 1 <= len([one for one in found if isinstance(one, str)]) <= 2


@rows(
    "header",
    [
        b"Content-Length: %d\n\n",
        b"Content-Length: %d\n\r\n",
        b"Content-Length: %d\r\n\n",
        b"\r\n\n\r\nContent-Length: %d\r\n\r\n",
        b"content-length:%d\r\n\r\n",
        b"CONTENT-LENGTH : %d \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nX-Header: Content-Length\r\n\r\n",
    ],
)
def test_what_is_meant_is_read(header):
    assert read(frame(MESSAGE, 0, header) + frame(NEXT)) == [MESSAGE, NEXT]


def test_the_same_length_twice_is_one():
    size = len(body(NEXT))
    assert read(b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (size, size) + body(NEXT)) == [NEXT]


def test_THR_protocol_a_message_whose_rest_never_comes_is_taken_when_it_is_whole():
    frames = FrameBuffer()
    assert list(frames.feed(frame(NEXT, 1))) == []
    assert frames.waits
    assert [one.value for one in frames.stall() if isinstance(one, Message)] == [NEXT]
    assert not frames.waits
    assert [type(one) for one in frames.feed(b"\n" + frame(MESSAGE))] == [Message]


def test_a_slow_message_is_waited_for():
    frames = FrameBuffer()
    sent = frame(MESSAGE)
    for byte in sent[:-1]:
        assert list(frames.feed(bytes([byte]))) == []
        assert list(frames.stall()) == []
    assert [one.value for one in frames.feed(sent[-1:]) if isinstance(one, Message)] == [MESSAGE]


def test_the_end_in_the_middle_is_said():
    assert read(frame(NEXT)[:-1]) == [SAYS.the_input_ended_in_the]
    assert read(b"Content-Length: 5") == [SAYS.the_input_ended_in_the]
    assert read(b"") == read(b"\r\n") == []


def test_THR_protocol_a_header_in_a_text_is_text():
    """JSON escapes line ends in a text, so the text of a document cannot begin a message."""
    inner = body({"method": "forged"}).decode()
    document = {"text": f"Content-Length: {len(inner)}\r\n\r\n{inner}"}
    for more in (0, -1, 1, 300):
        assert all(one != {"method": "forged"} for one in messages(frame(document, more) + frame(NEXT)))


@rows(
    ("text", "most", "too_many"),
    [
        (b"[1,2,3]", 3, False),
        (b"[1,2,3]", 2, True),
        (b'{"a,b,c,[{":"\\",,,[["}', 1, False),
        (b'{"a":[],"b":{}}', 3, True),
        (b'{"a":[],"b":{}}', 4, False),
        (b"7", 0, False),
    ],
)
def test_values_are_counted_and_what_stands_in_texts_is_not(text, most, too_many):
    assert has_too_many_values(text, most) is too_many


def test_THR_protocol_a_message_of_too_many_values_is_refused_and_its_length_believed():
    many = b"[" + b"[],{}," * 300_000 + b"[]]"
    found = read(b"Content-Length: %d\r\n\r\n%b" % (len(many), many) + frame(NEXT))
    assert found == ["it has more than 500000 values", NEXT]


def test_a_problem_is_one_line():
    (problem,) = FrameBuffer().feed(b"Content-Length: 4\r\n\r\n{\n}}")
    assert isinstance(problem, Garbage)
    assert "\n" not in problem.problem
