"""MOD-15: a key is sent in a header and is nowhere else: in no event, log, audit record, error, or list of
processes."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from chat_server import Refused, Said, chat_server
from messages import SAYS

from remit_server.models.remote.ask import Service

KEY = "sk-remit-test-0123456789abcdefghijkl"
PLACES = {"openai": "/v1", "anthropic": "", "google": "", "ollama": ""}


def command_lines() -> str:
    """Returns the command lines of all processes of this machine that this user can see."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("status", [400, *(pytest.param(status, marks=pytest.mark.slow) for status in (401, 500))])
async def test_THR_keys_a_server_that_repeats_the_key_gives_it_to_nobody(
    kind: str, status: int, make_bench: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """THR-model-key-repeated: whatever a server answers, the shown, logged and recorded text does not contain the
    key."""
    monkeypatch.setenv("REMIT_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with chat_server(Refused(status, f"incorrect key provided: {KEY}", {"Retry-After": "0"})) as server:
        bench = await make_bench({"text": "unused"})
        result = await bench.ask("go", model=f"{kind}:m@{server.url}{PLACES[kind]}")
    assert result.error is not None
    told = json.dumps([result.model_dump(mode="json"), [event.model_dump(mode="json") for event in bench.events]])
    assert KEY not in told
    assert KEY not in caplog.text
    assert KEY.encode() not in b"".join(
        file.read_bytes() for file in bench.settings.state.glob("**/*") if file.is_file()
    )
    assert any(KEY in value for headers in server.headers for value in headers.values())


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
async def test_MOD_15_a_service_is_not_sent_a_conversation_without_a_key(
    kind: str, make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit_server.models.remote.keys.stored", lambda _: None)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    bench = await make_bench({"text": "unused"})
    result = await bench.ask("go", model=f"{kind}:m")
    assert result.error is not None
    assert SAYS.there_is_no_key_for in result.error.message
    assert f"remit auth set {kind}" in result.error.fix


async def test_MOD_15_while_a_server_is_asked_no_process_shows_the_key(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_API_KEY", KEY)
    with chat_server(Said("Done."), owner=None) as server:
        bench = await make_bench({"text": "unused"})
        await bench.ask("go", model=f"openai:m@{server.url}/v1")
        assert KEY not in command_lines()


def test_MOD_15_what_a_server_says_is_bounded_and_without_the_key() -> None:
    assert Service("openai", "h", KEY).words(f"no {KEY}!") == "no [redacted key]!"
    assert len(Service("openai", "h", None).words("x" * 1_000)) == 300
