"""HOK-01: real agents, as their vendors publish them, ask Remit before they run what a fake model tells them to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_vendors import FakeVendor, WireName
from hooked import Hooked
from real_agents import CLAUDE_CODE, installed

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@dataclass(frozen=True)
class RealAgent:
    """How to start an agent for one prompt, which of its tools runs a command, and how it finds its model."""

    program: str
    words: tuple[str, ...]
    tool: str
    argument: str
    wire: WireName
    finds: Callable[[str, Path], Mapping[str, str]]


def _claude(address: str, home: Path) -> Mapping[str, str]:
    del home
    return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def _codex(address: str, home: Path) -> Mapping[str, str]:
    trusted = (home / ".codex" / "config.toml").read_text().partition("# model\n")[0]
    ours = 'name = "ours"\nwire_api = "responses"\n'
    (home / ".codex" / "config.toml").write_text(
        f'{trusted}# model\n[model_providers.ours]\n{ours}base_url = "{address}/v1"\n'
    )
    return {}


def _gemini(address: str, home: Path) -> Mapping[str, str]:
    del home
    return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _copilot(address: str, home: Path) -> Mapping[str, str]:
    del home
    return {"COPILOT_PROVIDER_BASE_URL": f"{address}/v1", "COPILOT_MODEL": "gpt-4", "COPILOT_OFFLINE": "true"}


SETTINGS = {
    "gemini": '{\n  "security": {"auth": {"selectedType": "gemini-api-key"}},\n  "privacy": {"usageStatisticsEnabled": false}\n}\n'
}
"""What an agent's own settings file contains before Remit adds its entries."""
AGENTS = {
    "claude-code": RealAgent(
        CLAUDE_CODE,
        ("-p", "go on", "--allowedTools", "Bash"),
        "Bash",
        "command",
        "messages",
        _claude,
    ),
    "codex": RealAgent(
        ".bin/codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go on"),
        "exec_command",
        "cmd",
        "responses",
        _codex,
    ),
    "gemini": RealAgent(
        ".bin/gemini",
        ("-p", "go on", "--approval-mode", "yolo", "-m", "gemini-2.5-pro"),
        "run_shell_command",
        "command",
        "gemini",
        _gemini,
    ),
    "copilot": RealAgent(
        ".bin/copilot", ("-p", "go on", "--allow-all-tools"), "bash", "command", "completions", _copilot
    ),
}


def run_agent(name: str, hooked: Hooked, home: Path, commands: tuple[str, ...]) -> str:
    """Makes the agent run these commands; returns the last result that its model got."""
    agent = AGENTS[name]
    calls = [(agent.tool, {agent.argument: command}) for command in commands]
    with FakeVendor(agent.wire, calls) as model:
        environment = {
            **hooked.remit.environment,
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{hooked.remit.environment['PATH']}",
            "REMIT_HOOK_RESIDENT": "off",
            **agent.finds(model.address, home),
        }
        done = subprocess.run(
            [installed() / agent.program, *agent.words],
            cwd=hooked.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return model.read[-1]


def trust_hooks(hooked: Hooked, home: Path) -> None:
    """HOK-10: trusts the new hooks through Codex's own interface, as the person does in the screen of Codex."""
    assert hooked.remit("hook", "status", "codex", "--json", HOME=str(home)).lines[0]["state"] == "untrusted"
    asked = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "tests", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(hooked.root)]}},
    )
    with subprocess.Popen(
        [installed() / ".bin" / "codex", "app-server"],
        cwd=hooked.root,
        env={**hooked.remit.environment, "HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in asked:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
        answer = next(told for line in process.stdout if (told := json.loads(line)).get("id") == 2)
        process.terminate()
    with (home / ".codex" / "config.toml").open("w") as file:
        file.write('model = "gpt-5"\nmodel_provider = "ours"\ncheck_for_update_on_startup = false\n')
        file.write("[analytics]\nenabled = false\n")
        for hook in answer["result"]["data"][0]["hooks"]:
            file.write(f'[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n')


@pytest.mark.parametrize("name", AGENTS)
def test_HOK_01_what_is_denied_does_not_run_in_the_real_agent_and_what_is_allowed_does(
    name: str, tmp_path: Path
) -> None:
    hooked = Hooked.made(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    if name in SETTINGS:
        (home / f".{name}").mkdir()
        (home / f".{name}" / "settings.json").write_text(SETTINGS[name])
    assert hooked.remit("hook", "install", name, "--yes", HOME=str(home)).code == 0

    if name == "codex":
        trust_hooks(hooked, home)
    assert hooked.remit("hook", "status", name, "--json", HOME=str(home)).lines[0]["state"] == "installed"

    told = run_agent(name, hooked, home, ("ls src", "touch made", "echo x > .env"))
    assert "a.py" in told, "the allowed one ran"
    assert not (hooked.root / "made").exists()
    assert (hooked.root / ".env").read_text() == "TOKEN=hunter2hunter2\n"
    assert "no-secrets" in told, "the model reads why"
    calls = [r for r in hooked.records() if r["kind"] in {"tool_intent", "tool_outcome"}]
    judged = [r["policy_decision"] for r in calls if r["kind"] == "tool_intent"]
    assert judged == ["allowed", "review_required", "denied"]
    (ran,) = [r for r in calls if r["kind"] == "tool_outcome" and not r.get("deny_reason")]
    assert "a.py" in ran["output_summary"]

    # The command that was asked about is now allowed by name, and runs.
    assert hooked.remit("hook", "report", "--allow", "1", "--yes", HOME=str(home)).code == 0
    run_agent(name, hooked, home, ("touch made",))
    assert (hooked.root / "made").exists()
    assert hooked.remit("audit", "verify").code == 0
