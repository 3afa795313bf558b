"""Changes of the policy's files are noticed, whenever they happen (POL-11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from remit_server.runtime.own_files import own_file_watcher as reloading
from remit_server.runtime.own_files.own_file_watcher import own_file_changes
from remit_server.runtime.settings import Settings

HANGS_S = 30


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a person with a policy; the regular check is off, so that an unnoticed change would stay
    unnoticed."""
    monkeypatch.setattr(reloading, "LOOK_ANYWAY_MS", 3_600_000)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text("first")
    return Settings(tmp_path / "work", tmp_path / "state", tmp_path / "config" / "policy.yaml")


async def test_THR_config_a_change_between_the_look_and_the_watch_is_not_lost(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deny that is written at that moment would otherwise come into force seconds later."""
    real, changed = reloading.awatch, list[int]()

    async def late(*places: Any, **how: Any) -> AsyncGenerator[Any]:
        if not changed:
            changed.append(settings.person_policy.write_text("second"))
        async with aclosing(real(*places, **how)) as watching:
            async for event in watching:
                yield event

    monkeypatch.setattr(reloading, "awatch", late)
    async with asyncio.timeout(HANGS_S), aclosing(own_file_changes(settings)) as changes:
        await anext(changes)
        await anext(changes)
        # The watch that was started afterwards works too.
        coming = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0.1)
        settings.person_policy.write_text("the third")
        await coming


async def test_without_watches_the_files_are_looked_at_now_and_then(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*places: Any, **how: Any) -> AsyncGenerator[Any]:
        raise OSError(28, "inotify_init")

    monkeypatch.setattr(reloading, "awatch", none_left)
    monkeypatch.setattr(reloading, "LOOK_ANYWAY_MS", 20)
    async with asyncio.timeout(HANGS_S), aclosing(own_file_changes(settings)) as changes:
        await anext(changes)
        coming = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0.1)
        settings.person_policy.write_text("second")
        await coming
