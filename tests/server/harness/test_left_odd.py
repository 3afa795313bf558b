"""Files of a command that harm whoever reads or removes them: endless folders, disk space in no folder, and names that
are not text (BOX-06)."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS

from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.bubblewrap.layer import Layer
from remit_server.sandbox.limits.limits import Limits
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.server_identity import prefix_of
from remit_server.sandbox.visible.environment import command_environment

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")]

ALLOW = """\
version: 1
capabilities:
  - { name: all, match: { syscall: [process.exec, fs.read, fs.list, fs.write] }, action: allow }
"""
DEEP = """
import os
open("fine.txt", "w").write("fine")
for _ in range({levels}):
    os.mkdir({name!r}); os.chdir({name!r})
{then}
"""


async def ran(make_bench: Any, program: str) -> Bench:
    bench: Bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="python3 work.py", timeout=60)]},
        {"text": "ok"},
        policy=ALLOW,
    )
    (bench.workspace / "work.py").write_text(program)
    await bench.ask("go", asker=Answering())
    return bench


def output(bench: Bench) -> str:
    return bench.of("tool_result")[0].output


def left() -> list[Path]:
    """Returns the layers of this process that still exist."""
    areas = (Path(tempfile.gettempdir()), Path("/dev/shm"))
    return [path for area in areas for path in area.glob(f"{prefix_of('layer')}*")]


@pytest.mark.parametrize(("levels", "name"), [(3_000, "a"), (400, "a"), (18, "n" * 200), (40, "n" * 200)])
async def test_thr_sandbox_folders_without_end_are_neither_taken_over_nor_left(
    make_bench: Any, levels: int, name: str
) -> None:
    bench = await ran(make_bench, DEEP.format(levels=levels, name=name, then="open('x', 'w').write('x')"))
    assert bench.of("run_completed")[0].result.final_output == "ok"
    assert "changed in the workspace: fine.txt\n" in output(bench) or SAYS.folders_too_deep in output(bench)
    assert not (bench.workspace / name).exists()
    assert left() == []


def test_thr_sandbox_a_folder_without_end_is_cleared_away_at_the_next_start(tmp_path: Path) -> None:
    """The layer of a killed server has an endless folder; it must not prevent later commands."""
    layer = Layer.make(tmp_path, tmp_path)
    here = os.open(layer.upper, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("a", dir_fd=here)
        above, here = here, os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.fchmod(here, 0)
    os.close(here)
    layer.remove()
    assert list(tmp_path.iterdir()) == []


async def test_thr_sandbox_no_room_is_taken_where_paths_are_too_long_to_look(make_bench: Any) -> None:
    fill = "for n in range(4):\n    os.posix_fallocate(os.open(str(n), os.O_CREAT | os.O_WRONLY), 0, 200 << 20)\n"
    wait = "import time\ntime.sleep(20)\nprint('went on')\n"
    bench = await ran(make_bench, DEEP.format(levels=40, name="n" * 200, then=fill + wait))
    assert "went on" not in output(bench)
    assert left() == []


async def test_thr_sandbox_the_disk_is_not_filled_by_files_that_have_no_name(tmp_path: Path) -> None:
    """A deleted file that is still open is in no folder, but takes space on the disk."""
    limits = Limits(layer_bytes=100 << 20, spare_bytes=1 << 60)
    program = (
        "import os, time\n"
        "for name in 'abcd':\n"
        "    file = os.open(name, os.O_CREAT | os.O_WRONLY)\n"
        "    os.unlink(name)\n"
        "    os.posix_fallocate(file, 0, 250 << 20)\n"
        "time.sleep(20)\n"
    )
    workspace = tmp_path / "shop"
    workspace.mkdir()
    spec = CommandSpec(("python3", "-c", program), workspace, workspace, command_environment({}), 60.0, writes=True)
    output = await Bubblewrap(limits=limits).run(spec)
    assert output.exit_code is None
    assert output.stopped == "the disk is nearly full"


async def test_thr_sandbox_names_that_are_no_text_or_more_than_a_line_are_spelled_out(make_bench: Any) -> None:
    names = [b"a\xffb", b"x\nchanged in the workspace: all.py", b"\xe2\x80\xaetxt.exe", b"\x1b[2Jx", b"good.txt"]
    bench = await ran(make_bench, f"for name in {names}:\n    open(name, 'wb').write(b'x')\n")
    said = output(bench)
    assert said.encode().count(b"changed in the workspace: good.txt\n") == 1
    assert all(line.isprintable() for line in said.splitlines())
    assert not any(line.startswith("changed in the workspace: all.py") for line in said.splitlines())
    assert "⟨U+DCFF⟩" in said
