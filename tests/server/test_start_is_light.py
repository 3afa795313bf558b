"""Which modules are imported before an answer: to `initialize` (LSP-01), and before a command prints (CLI-19).
bench/initialize.py compares the time of the first with a hello server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lsp_pipe import PipeClient

SLOW = {
    "acp",
    "pydantic",
    "pydantic_core",
    "sqlite3",
    "mlx",
    "mlx_lm",
    "llguidance",
    "numpy",
    "transformers",
    "watchfiles",
    "mcp",
    "mcp_types",
}
OURS = {
    "remit_server.contract",
    "remit_server.errors",
    "remit_server.runtime",
    "remit_server.models",
    "remit_server.agent",
}


def imported(log: str) -> set[str]:
    """Returns the modules in the output of `python -X importtime`."""
    lines = (line for line in log.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.slow
def test_initialize_is_answered_before_anything_slow_is_imported(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "remit_server.cli.main", "serve"]
    with (tmp_path / "log").open("wb") as log:
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, env=dict(os.environ)) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            client = PipeClient(process.pid, os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
            options = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
            answer = client.result(client.request("initialize", options))
            client.kill()
    assert answer["serverInfo"]["name"] == "remit"
    names = imported((tmp_path / "log").read_text())
    assert "pygls.lsp.server" in names
    assert not {name for name in names if name.partition(".")[0] in SLOW}
    assert not {name for name in names if any(f"{name}.".startswith(f"{slow}.") for slow in OURS)}


RUNS_A_TURN = {
    "remit_server.runtime.opening",
    "remit_server.harness.dispatcher",
    "remit_server.models.choose",
    "remit_server.tools.table",
}


def imported_by(words: list[str], folder: Path) -> set[str]:
    """Returns the modules that a command imports."""
    own = {f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    command = [sys.executable, "-X", "importtime", "-m", "remit_server.cli.main", *words]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    return imported(done.stderr)


def test_CLI_19_the_help_imports_nothing_slow(tmp_path: Path) -> None:
    names = imported_by(["--help"], tmp_path)
    assert "argparse" in names
    assert not {name for name in names if name.partition(".")[0] in SLOW | {"yaml", "pygls", "asyncio"}}
    assert not {name for name in names if any(f"{name}.".startswith(f"{slow}.") for slow in OURS)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["session", "list"], ["audit", "log"], ["policy", "explain", "--action", '{"syscall": "fs.read", "path": "a"}']],
    ids=lambda words: words[0],
)
def test_CLI_19_a_look_imports_nothing_that_runs_a_turn(words: list[str], tmp_path: Path) -> None:
    names = imported_by(words, tmp_path)
    assert "remit_server.runtime.settings" in names
    assert names & (RUNS_A_TURN | {"dulwich"}) == set()
