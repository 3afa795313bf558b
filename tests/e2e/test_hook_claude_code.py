"""HOK-01: the real Claude Code, where it is installed, asks Remit before it runs what a model of ours says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_anthropic import FakeAnthropic
from hooked import Hooked


@pytest.mark.slow
def test_HOK_01_what_is_denied_does_not_run_in_claude_code_and_what_is_allowed_does(tmp_path: Path) -> None:
    claude = shutil.which("claude")
    if claude is None:
        pytest.skip("Claude Code (`claude`) is not installed")
    hooked = Hooked.made(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        **hooked.remit.environment,
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{hooked.remit.environment['PATH']}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "REMIT_HOOK_RESIDENT": "off",
    }
    assert hooked.remit("hook", "install", "claude-code", "--yes", HOME=str(home)).code == 0
    with FakeAnthropic(["ls src", "touch made", "echo x > .env"]) as model:
        done = subprocess.run(
            [claude, "-p", "go on", "--allowedTools", "Bash"],
            cwd=hooked.root,
            env={**environment, "ANTHROPIC_BASE_URL": model.address},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert [bool(result.get("is_error")) for _, result in sorted(model.results.items())] == [False, True, True]
    assert not (hooked.root / "made").exists()
    assert (hooked.root / ".env").read_text() == "TOKEN=hunter2hunter2\n"
    decided = [(r["kind"], r["policy_decision"]) for r in hooked.records() if r.get("policy_decision")]
    assert decided == [
        ("tool_intent", "allowed"),
        ("tool_intent", "review_required"),
        *(("tool_intent", "denied"), ("tool_outcome", "denied")),
    ]
    assert [r["kind"] for r in hooked.records()].count("tool_outcome") == 2
