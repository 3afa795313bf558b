"""How many processes a namespace holds at all (003 §Sandbox Templates): what stands where no look comes in time."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remit_server.sandbox import pids
from remit_server.sandbox.bubblewrap import Bubblewrap
from remit_server.sandbox.environment import command_environment
from remit_server.sandbox.limits import Limits
from remit_server.sandbox.ports import CommandSpec

as_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or not pids.own_in_each_namespace(os.uname().release),
    reason="only root on Linux 6.14 or newer can bound a namespace",
)
MOST = 900
"""What the bombs here start in any case: twice what is allowed, and nothing that a machine notices."""

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


@pytest.fixture
def namespace() -> Iterator[subprocess.Popen[str]]:
    """A process that is the first in a pid namespace, and waits for a line to become the bomb."""
    wait = f"input(); exec({BOMB!r})"
    argv = (
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--",
        sys.executable,
        "-I",
        "-c",
        f"print('up', flush=1); {wait}",
    )
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


@as_root
def test_a_bound_namespace_refuses_the_next_process_whoever_asks(namespace: subprocess.Popen[str]) -> None:
    ours = Path(pids.SETTING).read_text()
    children = Path(f"/proc/{namespace.pid}/task/{namespace.pid}/children").read_text()
    pidfd = os.pidfd_open(int(children))
    try:
        asyncio.run(pids.bound(pidfd, 40))
    finally:
        os.close(pidfd)
    assert namespace.stdin is not None
    assert namespace.stdout is not None
    namespace.stdin.write("\n")
    namespace.stdin.flush()
    assert 40 <= int(namespace.stdout.readline()) < 40 + pids.RESERVED
    assert Path(pids.SETTING).read_text() == ours


@as_root
def test_of_a_process_that_is_gone_nothing_is_bound(namespace: subprocess.Popen[str]) -> None:
    ours = Path(pids.SETTING).read_text()
    pidfd = os.pidfd_open(namespace.pid)
    namespace.kill()
    namespace.wait()
    try:
        asyncio.run(pids.bound(pidfd, 40))
    finally:
        os.close(pidfd)
    assert Path(pids.SETTING).read_text() == ours


@as_root
async def test_a_bomb_meets_its_bound_before_any_look_and_the_reason_is_told(tmp_path: Path) -> None:
    sandbox = Bubblewrap(limits=replace(Limits(), tasks=50))
    spec = CommandSpec(("python3", "-I", "-c", BOMB), tmp_path, tmp_path, command_environment({}), 20.0)
    output = await sandbox.run(spec)
    assert output.exit_code is None or int(output.stdout) < 50 + pids.RESERVED
    read = await sandbox.run(replace(spec, argv=("cat", pids.SETTING)))
    assert pids.held_to(read.stdout, 50)


@pytest.mark.parametrize(("release", "own"), [("6.13.9", False), ("6.14.0-rc1", True), ("7.0", True), ("x", False)])
def test_an_older_kernel_is_never_written_to(release: str, own: bool) -> None:
    assert pids.own_in_each_namespace(release) is own
