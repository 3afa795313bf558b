"""A failure of the model process ends in an error with words; the server lives on and answers the next request
(MOD-02). Every process here is the real one."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from messages import SAYS
from tiny_model import MARKERS, TEMPLATE, ask, collect, last, tiny_model

from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.local import wire
from remit_server.models.local.host.caches import CacheStore, Session
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.process import HostProcess
from remit_server.models.local.provider import FREE_RESTARTS, MlxProvider
from remit_server.models.ports import Finished

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]

linux = pytest.mark.skipif(sys.platform != "linux", reason="sets a limit of another process")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a small model, which a test may damage."""
    source = tiny_model("markers", MARKERS, TEMPLATE)
    copied = tmp_path / "model"
    copied.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (copied / name).write_bytes((source / name).read_bytes())
    return copied


def limit(pid: int, size: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def address_space(pid: int) -> int:
    """Returns the number of bytes that a process has mapped."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@linux
async def test_out_of_memory_while_loading(folder: Path) -> None:
    """The limit is below what the libraries alone need, so the process reports that it cannot load, and ends."""
    spawned: list[int] = []

    def starve(host: HostProcess) -> None:
        spawned.append(host.pid)
        limit(host.pid, 200 << 20)

    with pytest.raises(ModelUnavailable) as raised:
        await HostProcess.start(wire.Load(folder=str(folder)), on_spawned=starve)
    assert raised.value.why
    assert raised.value.fix
    with pytest.raises(ProcessLookupError):
        os.kill(spawned[0], 0)


@linux
async def test_out_of_memory_while_generating(folder: Path) -> None:
    """The step ends with an error; when there is memory again, the same provider answers."""
    provider = MlxProvider(str(folder), EngineOptions(profile="large"))
    try:
        expected = last(await collect(provider, ask(max_tokens=20)))
        pid = provider.pid
        assert pid is not None
        limit(pid, address_space(pid))
        with pytest.raises((ModelFailed, ModelUnavailable)) as raised:
            await collect(provider, ask("word " * 3500, session="large", max_tokens=20))
        assert raised.value.what
        assert raised.value.fix
        if provider.pid == pid:
            limit(pid, resource.RLIM_INFINITY)
        again = last(await collect(provider, ask(session="again", max_tokens=20)))
        assert again.completion_tokens == expected.completion_tokens
    finally:
        await provider.close()


def cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def zero_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(bytes(path.stat().st_size))


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def garbage_config(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"\x00\xff{{{")


def unknown_architecture(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "no_such_model"}))


def other_shape(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 128}))


DAMAGE = [cut_weights, zero_weights, no_config, garbage_config, unknown_architecture, other_shape]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_corrupt_model_folder_and_then_a_whole_one(damage: Callable[[Path], None], folder: Path) -> None:
    kept = contents(folder)
    damage(folder)
    provider = MlxProvider(str(folder), EngineOptions(profile="large"))
    try:
        with pytest.raises(ModelUnavailable) as raised:
            await collect(provider, ask())
        assert str(folder) in raised.value.what
        assert raised.value.why
        assert raised.value.fix
        assert "Traceback" not in raised.value.why
        assert provider.state == "failed"
        for name, content in kept.items():
            (folder / name).write_bytes(content)
        assert last(await collect(provider, ask(max_tokens=5))).completion_tokens > 0
    finally:
        await provider.close()


async def test_model_larger_than_memory_is_not_loaded(folder: Path) -> None:
    """The header alone decides: the file is sparse, claims eight TiB, and takes no space."""
    size = 1 << 43
    header = json.dumps({"w": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}}).encode()
    path = folder / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    try:
        os.truncate(path, 8 + len(header) + size)
    except OSError:
        pytest.skip("this file system has no files of that size")
    provider = MlxProvider(str(folder), EngineOptions(profile="large"))
    with pytest.raises(ModelUnavailable, match="does not fit into memory") as raised:
        await collect(provider, ask())
    assert "MiB" in raised.value.why
    assert "REMIT_MODEL_MEMORY_CHECK" in raised.value.fix
    await provider.close()


@pytest.fixture
def without_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a folder first on the model process's path whose `mlx_lm` cannot be imported."""
    package = tmp_path / "first" / "mlx_lm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('libmlx.so: cannot open shared object file')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "first"), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.usefixtures("without_package")
async def test_package_that_cannot_be_imported(folder: Path) -> None:
    provider = MlxProvider(str(folder), EngineOptions(profile="large"))
    with pytest.raises(ModelUnavailable, match="libmlx") as raised:
        await collect(provider, ask())
    assert SAYS.make_clean_setup in raised.value.fix
    await provider.close()


async def test_MOD_07_a_pulled_model_is_found_without_a_restart_and_named_as_on_the_hub(folder: Path) -> None:
    pulled: list[Path] = []

    def find() -> Path:
        if not pulled:
            raise ModelUnavailable("there is no model", "it was not pulled", "pull it")
        return pulled[0]

    provider = MlxProvider("org/name@main", EngineOptions(profile="large"), find=find)
    with pytest.raises(ModelUnavailable, match="not pulled"):
        await collect(provider, ask())
    assert (provider.name, provider.state) == ("org/name@main", "stopped")
    pulled.append(folder)
    assert last(await collect(provider, ask(max_tokens=5))).completion_tokens > 0
    assert (provider.name, provider.state) == ("org/name@main", "ready")
    await provider.close()


async def test_a_model_that_dies_at_once_gets_pauses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is restarted a few times at once, and then only after a pause; a request in the pause gets an error that says
    so."""
    clock = [0.0]
    provider = MlxProvider(str(folder), EngineOptions(profile="large"), now=lambda: clock[0])
    starts: list[int] = []
    watch = provider._watch

    def killed_at_once(host: HostProcess) -> None:
        watch(host)
        starts.append(host.pid)
        os.kill(host.pid, signal.SIGKILL)

    monkeypatch.setattr(provider, "_watch", killed_at_once)
    try:
        for _ in range(FREE_RESTARTS + 1):
            with pytest.raises(ModelUnavailable, match="SIGKILL"):
                await collect(provider, ask())
        for _ in range(3):
            with pytest.raises(ModelUnavailable, match="not started again yet") as raised:
                await collect(provider, ask())
            assert "SIGKILL" in raised.value.why
            assert " s;" in raised.value.fix
            assert not raised.value.retryable
        assert len(starts) == FREE_RESTARTS + 1
        clock[0] += 3
        monkeypatch.setattr(provider, "_watch", watch)
        assert last(await collect(provider, ask(max_tokens=5))).completion_tokens > 0
        # After one answer the count of failures starts again.
        assert provider.pid is not None
        os.kill(provider.pid, signal.SIGKILL)
        while provider.state != "failed":
            await asyncio.sleep(0.01)
        assert last(await collect(provider, ask(max_tokens=5))).completion_tokens > 0
    finally:
        await provider.close()


async def test_loading_is_told(folder: Path) -> None:
    seen: list[wire.Loading] = []
    host = await HostProcess.start(wire.Load(folder=str(folder)), on_spawned=lambda each: watch_loading(each, seen))
    try:
        assert [each.done for each in seen] == sorted({each.done for each in seen})
        assert seen[0].done == 0
        assert seen[-1].done == seen[-1].total > 0
    finally:
        await host.close()


def watch_loading(host: HostProcess, seen: list[wire.Loading]) -> None:
    dispatch = host._dispatch

    def noted(event: wire.Event) -> None:
        dispatch(event)
        if isinstance(event, wire.Loading):
            assert host.loading == event
            seen.append(event)

    host._dispatch = noted  # type: ignore[method-assign]


async def asked_once(folder: Path, options: EngineOptions) -> Finished:
    """Runs one request of a session, in a process of its own."""
    provider = MlxProvider(str(folder), options)
    try:
        return last(await collect(provider, ask("rename a to b " * 40, session="kept", max_tokens=10)))
    finally:
        await provider.close()


async def test_prompt_cache_outlasts_the_process(folder: Path, tmp_path: Path) -> None:
    """With a folder to keep them in, caches are there again after a restart; one that does not fit is ignored."""
    options = EngineOptions(cache_dir=tmp_path / "caches")
    first = await asked_once(folder, options)
    assert first.cached_tokens == 0
    (kept,) = contents(tmp_path / "caches")
    assert (tmp_path / "caches" / kept).stat().st_mode & 0o077 == 0
    again = await asked_once(folder, options)
    assert again.cached_tokens == again.prompt_tokens - 1
    assert again.completion_tokens == first.completion_tokens
    os.utime(folder / "model.safetensors", (1, 1))
    assert (await asked_once(folder, options)).cached_tokens == 0  # now another model, with a cache file of its own
    assert len(contents(tmp_path / "caches")) == 2
    for file in contents(tmp_path / "caches"):
        os.truncate(tmp_path / "caches" / file, 200)
    assert (await asked_once(folder, options)).cached_tokens == 0
    assert (await asked_once(folder, EngineOptions())).cached_tokens == 0


class Small:
    """A cache of six bytes."""

    def save(self, path: Path, metadata: dict[str, str]) -> None:
        path.write_bytes(b"x" * 6)


def test_MOD_05_files_that_are_being_written_are_not_counted_and_what_a_kill_left_goes(tmp_path: Path) -> None:
    for name, size, age in ((".writing", 50, 5), (".left", 50, 9_000), ("old", 6, 60)):
        file = tmp_path / f"{name}.safetensors"
        file.write_bytes(b"x" * size)
        os.utime(file, (time.time() - age, time.time() - age))
    tmp_path.chmod(0o700)
    CacheStore(tmp_path, "model", most_bytes=10).save("s", Session((1,), None, Small(), 1, 0))  # type: ignore[arg-type]
    kept, written = sorted(contents(tmp_path))
    assert kept == ".writing.safetensors"
    assert written != "old.safetensors"
