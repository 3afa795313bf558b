"""A workspace whose agent calls `remit hook`, and what an agent reads in an answer."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import CommandLine, Done

CASES = Path(__file__).parents[1] / "cases" / "hooks"


def cases(agent: str) -> list[dict[str, Any]]:
    """Returns the recorded events of an agent, each with the expected answer."""
    return json.loads((CASES / f"{agent}.json").read_text("utf-8"))["cases"]


@dataclass(frozen=True)
class Hooked:
    """A project with a secret, a link to an agent's settings, and an agent in it."""

    root: Path
    remit: CommandLine

    @staticmethod
    def made(folder: Path) -> Hooked:
        root = folder / "shop"
        (root / "src").mkdir(parents=True)
        (root / ".git").mkdir()
        (root / "src" / "a.py").write_text("x=1\n")
        (root / ".env").write_text("TOKEN=hunter2hunter2\n")
        (root / "link").symlink_to(".claude/settings.json")
        return Hooked(root, CommandLine.alone(root, folder))

    def __call__(self, agent: str, event: Any, *words: str, **environment: str) -> Done:
        """Runs the hook for one event, given as JSON text or as a value."""
        text = event if isinstance(event, str) else json.dumps(event).replace("{ROOT}", str(self.root))
        return self.remit("hook", agent, *words, stdin=text, **environment)

    def bash(self, command: str, event: str = "PreToolUse", call: str = "toolu_1", **more: Any) -> dict[str, Any]:
        """Returns an event of Claude Code's shell."""
        named = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": command}}
        return {"session_id": "s1", "cwd": str(self.root), "tool_use_id": call, **named, **more}

    def records(self) -> list[dict[str, Any]]:
        """Returns the audit log, oldest first."""
        return self.remit("audit", "log", "--json", "-n", "1000").lines


def word_of(agent: str, done: Done) -> str:
    """Returns the decision that an agent reads in the answer; `silent` if the answer is empty."""
    if done.code == 2:
        return "deny"
    if not done.out.strip():
        return "silent"
    value = json.loads(done.out)
    specific = value.get("hookSpecificOutput", {})
    found = {
        "claude-code": specific.get("permissionDecision") or specific.get("decision", {}).get("behavior"),
        "codex": specific.get("permissionDecision") or specific.get("decision", {}).get("behavior"),
        "gemini": value.get("decision"),
        "copilot": value.get("permissionDecision") or value.get("behavior"),
        "cursor": value.get("permission"),
    }[agent]
    assert found in {"allow", "ask", "deny"}, done.out
    return found


def hook_process(
    root: Path, agent: str, text: bytes, environment: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Runs the hook as an agent starts it."""
    from command_line import REMIT

    command = [str(REMIT), "hook", agent]
    return subprocess.run(command, cwd=root, env=environment, input=text, capture_output=True, timeout=240, check=False)
