"""MOD-11: if no provider is chosen, no part of Remit tries to use a network, as the kernel's counters show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("bwrap") is None, reason="needs Bubblewrap"),
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
]

REMIT = str(Path(sys.executable).with_name("remit"))
WATCHED = (
    "Ip.OutRequests",
    "Ip.OutNoRoutes",
    "Tcp.ActiveOpens",
    "Udp.OutDatagrams",
    "Ip6OutRequests",
    "Ip6OutNoRoutes",
)


def attempts(folder: Path, *words: str) -> tuple[int, dict[str, int]]:
    """Runs `remit` in a network namespace that leads nowhere; returns its exit code and how often a process tried to
    send."""
    home = folder / "home"
    home.mkdir()
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("REMIT_", "HF_"))}
    own = {"HOME": str(home), "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    script = '"$@" >/dev/null 2>&1; echo $?; cat /proc/net/snmp /proc/net/snmp6'
    command = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "sh", "-c", script, "sh", REMIT, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=plain | own, cwd=folder, timeout=240)
    code, *lines = done.stdout.splitlines()
    return int(code), counters(lines)


def counters(lines: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    tables = [line.split() for line in lines if line.split()[0].endswith(":")]
    for names, values in zip(tables[::2], tables[1::2], strict=True):
        found |= {f"{names[0][:-1]}.{name}": int(value) for name, value in zip(names[1:], values[1:], strict=True)}
    found |= {line.split()[0]: int(line.split()[1]) for line in lines if len(line.split()) == 2}
    return {name: found[name] for name in WATCHED}


def test_MOD_11_without_a_provider_nothing_is_tried_to_be_reached(tmp_path: Path) -> None:
    """The demo uses a language server, the built-in model, edits, and a command in its sandbox."""
    code, tried = attempts(tmp_path, "demo")
    assert code == 0
    assert tried == dict.fromkeys(WATCHED, 0)


def test_MOD_11_the_kernel_counts_what_is_tried(tmp_path: Path) -> None:
    """Shows that the test above can fail: the attempt to reach a chosen provider is counted."""
    code, tried = attempts(tmp_path, "ask", "--model", "openai:m@http://192.0.2.1:9/v1", "hello")
    assert code != 0
    assert tried["Ip.OutNoRoutes"] > 0
