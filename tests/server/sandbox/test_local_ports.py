"""Ports of this machine that a command may reach: named, judged, forwarded and recorded (BOX-03)."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from echo_service import echo
from rule_programs import need_sandbox
from threat_bench import LAX, result

from remit_governance.audit.record import AuditKind

pytestmark = pytest.mark.slow

NET = LAX + "  - { name: net, match: { syscall: net.connect, host: [HOST] }, action: allow }\n"
GET = (
    "import socket,sys\n"
    "s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)\n"
    "s.sendall(b'hello\\n'); s.shutdown(socket.SHUT_WR)\n"
    "print('got', b''.join(iter(lambda: s.recv(99), b'')))\n"
)


def records(bench: Any, kind: AuditKind) -> list[dict[str, str]]:
    return [dict(each.event.metadata) for each in bench.audit() if each.event.kind is kind]


async def asked(make_bench: Any, allowed: str, named: str, *target: str) -> tuple[Any, Any]:
    """Runs a command that connects to `target` and asks for the network `named`, under a policy that allows
    `allowed`."""
    need_sandbox()
    bench = await make_bench(policy=NET.replace("HOST", f'"{allowed}"'))
    (bench.workspace / "get.py").write_text(GET)
    command = f"/usr/bin/python3 get.py {' '.join(target)}"
    return bench, await result(bench, "run_command", command=command, network=[named])


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
async def test_BOX_03_a_port_of_this_machine_is_found_inside(make_bench: Any, name: str) -> None:
    with echo() as (port, heard):
        bench, said = await asked(make_bench, f"localhost:{port}", f"localhost:{port}", name, str(port))
        assert "got b'HELLO\\n'" in said.output
        assert heard == [b"hello\n"]
        assert records(bench, AuditKind.NETWORK_ALLOWED) == [{"host": f"localhost:{port}"}]
        assert f"network: allowed localhost:{port}" in said.output


async def test_BOX_03_another_port_is_not(make_bench: Any) -> None:
    """THR-sandbox-network: only the port that was judged is forwarded."""
    with echo() as (port, _), echo() as (other, heard):
        _, said = await asked(make_bench, f"localhost:{port}", f"localhost:{port}", "127.0.0.1", str(other))
        assert "ConnectionRefusedError" in said.output
        assert heard == []


async def test_BOX_03_a_port_that_policy_does_not_allow_is_denied(make_bench: Any) -> None:
    with echo() as (port, heard):
        _, said = await asked(make_bench, "localhost:1", f"localhost:{port}", "127.0.0.1", str(port))
        assert said.error.code == "denied"
        assert heard == []


@pytest.mark.parametrize("port", [80, 3128])
async def test_BOX_03_a_port_that_no_sandbox_has_is_refused(make_bench: Any, port: int) -> None:
    _, said = await asked(make_bench, f"localhost:{port}", f"localhost:{port}", "127.0.0.1", str(port))
    assert said.error.code == "invalid_arguments"


async def test_BOX_03_nobody_listens_there_and_that_is_seen(make_bench: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # so that nobody else listens there
        port = taken.getsockname()[1]
        _, said = await asked(make_bench, f"localhost:{port}", f"localhost:{port}", "localhost", str(port))
    # The connection ends at once: before, while or after the program sends something.
    assert "HELLO" not in said.output
    assert "got b''" in said.output or "Error" in said.output


async def test_BOX_03_a_command_with_hosts_ignores_no_signal_that_others_do_not(make_bench: Any) -> None:
    """SIGPIPE, for example, ends `yes | head -1`."""
    need_sandbox()
    bench = await make_bench(policy=NET.replace("HOST", '"localhost:2000"'))
    said = [
        await result(bench, "run_command", command="grep SigIgn /proc/self/status", network=network)
        for network in ([], ["localhost:2000"])
    ]
    assert said[0].output == said[1].output
