"""MOD-16: the dialects of calls. Each row of the table is spelled, read, held by a grammar, and compared with
templates."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import urllib.request
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from examples import rounds
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from tiny_model import MARKERS, ask, collect, governed_calls, tiny_model

from remit_server.models.dialects.read import UnreadableCall, read_calls
from remit_server.models.dialects.table import (
    COMPACT,
    DIALECTS,
    GEMMA,
    GLM,
    GLM_ON_LINES,
    HARMONY,
    HERMES,
    LLAMA,
    MISTRAL,
    MISTRAL_WITH_IDS,
    PYTHON,
    QWEN_XML,
    Dialect,
    QuotedKeys,
    Tagged,
    spell_call,
)
from remit_server.models.local.host.prompts import Renderer, Template, TemplateMessage, renderer
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.provider import MlxProvider
from remit_server.models.local.wire import ChatMessage
from remit_server.models.ports import CallProposed, Effort, ProposedCall

EACH = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
SCHEMA: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "all": {"type": "boolean"},
        "names": {"type": "array"},
    },
}
WORDS = st.text(st.sampled_from("aé \n\t\"'\\{}[](),:=<>/|7漢"), max_size=30)
ARGUMENTS = st.fixed_dictionaries(
    {"path": WORDS},
    optional={
        "text": WORDS,
        "count": st.integers(-(10**6), 10**6),
        "all": st.booleans(),
        "names": st.lists(WORDS, max_size=3),
    },
)


def body_of(dialect: Dialect, spelled: str) -> str:
    """Returns the text between the markers, which the reader of marked text passes on."""
    assert spelled.startswith(dialect.marker)
    return spelled.removeprefix(dialect.marker).removesuffix(dialect.end)


def cannot_spell(dialect: Dialect, arguments: Mapping[str, Any]) -> bool:
    texts = [value for value in arguments.values() if isinstance(value, str)]
    match dialect.encoding:
        case Tagged(close_value=closing):
            return any(closing.strip() in text for text in texts)
        case QuotedKeys(quote=quote):
            return any(quote in text for text in (*texts, *arguments.get("names", [])))
        case _:
            return False


@EACH
@given(arguments=ARGUMENTS)
def test_MOD_16_what_is_spelled_is_read(dialect: Dialect, arguments: dict[str, Any]) -> None:
    if cannot_spell(dialect, arguments):
        return
    spelled = spell_call(dialect, "edit_file", arguments, "abcdefgh1")
    (call,) = read_calls(dialect, body_of(dialect, spelled), {"edit_file": SCHEMA})
    assert (call.name, call.arguments) == ("edit_file", arguments)


@EACH
@given(data=st.data())
def test_MOD_04_a_call_that_is_cut_off_is_refused(dialect: Dialect, data: st.DataObject) -> None:
    body = body_of(dialect, spell_call(dialect, "edit_file", {"path": "src/a.py", "text": "x = 1"}, "abcdefgh1"))
    cut = body[: data.draw(st.integers(0, len(body.rstrip()) - 1))]
    try:
        calls = read_calls(dialect, cut, {"edit_file": SCHEMA})
    except UnreadableCall:
        return
    whole = {"path": "src/a.py", "text": "x = 1"}
    # Between the tags of two arguments nothing shows that another one follows; only the call's end marker does.
    assert isinstance(dialect.encoding, Tagged)
    assert all(call.arguments.items() <= whole.items() for call in calls)


# held by a grammar

TOKENS: Mapping[str, tuple[str, ...]] = {
    HERMES.name: ("<tool_call>", "</tool_call>"),
    QWEN_XML.name: ("<tool_call>", "</tool_call>"),
    GLM.name: ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    GLM_ON_LINES.name: ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    MISTRAL.name: ("[TOOL_CALLS]", "[ARGS]"),
    MISTRAL_WITH_IDS.name: ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
    HARMONY.name: ("<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|return|>"),
    GEMMA.name: ("<|tool_call>", "<tool_call|>", '<|"|>'),
    PYTHON.name: ("<|tool_call_start|>", "<|tool_call_end|>"),
    LLAMA.name: (),
}
"""For each dialect, the markers for which its models have single tokens."""

SIGN: Mapping[str, str] = {
    HERMES.name: "<tool_call>",
    QWEN_XML.name: "<function=",
    GLM.name: "<arg_key>",
    GLM_ON_LINES.name: "</arg_key>\\n<arg_value>",
    MISTRAL.name: "[TOOL_CALLS]",
    MISTRAL_WITH_IDS.name: "[CALL_ID]",
    HARMONY.name: "<|channel|>",
    GEMMA.name: "<|tool_call>",
    PYTHON.name: "<|tool_call_start|>",
    LLAMA.name: '"parameters": ',
}
GENERATIONS = rounds(1_000, 60)


def template_of(dialect: Dialect) -> str:
    """Returns a template that contains only the sign of its dialect."""
    said = "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}<|end|>{%- endfor -%}<|assistant|>"
    return f"{{%- set sign = {json.dumps(SIGN[dialect.name])} -%}}{said}"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra")
@pytest.mark.parametrize("name", TOKENS)
async def test_THR_model_outside_intent_in_every_dialect(name: str) -> None:
    """Random generations under a dialect's grammar contain no call outside the intent, and no invalid argument."""
    dialect = DIALECTS[name]
    begins = TOKENS[name][:1] or (dialect.marker[0],)
    model = tiny_model(f"dialect-{name}", (*MARKERS[:6], *TOKENS[name]), template_of(dialect), begins=begins)
    provider = MlxProvider(str(model), EngineOptions(profile="large"))
    counts: Counter[str] = Counter()
    try:
        for seed in range(GENERATIONS):
            request = ask("rename a to b in c.py", session=f"n{seed}", temperature=1.0, seed=seed, max_tokens=200)
            events = await collect(provider, request)
            counts += governed_calls(events, None, dialect)
            counts["called"] += any(isinstance(event, CallProposed) for event in events)
    finally:
        await provider.close()
    print(name, dict(counts))
    assert counts["called"] >= GENERATIONS // 10
    assert counts["read_file"] + counts["edit_file"] + counts["run_command"] >= GENERATIONS // 20


