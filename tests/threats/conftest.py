"""What the attacks need of the machine, and a server to attack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine
from rule_programs import need_sandbox
from running_server import POLICY, RunningServer


@pytest.fixture(scope="session")
def sandbox() -> None:
    """Skips tests that run real commands if there is no sandbox for them."""
    need_sandbox()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A `remit serve` in a process of its own, under a policy that allows all that it can; for a whole file of tests."""
    with RunningServer(tmp_path_factory.mktemp("attacked")) as running:
        yield running


@pytest.fixture
def workspace(server: RunningServer) -> Path:
    """The workspace of the server, which all tests of a file share."""
    return server.workspace


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    """`remit` in a workspace of its own."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.py").write_text("total = 0\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(POLICY)
    return CommandLine.alone(tmp_path / "shop", tmp_path)
