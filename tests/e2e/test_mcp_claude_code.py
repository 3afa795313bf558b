"""TRN-21: the real Claude Code, if it is installed, uses Remit's tools after `claude mcp add`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_line import REMIT, CommandLine
from fake_vendors import FakeVendor
from real_agents import CLAUDE_CODE, installed

POLICY = """\
version: 1
capabilities:
  - { name: writes, match: { syscall: fs.write, path_glob: ["*.py"] }, action: allow }
"""
TOOL = "mcp__remit__{}"


@pytest.mark.e2e
@pytest.mark.slow
def test_TRN_21_claude_code_is_held_to_intents_and_policy_by_remits_tools(tmp_path: Path) -> None:
    claude = installed() / CLAUDE_CODE
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(POLICY)
    remit = CommandLine.alone(workspace, tmp_path)
    own = {**remit.environment, "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "none"}
    own["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    add = [claude, "mcp", "add", "remit", "--", str(REMIT), "mcp"]
    assert subprocess.run(add, cwd=workspace, env=own, capture_output=True, check=False, timeout=60).returncode == 0
    written = {"path": "b.py", "content": "x = 1\n"}
    calls = [
        (TOOL.format("write_file"), written),
        (TOOL.format("select_active_intent"), {"intent": "CODE"}),
        (TOOL.format("write_file"), written),
        (TOOL.format("write_file"), {**written, "path": "b.txt"}),
    ]
    with FakeVendor("messages", calls) as model:
        done = subprocess.run(
            [claude, "-p", "go on", "--allowedTools", "mcp__remit"],
            cwd=workspace,
            env={**own, "ANTHROPIC_BASE_URL": model.address},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(model.read[-1])["messages"]
    parts = [part for message in told if isinstance(message["content"], list) for part in message["content"]]
    results = [bool(part.get("is_error")) for part in parts if part["type"] == "tool_result"]
    assert results == [True, False, False, True]
    assert [path.name for path in workspace.iterdir()] == ["b.py"]
    records = [json.loads(line) for line in remit("audit", "log", "--json").out.splitlines()]
    assert {record["caller"] for record in records if record["kind"] == "tool_intent"} == {"agent"}
