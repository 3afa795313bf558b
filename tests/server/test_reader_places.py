"""If the handling of a message fails, its place in the reader's backlog is given back (LSP-04)."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from sent_cases import frame

from remit_server.streams.line_streams import LineReader
from remit_server.transports.lsp.rpc.frames import End, FrameReader


async def test_THR_protocol_a_frame_whose_handling_fails_frees_its_places():
    reading, writing = os.pipe()
    handled: list[Any] = []
    ended = asyncio.Event()

    def fail(one: Any) -> None:
        handled.append(one)
        if isinstance(one, End):
            ended.set()
        raise ValueError("a defect")

    asyncio.get_running_loop().set_exception_handler(lambda _, __: None)
    FrameReader(reading, fail).start()
    os.write(writing, frame(b"{}") * 500)
    os.write(writing, frame(b'"' + b"x" * 40_000 + b'"'))
    os.close(writing)
    await asyncio.wait_for(ended.wait(), 60)
    os.close(reading)
    assert len(handled) == 502


@pytest.mark.parametrize("returns", [False, True])
async def test_THR_protocol_a_line_whose_handling_fails_frees_its_places(returns):
    reading, writing = os.pipe()
    handled: list[Any] = []
    ended = asyncio.Event()

    def fail(line: bytes | None) -> None:
        handled.append(line)
        if not returns:
            raise ValueError("a defect")

    asyncio.get_running_loop().set_exception_handler(lambda _, __: None)
    LineReader(reading, fail, ended.set).start()
    os.write(writing, b"{}\n" * 500)
    os.close(writing)
    await asyncio.wait_for(ended.wait(), 60)
    os.close(reading)
    assert len(handled) == 500
