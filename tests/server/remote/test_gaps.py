"""Completion at the cursor by served models: what each protocol sends, and servers that cannot do it (LSP-12)."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from chat_server import Answer, ChatServer, Raw, Refused, Said, chat_server

from remit_governance.secrets.redaction import Redactor
from remit_server.contract import Ability
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong
from remit_server.models.ports import Finished, Gap, GenerateRequest, TextDelta
from remit_server.models.remote.ask import CannotFill
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider

REQUEST = GenerateRequest("s", (), {}, max_tokens=96, priority="cursor", gap=Gap("x = (", ")\n"))
QUICK = Patience(connect_s=2, first_token_s=2, between_tokens_s=2, retries=0)
TEXTS = {"stream": True, "temperature": 0.0}
SUFFIX = {**TEXTS, "model": "m", "prompt": "x = (", "suffix": ")\n", "max_tokens": 96}
KEY = "sk-proj-" + "aB3dE5fG7h" * 5

ROWS = {
    "llama.cpp": (
        "openai",
        {"owner": "llamacpp"},
        "/infill",
        {**TEXTS, "input_prefix": "x = (", "input_suffix": ")\n", "n_predict": 96, "cache_prompt": True},
    ),
    "ollama": (
        "ollama",
        {"capabilities": ["completion", "insert"]},
        "/api/generate",
        {
            "model": "m",
            "prompt": "x = (",
            "suffix": ")\n",
            "stream": True,
            "keep_alive": "30m",
            "options": {"temperature": 0.0, "num_ctx": 8192, "num_predict": 96},
        },
    ),
    "ollama over /v1": ("openai", {"owner": "library"}, "/v1/completions", SUFFIX),
    "openai": ("openai", {"owner": "system"}, "/v1/completions", SUFFIX),
    "a server that says so": ("openai", {"owner": "me", "capabilities": ["insert"]}, "/v1/completions", SUFFIX),
}
EACH = pytest.mark.parametrize("row", list(ROWS))
CANNOT = {
    "vllm": ("openai", {"owner": "vllm"}),
    "mlx_lm": ("openai", {"owner": None}),
    "an ollama model without a template for it": ("ollama", {"capabilities": ["completion"]}),
    "a server that does not say so": ("openai", {"owner": "me"}),
    "a server that says no": ("openai", {"owner": "me", "capabilities": {"insert": False}}),
}


def provider_for(server: ChatServer, kind: str, redact: Any = str) -> RemoteProvider:
    reference = parse_reference(f"{kind}:m@{server.url}{'/v1' if kind == 'openai' else ''}")
    assert reference is not None
    return RemoteProvider(reference, make_client, redact, patience=QUICK)


async def filled(provider: RemoteProvider, request: GenerateRequest = REQUEST) -> tuple[str, Finished]:
    async with aclosing(provider.generate(request)) as stream:
        *texts, last = [event async for event in stream]
    assert isinstance(last, Finished)
    return "".join(event.text for event in texts if isinstance(event, TextDelta)), last


@EACH
async def test_LSP_12_each_protocol_is_asked_for_a_gap_in_its_own_way(row: str) -> None:
    kind, server_is, path, body = ROWS[row]
    with chat_server(Said("a + b"), replace(Said("a +"), reason="length"), **server_is) as server:
        provider = provider_for(server, kind)
        assert Ability.COMPLETE in provider.abilities
        text, ended = await filled(provider)
        assert (text, ended.reason) == ("a + b", "stop")
        text, ended = await filled(provider)
        assert (text, ended.reason) == ("a +", "length")
        assert Ability.COMPLETE in provider.abilities
        await provider.close()
    assert server.paths == [path, path]
    assert server.requests[0] | {"options": body.get("options")} == body | {"options": body.get("options")}
    assert server.requests[0].get("options", {}) == body.get("options", {})


@EACH
async def test_LSP_12_secrets_around_the_cursor_do_not_leave_and_none_is_cut_in_two(row: str) -> None:
    kind, server_is, _, _ = ROWS[row]
    redact = Redactor().redact
    with chat_server(Said("1"), **server_is) as server:
        provider = provider_for(server, kind, redact)
        await filled(provider, replace(REQUEST, gap=Gap(f"k = '{KEY}'\nx = ", f"\nz = '{KEY}'\n")))
        across = replace(REQUEST, gap=Gap(f"k = '{KEY[:12]}", f"{KEY[12:]}'\n"))
        assert (await filled(provider, across))[0] == ""
        await provider.close()
    (sent,) = server.requests
    assert KEY not in str(sent)
    assert str(sent).count("redacted") == 2


@pytest.mark.parametrize("cannot", list(CANNOT))
async def test_LSP_12_a_server_that_is_known_not_to_is_never_asked(cannot: str) -> None:
    kind, server_is = CANNOT[cannot]
    with chat_server(Said("no"), **server_is) as server:
        provider = provider_for(server, kind)
        with pytest.raises(CannotFill, match="cannot complete at a cursor"):
            await filled(provider)
        assert Ability.COMPLETE not in provider.abilities
        assert provider.state != "failed", "a turn can still be asked of it"
        await provider.close()
    assert server.requests == []


@EACH
@pytest.mark.parametrize("status", [400, 404, 501])
async def test_LSP_12_a_server_that_refuses_is_said_once(row: str, status: int) -> None:
    kind, server_is, _, _ = ROWS[row]
    with chat_server(Refused(status, "m does not support insert"), **server_is) as server:
        provider = provider_for(server, kind)
        with pytest.raises(CannotFill) as failed:
            await filled(provider)
        assert "m does not support insert" in failed.value.why
        assert "`completion.model`" in failed.value.fix
        assert Ability.COMPLETE not in provider.abilities
        await provider.close()


@EACH
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Refused(401, "who?"), ModelUnavailable),
        (Refused(503, "loading"), ModelUnavailable),
        (Refused(400, "the prompt exceeds the context"), PromptTooLong),
        (replace(Said("a"), reason=None), ModelFailed),
        (Raw(b"<html>"), ModelFailed),
    ],
)
async def test_LSP_12_other_trouble_is_what_it_is_and_leaves_the_ability(
    row: str, answer: Answer, error: type[Exception]
) -> None:
    kind, server_is, _, _ = ROWS[row]
    with chat_server(answer, **server_is) as server:
        provider = provider_for(server, kind)
        with pytest.raises(error) as failed:
            await filled(provider)
        assert not isinstance(failed.value, CannotFill)
        assert Ability.COMPLETE in provider.abilities
        await provider.close()


@EACH
async def test_LSP_12_leaving_ends_the_request(row: str) -> None:
    kind, server_is, _, _ = ROWS[row]
    with chat_server(replace(Said("a + b"), endless=True), **server_is) as server:
        provider = provider_for(server, kind)
        async with aclosing(provider.generate(REQUEST)) as stream:
            assert isinstance(await anext(stream), TextDelta)
        assert server.left.wait(5)
        await provider.close()


@pytest.mark.parametrize("kind", ["anthropic", "google"])
def test_LSP_12_a_protocol_without_such_a_request_does_not_offer_it(kind: str) -> None:
    reference = parse_reference(f"{kind}:m")
    assert reference is not None
    assert Ability.COMPLETE not in RemoteProvider(reference, make_client, str).abilities
