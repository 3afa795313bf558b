"""A folder for prompt caches that another user of the machine has prepared or can write to."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path

import pytest
from messages import SAYS

from remit_server.models.local.host import caches as store
from remit_server.models.local.host.caches import CacheStore, Session
from remit_server.models.local.host.token_caches import Cache

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]


def _session() -> Session[Cache]:
    import mlx.core as mx
    from mlx_lm.models.cache import KVCache

    layer = KVCache()
    layer.update_and_fetch(mx.zeros((1, 1, 4, 8)), mx.zeros((1, 1, 4, 8)))
    return Session((1, 2, 3, 4), "said", Cache([layer]), 4, 4)


def _stored(folder: Path, name: str = "s") -> bool:
    kept = CacheStore(folder, "model", 1 << 20)
    kept.save(name, _session())
    return kept.load(name) is not None


def test_THR_paths_a_cache_is_stored_for_its_person_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "caches"
    assert _stored(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_THR_paths_a_cache_folder_that_others_write_to(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "caches"
    assert _stored(folder)
    folder.chmod(mode)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with caplog.at_level(logging.WARNING):
        assert not _stored(folder), "what others may have written is not read"
        assert not _stored(folder, "other")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert SAYS.others_may_write_to_it in caplog.text


def test_THR_paths_a_cache_folder_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "caches"
    folder.mkdir(0o700)
    other = folder.stat().st_uid + 1
    monkeypatch.setattr(store.os, "geteuid", lambda: other)
    with caplog.at_level(logging.WARNING):
        assert not _stored(folder)
    assert SAYS.is_not_yours in caplog.text
    assert list(folder.iterdir()) == []


def test_THR_paths_a_link_where_a_cache_is_written(tmp_path: Path) -> None:
    """The links lie at the predictable names: that of the file, and the same with a dot before it."""
    folder, victim = tmp_path / "caches", tmp_path / "victim"
    victim.write_text("precious")
    assert _stored(folder)
    (file,) = folder.iterdir()
    file.unlink()
    for path in (file, file.with_name(f".{file.name}")):
        path.symlink_to(victim)
    assert _stored(folder)
    assert victim.read_text() == "precious"
    assert not file.is_symlink()
