"""A client of the gateway that tries to fill the memory, and text that tries to control the terminal that shows the
log."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
from typing import Any

import pytest

from remit_server.models.recorded.scripted import ScriptedProvider, ScriptedStep
from remit_server.streams.line_streams import LONGEST_LINE, LineReader
from remit_server.streams.log_lines import PrefixedLines
from remit_server.transports.gateway import conversation as kept
from remit_server.transports.gateway.server import Gateway, Limits

MEBI = 1 << 20


class Client:
    """A gateway whose model is a script; `ask` sends one request and returns its answer."""

    def __init__(self, *steps: ScriptedStep) -> None:
        self.provider = ScriptedProvider(list(steps))
        self._written: asyncio.Queue[bytes] = asyncio.Queue()
        self._gateway = Gateway(self.provider, self._written.put, self._available, Limits())

    async def ask(self, **request: Any) -> dict[str, Any]:
        self._gateway.take(json.dumps(request).encode())
        answer: dict[str, Any] = json.loads(await self._written.get())
        return answer

    async def message(self, session_id: str, prompt: str) -> dict[str, Any]:
        return await self.ask(
            command="message", session_id=session_id, prompt=prompt, content="c", output_format="text"
        )

    @staticmethod
    async def _available() -> str | None:
        return None


async def test_THR_model_prompts_without_end_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 10_000)
    client = Client(*[ScriptedStep(text="yes")] * 20)
    session = (await client.ask(command="open-session", instructions="i" * 1_000))["session_id"]
    for number in range(20):
        assert (await client.message(session, str(number) * 2_000))["ok"]
    told = client.provider.requests[-1].messages
    assert told[0].text == "i" * 1_000
    assert sum(len(message.text) for message in told[:-1]) <= 10_000
    assert [message.text[:2] for message in told[1:-1:2]] == ["15", "16", "17", "18"][-len(told[1:-1:2]) :]


async def test_THR_model_a_prompt_over_the_budget_is_answered_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 10_000)
    client = Client(*[ScriptedStep(text="yes")] * 2)
    session = (await client.ask(command="open-session"))["session_id"]
    assert (await client.message(session, "p" * 20_000))["ok"]
    assert (await client.message(session, "short"))["ok"]
    assert len(client.provider.requests[-1].messages) == 2


async def test_THR_model_sessions_that_fill_the_memory_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 10_000)
    monkeypatch.setattr(kept, "MOST_KEPT_IN_ALL", 25_000)
    client = Client(*[ScriptedStep(text="yes")] * 5)
    first = (await client.ask(command="open-session", instructions="i" * 9_000))["session_id"]
    second = (await client.ask(command="open-session", instructions="i" * 9_000))["session_id"]
    full = "the open sessions keep more than 25000 characters, close some"
    over = await client.ask(command="open-session", instructions="i" * 9_000)
    assert over["error"] == f"failed_to_open_session: {full}"
    assert (await client.message(second, "p" * 7_500))["error"] == f"execution_failed: {full}"
    assert (await client.message(second, "p" * 6_500))["ok"]
    assert (await client.message(second, "p" * 6_500))["ok"], "what was asked counts until it is answered"
    assert (await client.ask(command="close-session", session_id=first))["ok"]
    assert (await client.message(second, "p" * 7_500))["ok"]


async def test_THR_model_instructions_without_end() -> None:
    client = Client()
    refused = await client.ask(command="open-session", instructions="i" * (kept.MOST_KEPT + 1))
    assert refused["error"] == f"failed_to_open_session: the instructions have more than {kept.MOST_KEPT} characters"


async def test_THR_model_long_lines_in_flight() -> None:
    """Each line has the maximum length; while the first is not answered, the second is not read."""
    source, target = os.pipe()
    taken: list[int] = []
    answers: list[asyncio.Future[None]] = []
    ended = asyncio.Event()

    def take(line: bytes | None) -> asyncio.Future[None]:
        taken.append(len(line or b""))
        answers.append(asyncio.get_running_loop().create_future())
        return answers[-1]

    LineReader(source, take, ended.set).start()

    def send() -> None:
        for _ in range(3):
            os.write(target, b"x" * (LONGEST_LINE - 1))
            os.write(target, b"\n")
        os.close(target)

    sending = asyncio.create_task(asyncio.to_thread(send))
    while not taken:
        await asyncio.sleep(0.01)
    for number in range(1, 4):
        assert taken == [LONGEST_LINE - 1] * number
        await asyncio.sleep(0.05)
        assert taken == [LONGEST_LINE - 1] * number
        answers[-1].set_result(None)
        while len(taken) == number < 3:
            await asyncio.sleep(0.01)
    await sending
    await ended.wait()
    os.close(source)


def test_THR_approvals_escapes_in_a_log() -> None:
    """A traceback and a record of a library contain a client's text; its escape sequences must not reach the
    terminal."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PrefixedLines("[remit]"))
    log = logging.getLogger("third.party.of.the.attack")
    log.addHandler(handler)
    log.propagate = False
    hostile = "\x1b]0;title\x07 \x1b[2J \x7f \x9b31m \x85 \r[remit] forged \u202e \u2028 \x00 \x0b\x0c\x1c fine\tü"
    log.warning("%s", hostile)
    try:
        raise ValueError(hostile + "\nsecond")
    except ValueError:
        log.exception("failed")
    said = stream.getvalue()
    assert re.findall(r"[^\x20-\x7e\n\t\u00a1-\u00ff]", said) == []
    assert said.count("\\x1b]0;title\\x07 \\x1b[2J \\x7f \\x9b31m \\x85 \\r[remit] forged \\u202e \\u2028 \\x00") == 2
    assert "fine\tü" in said
    assert all(line.startswith("[remit] ") for line in said.splitlines())
