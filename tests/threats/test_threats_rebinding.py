"""A host name whose addresses change between the look-up and the connection (BOX-03).

The name server, the web servers and `remit` share a network namespace. It has two addresses: one that counts as public,
and the machine's own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import REMIT, CommandLine
from names_that_change import PORT, PUBLIC
from threat_bench import LAX

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sandbox")]

NET = LAX + "  - { name: net, match: { syscall: net.connect }, action: allow }\n"
PROGRAM = Path(__file__).parents[1] / "support" / "names_that_change.py"
UNSHARED = ("unshare", "--map-root-user", "--mount", "--net")


@pytest.fixture
def network() -> None:
    """Skips the test if this system cannot make a network namespace."""
    for program, package in (("unshare", "util-linux"), ("ip", "iproute2"), ("curl", "curl")):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: apt-get install {package}")
    if subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody make a network of their own")


def _asking(remit: CommandLine, name: str, times: int) -> dict[str, Any]:
    """Runs a command that requests the host `name` `times` times, and returns what the servers saw and the result."""
    place = f"{name}:{PORT}"
    line = "; ".join(f"curl -sk -m 20 https://{place}/{number}" for number in range(times))
    arguments = json.dumps({"command": line, "network": [place]})
    words = ("run-tool", "run_command", arguments, "--intent", "EXECUTE", "--approve", "session", "--json")
    program = [sys.executable, str(PROGRAM), str(remit.workspace.parent), str(REMIT), *words]
    done = subprocess.run([*UNSHARED, *program], env=remit.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    events = [json.loads(event) for event in seen["out"].splitlines()]
    (seen["result"],) = (event for event in events if event["kind"] == "tool_result")
    return seen


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("turns.example.org", [0, 2]),
        ("falls.example.org", [0]),
        ("both.example.org", [0, 1, 2, 3]),
        ("own.example.org", []),
    ],
)
def test_THR_sandbox_network_a_name_that_changes_its_address_leads_to_no_other(
    name: str, reached: list[int], remit: CommandLine
) -> None:
    """THR-sandbox-network-rebinding-resolver: the name is looked up once per connection, which goes to a found
    address."""
    (remit.config / "policy.yaml").write_text(NET)
    seen = _asking(remit, name, 4)
    assert len(seen["answered"]) == 4  # a second look-up could have had another answer
    assert seen["asked"] == [[PUBLIC, f"/{number}"] for number in reached]
    assert ("not public" in seen["result"]["output"]) is (len(reached) < 4)
