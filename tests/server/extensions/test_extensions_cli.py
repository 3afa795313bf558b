"""A person's own rules on the command line: explained, checked, in the doctor's page, and applied to a call
(EXT-01)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import CommandLine
from rule_programs import need_sandbox

from remit_server.cli.commands.setup.doctor import CHECKS, examine
from remit_server.cli.main import main
from remit_server.runtime.settings import Settings

RULE = """\
SYSCALLS = ("fs.write",)


def rule(action):
    return ("deny", "no more Python") if action["path"].endswith(".py") else "allow"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's configuration with an empty policy and one rule that is a program."""
    need_sandbox()
    folder = tmp_path / "config"
    (folder / "rules").mkdir(parents=True)
    (folder / "rules" / "python.py").write_text(RULE)
    (folder / "policy.yaml").write_text("version: 1\n")
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(folder))
    return folder


def test_policy_explain_asks_them_and_names_their_line(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain", "--json", "--action", '{"syscall": "fs.write", "path": "a.py"}']) == 3
    decision = json.loads(capsys.readouterr().out)
    assert decision["reasons"] == [
        {
            "rule": "extension.python",
            "layer": "extension",
            "action": "deny",
            "reason": "no more Python",
            "file": str(config / "rules" / "python.py"),
            "line": 4,
        }
    ]
    assert main(["policy", "explain", "--action", '{"syscall": "fs.write", "path": "a.txt"}']) == 0
    # A policy file that is only tried out is used without the person's rules.
    tried = ["--policy", str(config / "policy.yaml")]
    assert main(["policy", "explain", *tried, "--action", '{"syscall": "fs.write", "path": "a.txt"}']) == 3


def test_policy_check_reads_and_loads_them(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "check"]) == 0
    (config / "rules" / "broken.py").write_text("import numpy\ndef rule(action): ...\n")
    assert main(["policy", "check"]) == 1
    assert "broken.py:1:1: ModuleNotFoundError: No module named 'numpy'" in capsys.readouterr().out
    (config / "rules" / "broken.py").write_text("def rule(action:\n")
    assert main(["policy", "check"]) == 1
    assert "broken.py:1:9: '(' was never closed; correct the Python" in capsys.readouterr().out
    assert main(["policy", "check", str(config / "rules" / "python.py")]) == 0
    assert main(["policy", "check", str(config / "rules" / "broken.py")]) == 1


def test_the_doctor_says_whether_they_can_be_asked(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.from_environment(Path())
    found = examine("policy", CHECKS["policy"], settings)
    assert found.good
    assert "python.py" in found.detail
    monkeypatch.setenv("PATH", str(config))
    monkeypatch.setenv("REMIT_SANDBOX", "bubblewrap")
    found = examine("policy", CHECKS["policy"], settings)
    assert not found.good
    assert "your extension rules cannot be asked: there is no sandbox" in found.detail
    assert "install bubblewrap" in found.fix


@pytest.mark.slow
def test_run_tool_is_denied_by_a_rule(config: Path, tmp_path: Path) -> None:
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    arguments = json.dumps({"path": "a.py", "content": "x = 1\n"})
    done = remit("run-tool", "write_file", arguments, "--intent", "CODE")
    assert done.code == 3
    assert re.search("`write_file` was denied by extension.python: no more Python", done.out + done.err)
    assert not (tmp_path / "shop" / "a.py").exists()
