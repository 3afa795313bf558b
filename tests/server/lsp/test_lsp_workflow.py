"""Exemptions and the coverage budget in a real `remit serve`, with a script as the model (FLW-05, FLW-08, FLW-09)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from messages import SAYS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

POLICY = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: writes, match: { syscall: fs.write }, action: allow }
"""
SOURCE = "def twice(number):\n    return number + number\n"
TYPED = SOURCE.replace("(number)", "(number: int) -> int")
OTHER = SOURCE.replace("number + number", "number * 3")
DONE = {"text": "done"}
FALLEN = '{"by": "pytest", "baseline": 90, "now": 80}'

EXEMPTIONS: dict[str, tuple[str, str]] = {
    "config_change": ("settings.toml", "retries = 3\n"),
    "documentation": ("README.md", "# Shop\n"),
    "asset_update": ("logo.svg", "<svg/>\n"),
    "type_refactor": ("shop.py", TYPED),
}


def step(intent: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    declared = {"name": "select_active_intent", "arguments": {"intent": intent}}
    return {"calls": [declared, *({"name": name, "arguments": arguments} for name, arguments in calls)]}


def write(path: str, content: str) -> dict[str, Any]:
    return step("WRITE_FILE", ("write_file", {"path": path, "content": content}))


def ask_exemption(category: str, path: str) -> dict[str, Any]:
    asked = {"category": category, "paths": [path], "reason": "no test can come before it"}
    return step("PLAN", ("workflow_request_exemption", asked))


async def run_steps(
    start_real: Any, tmp_path: Path, mode: str, *steps: dict[str, Any], account: str = ""
) -> tuple[Path, list[dict[str, Any]]]:
    """Runs these steps of a server's model in a mode. Returns the workspace, and the result of each call."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.yaml").write_text(POLICY)
    script = tmp_path / "says.json"
    script.write_text(json.dumps([step("READ_FILE", ("read_file", {"path": "shop.py"})), *steps, DONE]))
    client = await start_real(REMIT_MODEL=f"script:{script}", REMIT_MODE=mode)
    (client.root / "shop.py").write_text(SOURCE)
    await client.initialize()
    await client.result("workspace/executeCommand", {"command": "remit.chat.read", "arguments": [{"text": "/budget"}]})
    if account:
        (audit,) = (tmp_path / "state").rglob("audit.sqlite3")
        audit.with_name("coverage.json").write_text(account)
    asked = {"session_id": "s", "turn_id": "t", "input": {"type": "text", "text": "go"}, "partialResultToken": "t"}
    client.start("remit/run", asked)
    await client.until(lambda: [event for event in client.events("t") if event["kind"] == "run_completed"])
    results = [event for event in client.events("t") if event["kind"] == "tool_result"]
    return client.root, results[1:]


@pytest.mark.parametrize("category", EXEMPTIONS)
async def test_FLW_05_an_exemption_opens_the_files_it_names_and_no_code(
    start_real: Any, tmp_path: Path, category: str
) -> None:
    path, content = EXEMPTIONS[category]
    steps = (write(path, content), ask_exemption(category, path), write("other.py", OTHER), write(path, content))
    root, (early, granted, other, late) = await run_steps(start_real, tmp_path, "strict", *steps)
    assert (early["ok"], early["rules"]) == (False, ["workflow.nothing-is-written"])
    assert granted["ok"], granted["output"]
    assert (other["ok"], other["rules"]) == (False, ["workflow.exempted-paths-only"])
    assert late["ok"], late["output"]
    assert (root / path).read_text() == content
    assert not (root / "other.py").exists()


@pytest.mark.parametrize("category", EXEMPTIONS)
async def test_THR_workflow_no_exemption_opens_code(start_real: Any, tmp_path: Path, category: str) -> None:
    steps = (ask_exemption(category, "shop.py"), write("shop.py", OTHER))
    root, (asked, written) = await run_steps(start_real, tmp_path, "strict", *steps)
    if category == "type_refactor":
        assert SAYS.the_exemption_is_for_types in written["error"]["why"]
    else:
        assert f"no glob of `{category}` fits" in asked["error"]["why"]
        assert written["rules"] == ["workflow.nothing-is-written"]
    assert not written["ok"]
    assert (root / "shop.py").read_text() == SOURCE


async def test_FLW_08_a_locked_explore_mode_changes_nothing_and_says_what_opens_it(
    start_real: Any, tmp_path: Path
) -> None:
    root, (held,) = await run_steps(start_real, tmp_path, "explore", write("shop.py", OTHER), account=FALLEN)
    assert held["error"]["what"] == "`write_file` was held"
    assert "strict mode" in held["error"]["fix"]
    assert (root / "shop.py").read_text() == SOURCE


async def test_FLW_08_strict_mode_is_open_where_explore_mode_is_locked(start_real: Any, tmp_path: Path) -> None:
    plan = step("PLAN", ("plan_complete", {"plan": "a test, then the code"}))
    steps = (plan, write("test_shop.py", "import unittest\n"))
    root, results = await run_steps(start_real, tmp_path, "strict", *steps, account=FALLEN)
    assert [result["ok"] for result in results] == [True, True]
    assert (root / "test_shop.py").exists()
