"""A whole runtime over a temporary workspace: real files, real audit, real sandbox; only the model is a script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Bench
from rule_programs import need_sandbox

from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments


@pytest.fixture
async def make_bench(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    opened: list[Runtime] = []

    async def make(*steps: dict[str, Any], policy: str | None = None, **settings: Any) -> Bench:
        workspace = tmp_path / "shop"
        workspace.mkdir(exist_ok=True)
        (workspace / "a.py").write_text(SHOP)
        script = tmp_path / "script.json"
        script.write_text(json.dumps(steps))
        person = tmp_path / "config" / "policy.yaml"
        if policy is not None:
            person.parent.mkdir(exist_ok=True)
            person.write_text(policy)
        made = Settings(workspace, tmp_path / "state", person, model=f"script:{script}", **settings)
        runtime = await open_runtime(made, NoDocuments())
        opened.append(runtime)
        return Bench(runtime, workspace, made)

    yield make
    for runtime in opened:
        await runtime.close()


@pytest.fixture(scope="session")
def sandbox() -> None:
    """For tests that run real commands."""
    need_sandbox()
