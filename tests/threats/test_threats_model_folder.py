"""A model folder whose template and settings try to run programs or to take for ever: they are not trusted."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import pytest
from messages import SAYS
from tiny_models import tiny_model

from remit_server.errors import ModelUnavailable
from remit_server.models.local import process
from remit_server.models.local.process import HostProcess
from remit_server.models.local.provider import MlxProvider
from remit_server.models.local.wire import Load
from remit_server.models.ports import Finished, GenerateRequest, UserMessage

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]

LOOP = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3
ENDLESS = "{% for m in messages %}{{ m.content }}{% if 'endless' in m.content %}" + LOOP + "{% endif %}{% endfor %}"


def _folder(
    folder: Path, *, config: dict[str, object] | None = None, tokenizer: dict[str, object] | None = None
) -> Path:
    tiny_model("bytes", folder)
    for name, more in (("config.json", config), ("tokenizer_config.json", tokenizer)):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | (more or {})))
    return folder


async def _ask(provider: MlxProvider, text: str) -> bool:
    request = GenerateRequest(session_id=text, messages=(UserMessage(text),), intents={}, max_tokens=2)
    async with aclosing(provider.generate(request)) as events:
        return [isinstance(event, Finished) async for event in events][-1]


async def test_THR_model_a_template_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CANCEL_TIMEOUT_S", 0.5)
    provider = MlxProvider(str(_folder(tmp_path / "model", tokenizer={"chat_template": ENDLESS})))
    try:
        assert await _ask(provider, "short")
        lost = provider.pid
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_ask(provider, "endless"), 1)
        while provider.pid == lost:
            await asyncio.sleep(0.1)
        assert await _ask(provider, "short")
    finally:
        await provider.close()


async def test_THR_model_a_template_without_end_when_it_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PROBE_TIMEOUT_S", 0.5)
    spawned: list[HostProcess] = []
    folder = _folder(tmp_path / "model", tokenizer={"chat_template": LOOP})
    with pytest.raises(ModelUnavailable) as refusal:
        await HostProcess.start(Load(folder=str(folder)), on_spawned=spawned.append)
    assert SAYS.its_tokenizer_and_chat_template in refusal.value.why
    with pytest.raises(ProcessLookupError):
        os.kill(spawned[0].pid, 0)


def _escapes(marker: Path) -> str:
    commands = (
        "cycler.__init__.__globals__.os.system('touch %s')",
        "lipsum.__globals__['os'].popen('touch %s')",
        "messages.__class__.__mro__[1].__subclasses__()",
    )
    return "".join("{{ " + command.replace("%s", str(marker)) + " }}" for command in commands)


async def test_THR_model_a_template_that_starts_a_program(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    provider = MlxProvider(str(_folder(tmp_path / "model", tokenizer={"chat_template": _escapes(marker)})))
    try:
        assert await _ask(provider, "short")
    finally:
        await provider.close()
    assert not marker.exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"config": {"model_file": "evil.py"}},
        {
            "config": {"auto_map": {"AutoConfig": "evil.C"}},
            "tokenizer": {"tokenizer_class": "T", "auto_map": {"AutoTokenizer": ["evil.T", None]}},
        },
        {"tokenizer": {"tool_parser_type": "evil", "chat_template_type": "evil"}},
    ],
    ids=["model file", "auto map", "parser"],
)
async def test_THR_model_a_folder_with_a_program_of_its_own(
    tmp_path: Path, settings: dict[str, dict[str, object]]
) -> None:
    marker = tmp_path / "marker"
    folder = _folder(tmp_path / "model", **settings)
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    provider = MlxProvider(str(folder))
    try:
        with pytest.raises(ModelUnavailable):
            await _ask(provider, "short")
    finally:
        await provider.close()
    assert not marker.exists()
