"""Every line is a message, or is answered by an error that repeats nothing of it (TRN-20; TRN-24)."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as mcp
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from remit_server.transports.mcp.lines import read_message

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers() | st.text(max_size=8) | JSON,
        "method": st.sampled_from(["tools/call", "initialize", "notifications/cancelled"]) | JSON,
        "params": JSON,
        "result": JSON,
        "error": JSON,
    },
)


@given(line=st.binary(max_size=200) | (JSON | NEARLY).map(lambda value: json.dumps(value).encode()))
@example(line=b"[" * 100_000)
@example(line=b'{"jsonrpc":"2.0","id":null,"method":"tools/call"}')
@example(line=b'{"jsonrpc":"2.0","id":true,"method":"tools/call"}')
@example(line=b'{"jsonrpc":"2.0","id":1e400,"method":"tools/call"}')
@example(line=b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b',"method":"tools/call"}')
def test_TRN_20_any_line_is_a_message_or_an_error(line: bytes) -> None:
    read = read_message(line)
    if isinstance(read, SessionMessage):
        message = read.message
        # A message with an id is a request, and must not be taken for a notification.
        if isinstance(message, mcp.JSONRPCNotification):
            assert "id" not in json.loads(line)
        return
    assert read.id is None
    assert read.error.message in {"Parse error", "Invalid message"}
    assert read.error.data is None
