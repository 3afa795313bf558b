"""Sessions of strict mode in small projects, with a script as the model."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from runner_projects import Project

from remit_governance.workflow.states import Mode

PLAN = {"calls": [intent("PLAN"), call("plan_complete", plan="a failing test, then the code")]}
RUN = {"calls": [intent("EXECUTE"), call("run_tests")]}
DONE = {"text": "done"}


def read(*paths: str) -> dict[str, Any]:
    """Returns a step that reads files, because files have to be read before they are written."""
    return {"calls": [intent("ANALYZE"), *(call("read_file", path=path) for path in paths)]}


def write(path: str, content: str) -> dict[str, Any]:
    """Returns a step that writes a file."""
    return {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content=content)]}


async def begin(make_bench: Any, project: Project, *steps: Any, mode: Mode = Mode.STRICT, **settings: Any) -> Bench:
    """Opens a session in the project, whose model takes a few of the steps for each message."""
    if project.missing():
        pytest.skip(project.missing())
    bench: Bench = await make_bench(*steps, mode=mode, **settings)
    (bench.workspace / "a.py").unlink()
    project.write_to(bench.workspace)
    return bench


def state(bench: Bench) -> str:
    """Returns the session's state in the workflow."""
    return bench.of("state_changed")[-1].state
