"""Models as their files describe them: reading a folder never fails, whatever it contains, and an incomplete model is
none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_server.models.finding import list_models
from remit_server.models.local.hub.cache import HubName, cache_folder, cached_repo, find_snapshot, hub_name
from remit_server.models.local.hub.model_files import OVERHEAD, describe, needed_memory

COMMIT = "c" * 40
MIB = 1 << 20


def weights(header: Any, body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


GOOD = weights({"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}, bytes(8))
CONFIG = {"model_type": "qwen3", "quantization": {"bits": 4}, "text_config": {"max_position_embeddings": 32768}}


def model(folder: Path, **changed: bytes | None) -> Path:
    """Makes a model with the required files; None leaves a file out."""
    files = {"config.json": json.dumps(CONFIG).encode(), "tokenizer.json": b"{}", "model.safetensors": GOOD}
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in (files | {key.replace("__", "."): value for key, value in changed.items()}).items():
        if data is not None:
            (folder / name).write_bytes(data)
    return folder


def test_a_model_says_what_it_is(tmp_path: Path) -> None:
    found = describe(model(tmp_path))
    assert (found.architecture, found.weights, found.context, found.problem) == ("qwen3", "4 bit", 32768, None)
    assert found.size_bytes == len(GOOD)


def test_half_precision_is_widened_on_a_cpu() -> None:
    amounts = {"BF16": 100 * MIB, "U32": 50 * MIB}
    assert needed_memory(150 * MIB, amounts, "linux") == 250 * MIB + OVERHEAD
    assert needed_memory(150 * MIB, amounts, "darwin") == 150 * MIB + OVERHEAD


INDEX = json.dumps({"weight_map": {"w": "model.safetensors", "v": "model-2.safetensors"}}).encode()
BROKEN: dict[str, tuple[dict[str, bytes | None], str]] = {
    "no config": ({"config__json": None}, "lacks config.json"),
    "no tokenizer": ({"tokenizer__json": None}, "lacks tokenizer.json"),
    "no weights": ({"model__safetensors": None}, "lacks model*.safetensors"),
    "cut": ({"model__safetensors": GOOD[:-1]}, "damaged"),
    "longer": ({"model__safetensors": GOOD + b"x"}, "damaged"),
    "a shard is missing": ({"model__safetensors__index__json": INDEX}, "1 of 2 files are missing"),
    "config is a list": ({"config__json": b"[]"}, "not a JSON object"),
    "config is deep": ({"config__json": b"[" * 100_000}, "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_half_a_model_is_none(tmp_path: Path, name: str) -> None:
    changed, words = BROKEN[name]
    assert words in (describe(model(tmp_path, **changed)).problem or "")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["w", "data_offsets", "dtype", "__metadata__"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["model_type", "quantization", "text_config", "max_position_embeddings", "weight_map"])


@settings(max_examples=examples(25), deadline=None)
@given(ANY, st.dictionaries(KEYS, ANY), st.dictionaries(KEYS, ANY), st.binary(max_size=12))
def test_looking_never_fails(
    tmp_path_factory: pytest.TempPathFactory, header: Any, config: Any, index: Any, body: bytes
) -> None:
    shapes = {"config__json": config, "model__safetensors__index__json": index}
    texts = {name: json.dumps(value).encode() for name, value in shapes.items()}
    describe(model(tmp_path_factory.mktemp("m"), model__safetensors=weights(header, body), **texts))


@rows(
    ("reference", "name"),
    {
        "org/name": HubName("org/name"),
        "org/name@v1.0": HubName("org/name", "v1.0"),
        "org/name@refs/pr/1": HubName("org/name", "refs/pr/1"),
        "built-in": None,
        "./org/name": None,
        "/org/name": None,
        "~/name": None,
        "a/b/c": None,
        "org/..": None,
        "org/name@../x": None,
        "org/name@a..b": None,
        "org/na me": None,
        "org/name\n": None,
        "script:a/b": None,
    }.items(),
)
def test_what_is_a_name_of_the_hub(reference: str, name: HubName | None) -> None:
    assert hub_name(reference) == name
    assert name is None or str(name) == reference


def test_the_cache_is_where_the_hub_s_own_client_has_it(tmp_path: Path) -> None:
    assert cache_folder({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}) == Path("/a")
    assert cache_folder({"HF_HOME": "/b"}) == Path("/b/hub")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/huggingface/hub")


def test_cached_models_are_listed_by_branch_or_commit(tmp_path: Path) -> None:
    repo = cached_repo(tmp_path / "hub", "org/name")
    model(repo.snapshot(COMMIT))
    model(repo.snapshot("d" * 40), config__json=None)
    repo.remember("main", COMMIT)
    (tmp_path / "hub" / "models--org--empty").mkdir()
    listed = {each.reference: each for each in list_models({"HF_HOME": str(tmp_path)}, "org/absent")}
    old = f"org/name@{'d' * 40}"
    assert set(listed) == {"built-in", "org/name", old, "org/absent"}
    assert listed["org/name"].model.problem is None
    assert not listed[old].fits
    assert listed["org/absent"].configured
    assert "remit model pull org/absent" in (listed["org/absent"].model.problem or "")
    assert find_snapshot(tmp_path / "hub", HubName("org/name", COMMIT)) == repo.snapshot(COMMIT)
    assert find_snapshot(tmp_path / "hub", HubName("org/name", "v1")) is None
