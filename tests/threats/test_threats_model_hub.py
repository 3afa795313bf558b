"""A hub that sends more than it announced: an endless file or an endless list (MOD-07)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import CommandLine
from hub_server import PIECE, Hub, serving

pytestmark = [pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"), pytest.mark.slow]

NAME = "org/small"
FILES = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": bytes(1000)}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub(NAME, FILES)) as hub:
        yield hub


@pytest.fixture
def remit(tmp_path: Path, hub: Hub) -> CommandLine:
    own = {k: v for k, v in CommandLine.alone(tmp_path, tmp_path).environment.items() if not k.startswith("HF_")}
    return CommandLine(tmp_path, own | {"HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": hub.endpoint})


def _written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@pytest.mark.parametrize("file", ["tokenizer.json", "model.safetensors"])
def test_THR_hub_a_file_without_end(remit: CommandLine, hub: Hub, tmp_path: Path, file: str) -> None:
    hub.endless = file
    pulled = remit("model", "pull", NAME)
    assert pulled.code == 1
    assert f"{file} is longer than the {len(FILES[file]):,} bytes that the hub lists" in pulled.err
    assert _written(tmp_path / "hf") < 10 * 1000
    assert hub.sent[file] < 1000 * PIECE


def test_THR_hub_a_list_without_end(remit: CommandLine, hub: Hub) -> None:
    hub.endless_list = True
    pulled = remit("model", "pull", NAME)
    assert pulled.code == 1
    assert "lists more than 2,000 files" in pulled.err
    assert len(hub.requests) < 20
