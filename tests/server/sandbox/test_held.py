"""A bwrap that waits for a killed server is ended at the next start, and no other one is (APP-01)."""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit_server.machine.peers import this_process
from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.bubblewrap.orphans import kill_orphans, orphan_mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Bubblewrap is Linux's")

HOLDING = """
import os, signal
from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.limits.limits import Limits
class Held(Limits):
    def impose(self, pid):
        print(pid, flush=True)
        input()
        os.kill(os.getpid(), signal.SIGKILL)
Bubblewrap(limits=Held()).isolation()
"""
RUNNING = """
import asyncio, sys
from pathlib import Path
from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.ports import CommandSpec
async def run():
    here = Path(sys.argv[1])
    while True:
        await sandbox.run(CommandSpec(("/bin/true",), here, here, {}, 60))
sandbox = Bubblewrap()
sandbox.isolation()
print("up", flush=True)
asyncio.run(run())
"""
KILLS = 25


@pytest.fixture(autouse=True)
def isolates() -> None:
    if not Bubblewrap().isolation().available:
        pytest.skip(Bubblewrap().isolation().why)


@contextmanager
def a_server_that_holds() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yields a server that kills itself when it reads a line, and a descriptor of the process that waits for it."""
    argv = (sys.executable, "-c", HOLDING)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        waiting = os.pidfd_open(int(server.stdout.readline()))
        try:
            yield server, waiting
        finally:
            server.kill()
            os.close(waiting)


def ends(pidfd: int, within: float) -> bool:
    return bool(select.select([pidfd], [], [], within)[0])


def waiting_for(server: str) -> list[str]:
    """Returns every bwrap with this server's mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        found += [entry.name] if words[0] == "bwrap" and server in words else []
    return found


@pytest.mark.slow
def test_what_waits_for_a_server_is_ended_once_that_is_dead_and_not_before() -> None:
    with a_server_that_holds() as (server, waiting):
        kill_orphans()
        assert not ends(waiting, 0.5)
        server.communicate("\n")
        kill_orphans()
        assert ends(waiting, 10)


@pytest.mark.parametrize("argv0", ["bwrap", "other"])
def test_a_process_is_known_by_its_name_and_a_mark_before_its_command(argv0: str) -> None:
    dead = orphan_mark()[1].replace(this_process(), "-".join((*this_process().split("-")[:2], "1")))
    words = [argv0, "-c", "import time; time.sleep(300)"]
    words += ["--", "--unsetenv", dead] if argv0 == "bwrap" else ["--unsetenv", dead, "--"]
    with subprocess.Popen(words, executable=sys.executable) as process:
        try:
            assert process.pid not in kill_orphans()
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.slow
def test_however_servers_are_killed_nothing_of_them_is_left(tmp_path: Path) -> None:
    marks = []
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", RUNNING, str(tmp_path)], stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"up\n"
            stat = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
            marks.append(
                f"{orphan_mark()[1].rpartition(this_process())[0]}{this_process().partition('-')[0]}-{server.pid}-{stat[19]}"
            )
            time.sleep(random.uniform(0, 0.03))
            server.kill()
    time.sleep(1)
    left = [pid for each in marks for pid in waiting_for(each)]
    print(f"{len(left)} left by {KILLS} servers")
    kill_orphans()
    deadline = time.monotonic() + 10
    while any(map(waiting_for, marks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for each in marks for pid in waiting_for(each)] == []
