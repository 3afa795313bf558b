"""OBS-01: the log file says who did what in which turn, has no secrets, rotates, and never stops the work."""

from __future__ import annotations

import logging
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from messages import SAYS

TOKEN = "ghp_" + "a1B2" * 9


def lines(bench: Bench) -> list[str]:
    file = bench.settings.state / "logs" / "remit.log"
    return file.read_text().splitlines() if file.exists() else []


async def test_OBS_01_each_line_says_session_turn_and_step(make_bench: Any) -> None:
    bench: Bench = await make_bench(
        {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}, {"text": "done"}, {"text": "again"}
    )
    await bench.ask("one", session="here")
    logging.getLogger("remit_server.anything").warning("outside of a turn, with %s", TOKEN)
    await bench.ask("two", session="there")
    found = lines(bench)
    assert " here/1/0 " in found[0]
    assert SAYS.the_turn_begins in found[0]
    assert " here/1/2 " in found[1]
    assert "completed after 1 call" in found[1]
    assert " - remit_server.anything: outside of a turn" in found[2]
    assert " there/2/" in found[3]
    assert TOKEN not in "".join(found)
    file = bench.settings.state / "logs" / "remit.log"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_OBS_01_a_workspace_s_log_has_nothing_of_another_s_turns(make_bench: Any) -> None:
    one: Bench = await make_bench({"text": "1"})
    two: Bench = await make_bench({"text": "2"}, name="other", script="two.json")
    await one.ask("x", session="first")
    await two.ask("x", session="second")
    assert {line.split()[4].split("/")[0] for line in lines(one)} == {"first"}
    assert {line.split()[4].split("/")[0] for line in lines(two)} == {"second"}


WRITE = """
import logging, sys
from pathlib import Path
from remit_server.runtime import log_file
from remit_server.runtime.config.form import LogSection
log_file.MAX_BYTES = 20_000
file = log_file.open_log_file(Path(sys.argv[1]), LogSection(), str)
for number in range(500):
    logging.getLogger("remit_server.test").info("%s %d %s", sys.argv[2], number, "x" * 20)
file.close()
"""


@pytest.mark.slow
def test_OBS_01_processes_rotate_it_together(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path), f"w{n}"]) for n in range(3)]
    assert [each.wait() for each in writers] == [0, 0, 0]
    files = sorted((tmp_path / "logs").glob("remit.log*"))
    assert len(files) == 6, files
    assert all(file.stat().st_size <= 20_200 for file in files)
    found = [line for file in files for line in file.read_text().splitlines()]
    assert all(line.endswith("x" * 20) for line in found), "no line runs into another"


async def test_OBS_01_a_log_that_cannot_be_written_stops_nothing(make_bench: Any, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "logs").write_text("no folder")
    bench: Bench = await make_bench({"text": "done"})
    assert (await bench.ask("x")).status == "completed"


@pytest.mark.parametrize("level", ["warning", "error"])
async def test_OBS_01_what_is_below_the_level_is_left_out(make_bench: Any, level: str) -> None:
    bench: Bench = await make_bench({"text": "done"}, level=level)
    await bench.ask("x")
    assert lines(bench) == []
