"""The limit of processes in a namespace (BOX-02), which holds even if the regular check comes too late."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.findings import forget_findings
from remit_server.sandbox.limits import pids
from remit_server.sandbox.limits.limits import Limits
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment

bounded = pytest.mark.skipif(
    sys.platform != "linux" or not pids.has_own_limit_per_namespace(os.uname().release),
    reason="only Linux 6.14 or newer has a bound for each namespace",
)
MOST = 900
"""The most processes that a fork bomb here starts: twice the limit, and too few to burden the machine."""

BOMB = f"""
import os, time
made = 0
try:
    while made < {MOST}:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made, flush=True)
"""


def machines_own() -> str:
    return Path(pids.SETTING).read_text()


@bounded
async def test_a_bomb_meets_its_bound_before_any_look_and_the_reason_is_told(tmp_path: Path) -> None:
    ours = machines_own()
    sandbox = Bubblewrap(limits=replace(Limits(), tasks=50))
    spec = CommandSpec(("python3", "-I", "-c", BOMB), tmp_path, tmp_path, command_environment({}), 20.0)
    output = await sandbox.run(spec)
    assert output.exit_code is None or int(output.stdout) < 50 + pids.RESERVED
    read = await sandbox.run(replace(spec, argv=("cat", pids.SETTING)))
    assert pids.is_bounded_by(read.stdout, 50)
    assert machines_own() == ours


@bounded
async def test_a_command_cannot_take_its_bound_away(tmp_path: Path) -> None:
    spec = CommandSpec(
        ("/bin/sh", "-c", f"echo 30000 > {pids.SETTING}; cat {pids.SETTING}"),
        *(tmp_path, tmp_path, command_environment({}), 20.0),
    )
    output = await Bubblewrap(limits=replace(Limits(), tasks=50)).run(spec)
    assert pids.is_bounded_by(output.stdout, 50)


@pytest.mark.usefixtures("another_process")
async def test_where_the_bound_cannot_be_written_there_is_a_sandbox_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (isolation := await asyncio.to_thread(Bubblewrap().isolation)).available:
        pytest.skip(isolation.why)
    forget_findings()
    monkeypatch.setattr(pids, "bound_setting", lambda tasks: b"no number, so that nothing takes it")
    monkeypatch.setattr(pids, "has_own_limit_per_namespace", lambda release: True)
    sandbox = Bubblewrap()
    assert (await asyncio.to_thread(sandbox.isolation)).available
    spec = CommandSpec(("/bin/echo", "hello"), tmp_path, tmp_path, command_environment({}), 20.0)
    assert (await sandbox.run(spec)).stdout == b"hello\n"


@pytest.mark.parametrize(("release", "own"), [("6.13.9", False), ("6.14.0-rc1", True), ("7.0", True), ("x", False)])
def test_an_older_kernel_is_never_written_to(release: str, own: bool) -> None:
    assert pids.has_own_limit_per_namespace(release) is own
