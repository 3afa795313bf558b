"""A command line leaves what it leaves in bash: files, output and exit code (BOX-05, CMD-07)."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench
from everyday_lines import TREE, everyday_lines

from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.run.run_command import render_output, shell_argv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash"),
]

LINES = 300
NEVER = ToolError("the command was stopped", "it took too long", "do less at once")
ALL = """
version: 1
capabilities:
  - { name: run, match: { syscall: process.exec }, action: allow }
  - { name: files, match: { syscall: [fs.read, fs.list, fs.write] }, action: allow }
"""
Left = Mapping[str, tuple[str, bool, bytes]]


SAID = {
    "it is a link, a pipe or a device",
    "a part of it is a file, not a folder",
    "what took its place was not taken over",
}
"""The reasons that the tool gives if a file is not left as bash leaves it; BOX-05 lists them."""


async def test_BOX_05_everyday_lines_leave_what_bash_leaves_or_it_is_said(make_bench: Any) -> None:
    bench: Bench = await make_bench(policy=ALL)
    whys: set[str] = set()
    for line in everyday_lines(1, LINES):
        told, left = await ran(bench, line)
        told_plainly, left_plainly = run_plainly(bench.workspace, line)
        assert told.startswith(told_plainly), line
        refused = find_refused(told.removeprefix(told_plainly))
        other = {path for path in {*left, *left_plainly} if left.get(path) != left_plainly.get(path)}
        assert other == refused.keys(), line
        whys |= set(refused.values())
    assert whys == SAID


def find_refused(told: str) -> dict[str, str]:
    """Returns the paths that were not merged, and why."""
    found = re.findall(r"^not taken over, because (.*?): (.*)$", told, re.MULTILINE)
    return {path: why for why, paths in found for path in paths.split(", ")}


async def ran(bench: Bench, line: str) -> tuple[str, Left]:
    """Runs the line through the tool; returns the output, and the files that are there afterwards."""
    lay_out(bench.workspace)
    part = {"type": "call", "tool": "run_command", "arguments": {"command": line}, "intent": "EXECUTE", "typed": True}
    await bench.ask(part)
    return bench.of("tool_result")[-1].output, find_left(bench.workspace)


def run_plainly(folder: Path, line: str) -> tuple[str, Left]:
    """Runs the line without Remit, with the same shell and variables; returns the same as `ran`."""
    lay_out(folder)
    environment = command_environment(os.environ)
    ended = subprocess.run(
        shell_argv(line), check=False, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True
    )
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
    return render_output(CommandOutput(code, ended.stdout, ended.stderr), NEVER, str).text, find_left(folder)


def lay_out(folder: Path) -> None:
    """Makes the folder hold `TREE` and nothing else."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, text in TREE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (0, 0))
    (folder / "run.sh").chmod(0o755)
    for path in folder.rglob("*/"):
        os.utime(path, (0, 0))


def find_left(folder: Path) -> Left:
    """Returns by path what is there: its kind, whether it is executable, and its content."""
    found: dict[str, tuple[str, bool, bytes]] = {}
    for path in folder.rglob("*"):
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if path.is_symlink():
            found[name] = ("link", False, os.fsencode(path.readlink()))
        elif path.is_dir():
            found[name] = ("folder", False, b"")
        else:
            found[name] = ("file", bool(mode & stat.S_IXUSR), path.read_bytes())
    return found
