"""The built-in model starts without the libraries that it does not need, and reads its files as they do (MOD-09)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import ask

from remit_server.models.embedded import MODEL_DIR
from remit_server.models.local import wire
from remit_server.models.local.provider import to_wire

if TYPE_CHECKING:  # it takes a second, also where these tests are left out
    from remit_server.models.embedded.tokenizer import EmbeddedTokenizer

pytestmark = [pytest.mark.slow, pytest.mark.model]

HEAVY = {"mlx_lm", "transformers", "huggingface_hub", "torch", "rich"}


def answered(log: Path) -> list[wire.Event]:
    """All that the model's process says to one question; what it imports is in `log`."""
    command = [sys.executable, "-P", "-X", "importtime", "-m", "remit_server.models.local.host"]
    asked = (wire.Load(reference="embedded"), to_wire(ask()))
    with log.open("wb") as errors:
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for message in asked:
                process.stdin.write(wire.encode(message))
            process.stdin.flush()
            frames, events = wire.FrameBuffer(), []
            while not any(isinstance(event, wire.Finished | wire.Error) for event in events):
                data = os.read(process.stdout.fileno(), 1 << 16)
                assert data, "the process ended by itself"
                events += [wire.decode_event(payload) for payload in frames.feed(data)]
            process.stdin.close()
    return events


def test_MOD_09_a_question_to_the_built_in_model_imports_no_library_of_models(tmp_path: Path) -> None:
    events = answered(tmp_path / "log")
    assert any(isinstance(event, wire.Call) for event in events)
    lines = (line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("import time:"))
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "mlx" in imported
    assert not imported & HEAVY


@pytest.fixture(scope="module")
def ours() -> EmbeddedTokenizer:
    from remit_server.models.embedded.tokenizer import EmbeddedTokenizer

    return EmbeddedTokenizer(MODEL_DIR)


@pytest.fixture(scope="module")
def theirs() -> Any:
    from remit_server.models.local.host.cache.token_caches import load_mlx_lm

    load_mlx_lm()
    from mlx_lm.tokenizer_utils import load

    return load(MODEL_DIR)


TEXTS = st.lists(
    st.sampled_from(["<|end|>", "<tool_call>", "héllo", "\n  ", "🙂", "total", "\t"]) | st.text(max_size=8)
)


@given(pieces=TEXTS)
@settings(deadline=None)
def test_MOD_09_its_tokens_are_those_of_the_library(ours: Any, theirs: Any, pieces: list[str]) -> None:
    text = "".join(pieces)
    tokens = theirs.encode(text, add_special_tokens=False)
    assert ours.encode(text, add_special_tokens=False) == tokens
    for token in tokens:
        assert ours.decode([token]) == theirs.decode([token], skip_special_tokens=False)
    said, heard = ours.detokenizer, ""
    for token in tokens:
        said.add_token(token)
        heard += said.last_segment
    said.finalize()
    assert heard + said.last_segment == text


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": st.text(max_size=30) | st.none()}
)
CALL = {"function": {"name": "read_file", "arguments": {"path": "é.py", "n": 1, "deep": ["<", None, True]}}}


@given(messages=st.lists(MESSAGE, min_size=1, max_size=5), called=st.booleans())
@settings(deadline=None)
def test_MOD_09_its_prompts_are_those_of_the_library(
    ours: Any, theirs: Any, messages: list[dict[str, Any]], called: bool
) -> None:
    if called:
        messages = [*messages, {"role": "assistant", "content": "", "tool_calls": [CALL]}]
    how = {"tools": None, "add_generation_prompt": True, "tokenize": False, "enable_thinking": False}
    assert ours.apply_chat_template(messages, **how) == theirs.apply_chat_template(messages, **how)


def test_MOD_09_what_is_asked_of_a_tokenizer_is_the_same(ours: Any, theirs: Any) -> None:
    same = (
        "bos_token",
        "bos_token_id",
        "eos_token",
        "chat_template",
        "has_chat_template",
        "has_thinking",
        "tool_parser",
    )
    for name in same:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert set(ours.eos_token_ids) == set(theirs.eos_token_ids)
    assert ours.get_vocab() == theirs.get_vocab()
    assert len(ours) == len(theirs.get_vocab())
    known = {number: (token.content, token.special) for number, token in theirs.added_tokens_decoder.items()}
    assert {number: tuple(token) for number, token in ours.added_tokens_decoder.items()} == known
    written = json.loads(ours.to_json())
    assert written["model"]["vocab"] == json.loads((MODEL_DIR / "tokenizer.json").read_text())["model"]["vocab"]
