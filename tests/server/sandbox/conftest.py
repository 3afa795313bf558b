"""Every adapter of this machine, for the conformance suite."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rule_programs import PACKAGES

from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.findings import forget_findings
from remit_server.sandbox.ports import RuntimeName, Sandbox


@functools.cache
def adapter(name: RuntimeName) -> Sandbox:
    return sandbox_named(name)


@pytest.fixture(
    params=[
        "bubblewrap",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("landlock", "landlock-alone", "podman", "docker", "seatbelt")
        ),
    ]
)
def runtime(request: pytest.FixtureRequest) -> RuntimeName:
    name: RuntimeName = request.param
    if name in PACKAGES:
        program, packages = PACKAGES[name]
        if sys.platform != "linux" or shutil.which(program) is None:
            pytest.skip(f"there is no {program}: apt-get install {packages}")
    isolation = adapter(name).isolation()
    if not isolation.available:
        whose = "needs podman to work" if name == "podman" else f"{name} does not isolate on this machine"
        pytest.skip(f"{whose}: {isolation.why}")
    return name


@pytest.fixture
def another_process() -> Iterator[None]:
    """Forgets which sandboxes isolate here, before the test as in a new process, and after it."""
    forget_findings()
    yield
    forget_findings()


@pytest.fixture
def sandbox(runtime: RuntimeName) -> Sandbox:
    return adapter(runtime)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder that the user of the commands may read."""
    folder = tmp_path / "workspace"
    folder.mkdir(mode=0o755)
    return folder.resolve()
