"""MOD-26: models are looked for when the person asks, only on the loopback, and each says where messages to it go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listing_server import listing_server
from rows import rows
from small_server import small_server

from remit_server.cli.commands.models_and_tools.model import describe_report
from remit_server.errors import SetupError
from remit_server.models.check import check_model, why_not_there
from remit_server.models.choose import model_folder
from remit_server.models.finding import (
    USUAL,
    Choice,
    HostedService,
    ServedModel,
    Usual,
    advice,
    fetch,
    find_choices,
    find_hosted,
    find_served,
)
from remit_server.models.local.options import EngineOptions
from remit_server.runtime.connecting import connect_model, describe_connected, own_file

OLLAMA = {
    "/api/tags": b'{"models":[{"name":"qwen3:4b","model":"qwen3:4b","size":2500000000,"details":{"parameter_size":"4.0B"}},{"name":null},7]}',
    "/api/show": b'{"capabilities":["completion","tools"],"model_info":{"general.parameter_count":4022468096,"qwen3.context_length":40960}}',
}
LM_STUDIO = {
    "/v1/models": b'{"object":"list","data":[{"id":"qwen2.5-coder-7b","object":"model","owned_by":"organization_owner"},{"id":"nomic","object":"model","owned_by":"organization_owner"}]}',
    "/api/v0/models": b'{"data":[{"id":"qwen2.5-coder-7b","type":"llm","max_context_length":32768,"capabilities":["tool_use"]},{"id":"nomic","type":"embeddings"}]}',
}
LLAMA_CPP = {
    "/v1/models": b'{"models":[{"name":"q"}],"object":"list","data":[{"id":"q","object":"model","created":1,"owned_by":"llamacpp","meta":{"n_ctx_train":32768,"n_params":630167424,"size":485452288}}]}',
    "/props": b'{"default_generation_settings":{"n_ctx":8192},"chat_template_caps":{"supports_tools":true}}',
}
VLLM = {
    "/v1/models": b'{"object":"list","data":[{"id":"org/m","object":"model","owned_by":"vllm","max_model_len":16384}]}'
}
BARE = {"/v1/models": b'{"data":[{"id":"m"}]}'}


async def found(answers: dict[str, bytes], provider: str, name: str) -> tuple[ServedModel, ...]:
    with listing_server(answers) as server:
        models = await find_served(fetch, (Usual(server.port, provider, name),))
        assert server.addresses <= {"127.0.0.1"}
    return tuple(
        ServedModel(
            each.reference.replace(str(server.port), "PORT"),
            each.server,
            0,
            each.size_bytes,
            each.parameters,
            each.window,
            each.calls_tools,
        )
        for each in models
    )


AT = "@http://127.0.0.1:PORT"
LISTED = [
    (OLLAMA, "ollama", ServedModel(f"ollama:qwen3:4b{AT}", "X", 0, 2_500_000_000, "4.0B", 40_960, True)),
    (LM_STUDIO, "openai", ServedModel(f"openai:qwen2.5-coder-7b{AT}/v1", "LM Studio", 0, None, None, 32_768, True)),
    (LLAMA_CPP, "openai", ServedModel(f"openai:q{AT}/v1", "llama.cpp", 0, 485_452_288, "630M", 8_192, True)),
    (VLLM, "openai", ServedModel(f"openai:org/m{AT}/v1", "vLLM", 0, None, None, 16_384, None)),
    (BARE, "openai", ServedModel(f"openai:m{AT}/v1", "X", 0)),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("answers", "provider", "model"), LISTED)
async def test_MOD_26_each_server_is_asked_in_its_own_way(
    answers: dict[str, bytes], provider: str, model: ServedModel
) -> None:
    assert await found(answers, provider, "X") == (model,)


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", ["ollama", "openai"])
@pytest.mark.parametrize(
    "said", [b"", b"<html>", b"[]", b"null", b'{"data":5,"models":{}}', b'{"data":[[]],"models":["x"]}', b"[" * 100_000]
)
async def test_MOD_26_whatever_answers_there_is_no_error(provider: str, said: bytes) -> None:
    assert await found({"/api/tags": said, "/v1/models": said, "/api/show": said}, provider, "X") == ()


@pytest.mark.asyncio
async def test_MOD_26_a_redirect_is_not_followed() -> None:
    """The program that listens on the port could redirect to another machine."""
    with listing_server(BARE, 302, Location="http://192.0.2.1/v1/models") as server:
        assert await find_served(fetch, (Usual(server.port, "openai", "X"),)) == ()


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda some: st.lists(some, max_size=3) | st.dictionaries(st.sampled_from(["data", "models", "id", "name", "details", "size", "owned_by", "meta", "n_params", "capabilities", "model_info"]), some, max_size=4), max_leaves=12)  # fmt: skip


@given(JSON, JSON)
def test_MOD_26_any_json_is_a_list_of_models_or_none(listed: object, shown: object) -> None:
    async def say(port: int, path: str, body: object) -> object:
        del port, body
        return listed if path in {"/api/tags", "/v1/models"} else shown

    for each in asyncio.run(find_served(say, USUAL)):  # type: ignore[arg-type]
        assert each.reference.partition(":")[2]


@pytest.mark.asyncio
async def test_MOD_26_keys_are_found_without_asking_their_services() -> None:
    env = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": ""}
    stored = {"google": "k"}.get
    assert find_hosted(env, stored) == (
        HostedService("openai", "api.openai.com", "OPENAI_API_KEY"),
        HostedService("google", "generativelanguage.googleapis.com", "the keyring"),
    )


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("configured", "sent_to"),
    [("built-in", None), ("openai:x@http://127.0.0.1:1/v1", None), ("openai:gpt-4o", "api.openai.com")],
)
async def test_MOD_26_the_configured_model_is_always_among_them(
    configured: str, sent_to: str | None, tmp_path: Path
) -> None:
    async def nobody(port: int, path: str, body: object) -> None:
        del port, path, body

    choices = await find_choices({"HF_HOME": str(tmp_path)}, configured, nobody)
    (own,) = [each for each in choices if each.configured]
    assert (own.reference, own.sent_to) == (configured, sent_to)
    assert "built-in" in [each.reference for each in choices]


@rows(
    ("configured", "answers"),
    [
        ("ollama:qwen3@{}", {"/api/tags": b'{"models":[{"name":"qwen3:latest"},{"name":"qwen3:8b"}]}'}),
        ("ollama:qwen3:latest@{}", {"/api/tags": b'{"models":[{"name":"qwen3:latest"}]}'}),
        ("openai:m@{}/v1/", BARE),
        ("openai:@{}/v1", BARE),
    ],
)
def test_MOD_26_a_model_that_is_configured_by_another_spelling_is_the_listed_one(
    configured: str, answers: dict[str, bytes]
) -> None:
    with listing_server(answers) as server, TemporaryDirectory() as empty:
        named = configured.format(f"http://localhost:{server.port}")
        choices = asyncio.run(find_choices({"HF_HOME": empty}, named))
    (own,) = [each for each in choices if each.configured]
    assert own.reference in {
        f"ollama:qwen3:latest@http://127.0.0.1:{server.port}",
        f"openai:m@http://127.0.0.1:{server.port}/v1",
    }
    assert named not in [each.reference for each in choices]


@pytest.mark.parametrize("other", ["openai:n@{}/v1", "ollama:m@{}", "openai:m@http://127.0.0.1:1/v1"])
def test_MOD_26_another_model_is_not_the_configured_one(other: str, tmp_path: Path) -> None:
    with listing_server(BARE) as server:
        named = other.format(f"http://localhost:{server.port}")
        choices = asyncio.run(find_choices({"HF_HOME": str(tmp_path)}, named))
    assert [each.reference for each in choices if each.configured] == [named]


def test_MOD_26_a_list_without_a_language_model_says_how_to_get_one() -> None:
    assert advice([Choice("built-in", "", configured=True)]) is not None
    assert advice([Choice("built-in", ""), Choice("ollama:m", "", configured=True)]) is None


def test_MOD_27_a_model_whose_server_counts_no_tokens_is_told_as_it_is() -> None:
    """It used to be described like the built-in model, which generates no tokens."""
    with small_server(shape="LM Studio") as reference:
        report = asyncio.run(check_model(reference, EngineOptions()))
    assert (report.ok, report.tokens) == (True, 0)
    assert all(name in describe_report(report) for name in (report.profile, *report.calls))
    built_in = describe_report(asyncio.run(check_model("built-in", EngineOptions())))
    assert built_in not in describe_report(report)


def test_MOD_27_a_server_that_answers_for_another_model_than_was_named_is_told_of() -> None:
    with small_server() as reference:
        name = reference.partition(":")[2].partition("@")[0]
        other = asyncio.run(check_model(reference.replace(name, "nosuch", 1), EngineOptions()))
    assert (other.ok, name in other.device) == (True, True)
    with small_server() as reference:
        assert name not in asyncio.run(check_model(reference, EngineOptions())).device


@pytest.mark.asyncio
async def test_MOD_27_a_model_is_kept_under_the_name_that_its_server_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(tmp_path))
    with small_server() as reference:
        name = reference.partition(":")[2].partition("@")[0]
        wrong = reference.replace(name, "nosuch", 1)
        for named in (wrong, reference):
            connected = await connect_model(named, None)
            assert connected.report.answers_as == (reference if named == wrong else None)
            assert connected.before is None
            assert json.dumps(reference) in (tmp_path / "config.yaml").read_text()
            assert reference in describe_connected(connected)


@rows(
    ("name", "service"),
    [("gpt-4o", "openai:"), ("claude-opus-4", "anthropic:"), ("Gemini-2.5", "google:"), ("smol", None)],
)
def test_MOD_27_a_bare_name_that_no_folder_has_is_told_how_served_models_are_named(
    name: str, service: str | None
) -> None:
    problem = asyncio.run(check_model(name, EngineOptions())).problem
    assert problem is not None
    ways = [
        f"{each}{name}`" for each in ("openai:", "anthropic:", "google:", "ollama:") if f"{each}{name}`" in problem.fix
    ]
    assert ways == [f"{each}{name}`" for each in (service, "ollama:") if each is not None]
    assert f"openai:{name}@http" in problem.fix


def test_MOD_01_a_bare_name_is_a_folder_if_one_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smol").mkdir()
    assert model_folder("smol") == tmp_path / "smol"


@pytest.mark.asyncio
async def test_MOD_27_a_model_that_cannot_be_asked_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(tmp_path))
    connected = await connect_model("openai:x@http://127.0.0.1:1/v1", None)
    assert connected.report.problem is not None
    assert connected.file is None
    assert own_file({"REMIT_CONFIG_DIR": str(tmp_path)}).exists() is False


@pytest.mark.asyncio
async def test_MOD_27_what_names_another_model_all_the_same_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("REMIT_MODEL", "openai:other")
    connected = await connect_model("built-in", None)
    assert connected.before is not None
    assert connected.before.where == "REMIT_MODEL"
    assert json.dumps("built-in") in (tmp_path / "config.yaml").read_text()


@pytest.mark.asyncio
@pytest.mark.parametrize("reference", ["google:", "openai:x@ftp://h"])
async def test_MOD_27_the_beginning_of_a_reference_is_refused(reference: str) -> None:
    with pytest.raises(SetupError):
        await connect_model(reference, None)


@rows("reference", ["nosuch", "org/never-pulled", "openai:x@http://127.0.0.1:1/v1", "/nowhere/at/all"])
def test_MOD_27_what_is_not_there_is_said_before_the_next_message(reference: str) -> None:
    assert asyncio.run(why_not_there(reference)) is not None
