"""`remit bootstrap` with real processes: the server is killed, hangs, never starts, or something is missing."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS

from remit_server import bootstrap
from remit_server.bootstrap.container import Workspace, create_argv
from remit_server.bootstrap.keep_up import LAST_LINES, MOST_RESTARTS, may_restart
from remit_server.bootstrap.runtimes import INSTALL, RUNTIMES, describe_runtimes, find_runtimes
from remit_server.cli.commands.servers.bootstrap import START
from remit_server.machine import peers
from remit_server.streams import pulse

REMIT = [sys.executable, "-P", "-c", START]
QUICK = (
    "import sys; from remit_server.bootstrap.keep_up import *; sys.exit(bootstrap(sys.argv[1:], pace=Pace(20, 0.2, 2)))"
)


def running(argv: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    homes = {f"REMIT_{name}_DIR": str(folder / name) for name in ("CONFIG", "STATE", "DATA")}
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **homes}, cwd=folder)


def server_of(process: subprocess.Popen[bytes]) -> int:
    """Waits for the server that the bootstrap starts, and returns its pid."""
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if children and b"serve" in Path(f"/proc/{children[0]}/cmdline").read_bytes():
            return int(children[0])
    raise AssertionError("it ended")


def initialized(process: subprocess.Popen[bytes], number: int) -> bool:
    """Returns whether the server answers `initialize` over the bootstrap's streams."""
    send(process, number, "initialize", {"processId": None, "capabilities": {}})
    return "capabilities" in received(process)["result"]


