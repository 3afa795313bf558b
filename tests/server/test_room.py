"""A turn begins only if there is enough disk space for it (OBS-03)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench
from configured import configured

from remit_server.errors import RemitError
from remit_server.machine.free_space import free_disk, free_memory
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns import outcome as room

FAR = 1 << 20
"""More MiB than the tests report as free."""

READS = "capabilities:\n  - { name: r, match: { syscall: fs.read, path_glob: ['**'] }, action: allow }\n"


@pytest.mark.parametrize(
    ("needed", "said"),
    [((FAR, 0), "`limits.spare_memory_mib`"), ((0, FAR), "`limits.spare_disk_mib`")],
)
async def test_OBS_03_a_turn_without_room_is_refused_and_a_call_of_ones_own_is_not(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch, needed: tuple[int, int], said: str
) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 1 << 20)
    monkeypatch.setattr(room, "free_disk", lambda folder: 1 << 20)
    bench: Bench = await make_bench(
        {"text": "hello"}, policy=READS, spare_memory_mib=needed[0], spare_disk_mib=needed[1]
    )
    result = await bench.ask("say hello")
    assert (result.status, result.error.code) == ("failed", "limit_reached")
    assert said in result.error.why
    own = {"type": "call", "tool": "read_file", "arguments": {"path": "a.py"}, "intent": "ANALYZE"}
    assert (await bench.ask(own)).status == "completed"


async def test_OBS_03_zero_asks_for_no_room(make_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 0)
    monkeypatch.setattr(room, "free_disk", lambda folder: 0)
    bench: Bench = await make_bench({"text": "hello"}, spare_memory_mib=0, spare_disk_mib=0)
    assert (await bench.ask("say hello")).status == "completed"


def settings(folder: Path, memory_mib: int, disk_mib: int) -> Settings:
    config = configured(spare_memory_mib=memory_mib, spare_disk_mib=disk_mib)
    return Settings(folder, folder / "state", folder / "policy.yaml", config)


def no_answer(folder: Path) -> int:
    raise OSError(folder)


def test_OBS_03_what_cannot_be_measured_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: None)
    monkeypatch.setattr(room, "free_disk", no_answer)
    assert room.shortage(settings(tmp_path, FAR, FAR)) is None


@pytest.mark.parametrize(("free", "begins"), [(127, False), (128, True), (129, True)])
def test_OBS_03_the_bound_itself_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, begins: bool
) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: free << 20)
    short: RemitError | None = room.shortage(settings(tmp_path, 128, 0))
    assert (short is None) == begins
    assert short is None or f"{free} MiB of memory are free" in short.why


def test_OBS_03_the_machine_is_measured(tmp_path: Path) -> None:
    assert free_disk(tmp_path / "not" / "there") == pytest.approx(free_disk(tmp_path), rel=0.5)
    assert (free_memory() or 0) > 0
