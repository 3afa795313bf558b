"""`initialize` is answered before anything slow is imported (LSP-01). What it costs beside a hello
server is measured in bench/initialize.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lsp_pipe import PipeClient

SLOW = {"pydantic", "pydantic_core", "sqlite3", "mlx", "mlx_lm", "llguidance", "numpy", "transformers", "watchfiles"}
OURS = {
    "remit_server.contract",
    "remit_server.errors",
    "remit_server.runtime",
    "remit_server.models",
    "remit_server.agent",
}


def imported(log: str) -> set[str]:
    """The modules in what `python -X importtime` says."""
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