def send(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> None:
    assert process.stdin is not None
    text = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
    process.stdin.flush()


def received(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Reads the next message to the client."""
    assert process.stdout is not None
    length = 0
    while (line := process.stdout.readline()) not in {b"\r\n", b""}:
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    found: dict[str, Any] = json.loads(process.stdout.read(length))
    return found


def lines(process: subprocess.Popen[bytes], ends: str) -> Iterator[str]:
    assert process.stderr is not None
    for line in process.stderr:
        yield line.decode().rstrip()
        if ends in line.decode():
            return


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its children are read from /proc")
def test_CLI_13_a_server_that_is_killed_again_and_again_is_given_up_with_the_reason(tmp_path: Path) -> None:
    with running([*REMIT, "bootstrap"], tmp_path) as process:
        for number in range(MOST_RESTARTS + 1):
            assert initialized(process, number)
            os.kill(server_of(process), signal.SIGKILL)
            if number < MOST_RESTARTS:
                *_, again = lines(process, SAYS.the_server_was_restarted)
                assert f"{number + 1} of {MOST_RESTARTS} times: it was ended by SIGKILL" in again
        said = "\n".join(lines(process, "never said"))
        assert process.wait(30) == 1
    assert SAYS.error_the_server_is_not in said
    assert "why: it was ended by SIGKILL, after 3 restarts in 5 minutes" in said


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its children are read from /proc")
def test_CLI_13_a_client_that_goes_on_after_a_restart_is_told_once_and_can_connect_again(tmp_path: Path) -> None:
    with running([*REMIT, "bootstrap"], tmp_path) as process:
        assert initialized(process, 1)
        os.kill(server_of(process), signal.SIGKILL)
        assert list(lines(process, SAYS.the_server_was_restarted))
        for number in (2, 3):
            send(process, number, "remit/status", {})
        told, *refused = (received(process) for _ in range(3))
        assert told["method"] == "window/showMessage"
        assert told["params"]["type"] == 1
        assert [(each["id"], each["error"]["code"]) for each in refused] == [(2, -32002), (3, -32002)]
        assert initialized(process, 4)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM


@pytest.mark.slow
def test_CLI_13_the_end_of_its_client_is_no_reason_to_start_it_again(tmp_path: Path) -> None:
    with running([*REMIT, "bootstrap"], tmp_path) as process:
        assert initialized(process, 1)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 1
        assert "again" not in "\n".join(lines(process, "never said"))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its children are read from /proc")
def test_CLI_12_a_server_that_hangs_is_ended_and_started_again(tmp_path: Path) -> None:
    with running([sys.executable, "-P", "-c", QUICK, *REMIT, "serve"], tmp_path) as process:
        assert initialized(process, 1)
        os.kill(server_of(process), signal.SIGSTOP)
        *_, again = lines(process, SAYS.the_server_was_restarted)
        assert "it did not answer a ping within 2 s" in again
        assert initialized(process, 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM


@pytest.mark.slow
def test_CLI_14_another_process_cannot_answer_for_the_server(tmp_path: Path) -> None:
    """The test has the same user but is no child of the bootstrap, so its connection is cut; the real server is
    served."""
    late = (
        'echo "$REMIT_BOOTSTRAP_SOCKET" > told.tmp; mv told.tmp told; while [ ! -e go ]; do sleep 0.1; done; exec "$@"'
    )
    command = [sys.executable, "-P", "-c", QUICK, "/bin/sh", "-c", late, "sh", *REMIT, "serve"]
    with running(command, tmp_path) as process:
        told = tmp_path / "told"
        while not told.exists():
            assert process.poll() is None
            time.sleep(0.05)
        with socket.socket(socket.AF_UNIX) as attack:
            attack.settimeout(60)
            attack.connect(told.read_text().strip())
            assert attack.recv(100) == b"", "it pinged us"
        *_, refused = lines(process, "was refused")
        assert SAYS.another_process_than_the_server in refused
        (tmp_path / "go").touch()
        assert initialized(process, 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM


def test_CLI_13_the_last_lines_of_a_server_that_never_starts_are_shown(tmp_path: Path) -> None:
    broken = "for n in $(seq 30); do echo line $n >&2; done; exit 7"
    with running([sys.executable, "-P", "-c", QUICK, "/bin/sh", "-c", broken], tmp_path) as process:
        said = list(lines(process, "never said"))
        assert process.wait(30) == 1
    end = said[said.index("error: the server is not restarted") :]
    assert "why: it ended unexpectedly with 7, after 3 restarts in 5 minutes" in end
    assert end[-LAST_LINES:] == [f"  line {number}" for number in range(11, 31)]


@given(st.lists(st.floats(0, 2_000), max_size=20))
def test_CLI_13_never_more_than_three_restarts_in_any_five_minutes(deaths: list[float]) -> None:
    restarts: list[float] = []
    for now in sorted(deaths):
        if not may_restart(restarts, now):
            assert sum(now - at < 300 for at in restarts) == 3
            continue
        restarts.append(now)
        assert sum(now - at < 300 for at in restarts) <= 3


def test_CLI_11_what_is_missing_is_told_with_how_to_get_it(tmp_path: Path) -> None:
    for name in ("python3", "podman"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = find_runtimes("fedora", str(tmp_path))
    told = describe_runtimes(found).splitlines()
    assert [line.split()[0] for line in told] == list(RUNTIMES)
    assert told[0].endswith(str(tmp_path / "python3"))
    assert told[2] == "bubblewrap not found; it runs commands in a sandbox: dnf install bubblewrap"
    assert all(set(how) == set(RUNTIMES) for how in INSTALL.values())


@pytest.mark.slow
def test_CLI_11_check_lists_every_runtime_and_a_container_that_is_not_there_is_refused(tmp_path: Path) -> None:
    checked = subprocess.run([*REMIT, "bootstrap", "--check"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in checked.stdout.splitlines()] == list(RUNTIMES)
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    asked = [*REMIT, "bootstrap", "--container", "podman", "--image", "x"]
    refused = subprocess.run(asked, capture_output=True, text=True, check=False, env=nowhere)
    assert refused.returncode == 2
    assert "there is no program `podman`" in refused.stderr
    alone = subprocess.run([*REMIT, "bootstrap", "--image", "x"], capture_output=True, text=True, check=False)
    assert alone.returncode == 2


@pytest.mark.parametrize("program", ["podman", "docker"])
def test_CLI_12_the_container_has_the_workspace_and_nothing_else(program: str) -> None:
    workspace = Workspace(program, "image", Path("/w,x"), {"REMIT_STATE_DIR": Path("/state")}, ("REMIT_MODEL",), 1000)
    argv = create_argv(workspace, "name", Path("/s"), ["remit", "serve"])
    mounts = [value for option, value in pairwise(argv) if option == "--mount"]
    assert mounts == [
        'type=bind,"src=/w,x","dst=/w,x"',
        "type=bind,src=/state,dst=/state",
        "type=bind,src=/s,dst=/run/remit-bootstrap",
    ]
    assert "--volume" not in argv
    assert argv[:2] == [program, "create"]
    assert argv[-4:] == ["--entrypoint", "remit", "image", "serve"]
    assert {("--cap-drop", "ALL"), ("--pull", "never"), ("--security-opt", "no-new-privileges")} < {*pairwise(argv)}


def test_CLI_11_it_is_of_the_standard_library_and_under_500_lines() -> None:
    own = sorted(Path(bootstrap.__file__).parent.glob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in own) < 500
    shared = [Path(str(module.__file__)) for module in (peers, pulse)]
    names = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for file in (*own, *shared)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    others = {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if not name.startswith("remit_server.bootstrap.")} == {
        "remit_server.machine.peers",
        "remit_server.streams.pulse",
    }