# as the models' own templates have it

GOLDEN: Mapping[str, tuple[Dialect, bool]] = {
    "Qwen-Qwen2.5-7B-Instruct": (HERMES, True),
    "Qwen-Qwen3-0.6B": (HERMES, True),
    "ibm-granite-granite-4.0": (HERMES, True),
    "ibm-granite-granite-4.1": (HERMES, True),
    "Qwen3-Coder": (QWEN_XML, True),
    "Qwen3.5-4B": (QWEN_XML, True),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": (QWEN_XML, True),
    "GLM-4.6": (GLM_ON_LINES, True),
    "GLM-4.7-Flash": (GLM, True),
    "mistralai-Ministral-3-14B-Reasoning-2512": (MISTRAL, True),
    "unsloth-mistral-Devstral-Small-2507": (MISTRAL, True),
    "Mistral-Small-3.2-24B-Instruct-2506": (MISTRAL_WITH_IDS, True),
    "openai-gpt-oss-120b": (HARMONY, True),
    "google-gemma-4-31B-it": (GEMMA, True),
    "LFM2-8B-A1B": (PYTHON, False),
    "meta-llama-Llama-3.1-8B-Instruct": (LLAMA, True),
    "meta-llama-Llama-3.2-3B-Instruct": (LLAMA, True),
    "meta-llama-Llama-3.3-70B-Instruct": (LLAMA, True),
    "google-gemma-2-2b-it": (COMPACT, False),
}
"""For each model, the dialect of its template, and whether the template itself spells calls."""

INDEX = "https://pypi.org/simple/llama-cpp-python/"
SDIST = "llama_cpp_python-0.3.36.tar.gz"
ARGUMENTS_OF_ALL_KINDS: dict[str, JsonValue] = {
    "path": "src/a.py",
    "text": 'x = "é" < 1\n\n\treturn\n',
    "count": 3,
    "all": True,
    "names": ["a", "b c"],
}


