"""Prompt caches of a model: lent between sessions, counted, and not left half stored if the disk is full (MOD-05)."""

from __future__ import annotations

import resource
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, project
from random_model import kept_model
from tiny_model import MARKERS, TEMPLATE, ask, collect, last, tiny_model

from remit_server.cli.main import main
from remit_server.models.local.host.caches import CHUNK, Session, resume
from remit_server.models.local.host.token_caches import Cache
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.provider import MlxProvider

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]


def test_a_lent_prefix_gives_the_same_scores_bit_for_bit() -> None:
    """The scores are the same even while the lending session goes on, so other sessions change no answer."""
    from remit_server.models.local.host.mlx_backend import LanguageModel, prepare

    prepare()
    import mlx.core as mx

    model = LanguageModel.load(tiny_model("markers", MARKERS, TEMPLATE), lambda done, total: None)
    beginning = model.encode("what a parser does and why it does so, " * 100)[: 2 * CHUNK + 40]
    assert len(beginning) == 2 * CHUNK + 40

    def read(tokens: list[int], cache: Cache, held: int) -> Any:
        """Reads the tokens as a generation does, and returns the scores after the last one."""
        while held < len(tokens) - 1:
            end = min(held // CHUNK * CHUNK + CHUNK, len(tokens) - 1)
            model.read(tokens[held:end], cache)
            held = end
        return model._model(mx.array([tokens[-1:]]), cache=cache.layers)[:, -1, :]  # pyright: ignore[reportPrivateUsage]

    own = [*beginning, *model.encode("this session asks of a lexer")]
    lender = model.new_cache()
    before = read(beginning, lender, 0)
    lending = Session(tuple(beginning), None, lender, len(beginning), 2 * CHUNK)
    prompt = resume(None, [lending], "", lambda _: own, model.new_cache)
    assert (prompt.cached, prompt.shared) == (2 * CHUNK, True)
    read([*beginning, *model.encode("the lender asks of something else")], lender, len(beginning))
    lent = read(own, prompt.cache, prompt.cached)
    assert mx.array_equal(lent, read(own, model.new_cache(), 0))
    assert not mx.array_equal(lent, before)


async def test_cached_tokens_are_in_the_result_of_a_turn(tmp_path: Path) -> None:
    async with project(tmp_path, {"a.py": SHOP}, name=kept_model(), max_tokens=16) as bench:
        results = [await bench.ask("explain total in a.py", policy={"allow_tools": []}) for _ in range(2)]
    told = [result.usage for result in results if result.usage is not None]
    steps = [event.usage for event in bench.of("usage")]
    assert steps[0].cached_tokens == 0
    assert sum(usage.cached_tokens for usage in told) == sum(step.cached_tokens for step in steps) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit of another process")
async def test_a_cache_that_finds_no_room_on_the_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """The process's files are limited to 100 bytes: the cache cannot be stored, and the answers stay the same."""
    folder, caches = str(tiny_model("markers", MARKERS, TEMPLATE)), tmp_path / "caches"
    said = []
    for _ in range(2):
        provider = MlxProvider(folder, EngineOptions(cache_dir=caches))
        events = await collect(provider, ask("rename a to b " * 40, session="kept", max_tokens=10))
        assert last(events).cached_tokens == 0
        said.append([event for event in events[:-1] if not hasattr(event, "call")])
        assert provider.pid is not None
        resource.prlimit(provider.pid, resource.RLIMIT_FSIZE, (100, 100))
        await provider.close()
        assert list(caches.iterdir()) == []
    assert said[0] == said[1]


def test_checking_a_model_keeps_to_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMIT_MODEL_CACHE_DIR", str(tmp_path / "caches"))
    folder = str(tiny_model("markers", MARKERS, TEMPLATE))
    assert main(["model", "check", folder]) == 0, "its weights are random, but a schema holds its step"
    assert not (tmp_path / "caches").exists()
    monkeypatch.setenv("REMIT_MODEL_CACHE_MIB", "much")
    assert main(["model", "check", folder]) != 0
    assert "REMIT_MODEL_CACHE_MIB" in "".join(capsys.readouterr())