def fetch_sdist() -> bytes:
    """Downloads the source package from PyPI, and checks it against the index."""
    accepts = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(INDEX, headers=accepts), timeout=60) as answer:
        files = json.loads(answer.read())["files"]
    (listed,) = (file for file in files if file["filename"] == SDIST)
    with urllib.request.urlopen(listed["url"], timeout=60) as answer:
        packed: bytes = answer.read()
    assert hashlib.sha256(packed).hexdigest() == listed["hashes"]["sha256"]
    return packed


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The models' own chat templates, taken from llama.cpp's source; none is kept in this repository."""
    if folder := os.environ.get("REMIT_CHAT_TEMPLATES"):
        return {path.stem: path.read_text("utf-8") for path in Path(folder).glob("*.jinja")}
    try:
        packed = fetch_sdist()
    except OSError as error:
        pytest.skip(f"the templates cannot be fetched: {error}; REMIT_CHAT_TEMPLATES can name a folder of them")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        wanted = [
            each for each in archive.getmembers() if "/models/templates/" in each.name and each.name.endswith(".jinja")
        ]
        return {Path(each.name).stem: archive.extractfile(each).read().decode() for each in wanted}  # type: ignore[union-attr]


def compiled(source: str) -> Template:
    """Returns a function that renders a template as transformers does."""
    from transformers.utils.chat_template_utils import _compile_jinja_template

    made = _compile_jinja_template(source)

    def render(messages: list[TemplateMessage], tools: list[TemplateMessage], effort: Effort | None) -> str:
        return made.render(
            **({} if effort is None else {"reasoning_effort": effort}),
            messages=messages,
            tools=tools or None,
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token="<bos>",
            eos_token="<eos>",
        )

    return render


def conversation(calls: int) -> list[ChatMessage]:
    """Returns a request, and `calls` calls with their results, one call per message."""
    said = [ChatMessage(role="system", content="s"), ChatMessage(role="user", content="u")]
    for number in range(calls):
        arguments = ARGUMENTS_OF_ALL_KINDS if number == 0 else {"n": number}
        call = ProposedCall(id=f"c{number}", name="probe_tool", arguments=arguments)
        said.append(ChatMessage(role="assistant", content="", tool_calls=(call,)))
        said.append(ChatMessage(role="tool", content=f"result {number}", name="probe_tool", tool_call_id=f"c{number}"))
    return said


def spelled_by(shown: Renderer, message: ChatMessage) -> str:
    """Returns the text that the grammar makes the model write for the message's call."""
    (call,) = message.tool_calls
    call_id = hashlib.sha256(call.id.encode()).hexdigest()[:9]
    return spell_call(shown.dialect, call.name, call.arguments, call_id)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_MOD_16_call_result_call_is_the_models_template_byte_for_byte(templates: Mapping[str, str], name: str) -> None:
    """The template later spells a call exactly as the model wrote it under the grammar, so that a prompt only grows."""
    dialect, native = GOLDEN[name]
    source = templates[name]
    shown = renderer(compiled(source), (), "<bos>", "<eos>", source=source)
    assert (shown.dialect, shown.native_calls) == (dialect, native)
    whole = conversation(2)
    last = shown.render(whole, {})
    at = 0
    for number in (2, 4):
        spelled = spelled_by(shown, whole[number])
        found = last.find(spelled, at)
        assert found >= 0, last
        before = shown.render(whole[:number], {})
        # A template may drop, from earlier messages, the thinking with which it begins a prompt.
        prompt = re.sub(r"(<think>\s*</think>|<\|channel>thought\n<channel\|>)\s*\Z", "", before)
        assert last.startswith(prompt.rstrip("\n"))
        between = last[len(prompt.rstrip("\n")) : found]
        assert between.replace("<think>", "").replace("</think>", "").strip() == ""
        at = found + len(spelled)
    assert "result 0" in last
    assert "result 1" in last


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("filling", ["\n", " \n", "a ", "<", "{", '"'])
def test_MOD_14_a_long_text_that_is_no_call_is_read_in_time_by_its_length(name: str, filling: str) -> None:
    """An expression that starts again at each place would take minutes."""
    with pytest.raises(UnreadableCall):
        read_calls(DIALECTS[name], filling * 300_000, {})
