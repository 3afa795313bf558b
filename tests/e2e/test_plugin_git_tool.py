"""The plugin `git-tool` with the manifest of its design, word by word, which a program in a real Deno serves (PLG-01,
PLG-04)."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_runtime import call, intent
from command_line import CommandLine
from doors import opened, request
from npm_packages import install_packages
from rule_programs import need_sandbox

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "plugins" / "git-tool"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "other")
MANIFEST = """\
name: "git-tool"
version: "1.0.0"
description: "Git operations for version control"
author: "fluffy-waffle"
runtime: "deno"
entry: "index.ts"
sandbox_template: "code-executor"
required_capabilities: ["fs.read", "fs.write", "shell.run"]
tags: ["core_plugin", "vcs"]
tools:
  - name: "git.diff"
    description: "Show changes between working tree and HEAD"
    # ... full ToolDefinition
min_api_version: 1
"""


@pytest.fixture
def deno(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Deno in the place where its own installer puts it, below a home."""
    need_sandbox()
    if sys.platform != "linux" or shutil.which("npm") is None:
        pytest.skip("there is no Node.js with npm")
    packages = install_packages(Path(__file__).parent / "plugins", scripts=False)
    program = tmp_path / ".deno" / "bin" / "deno"
    program.parent.mkdir(parents=True)
    shutil.copy(packages / "@deno" / f"linux-{MACHINE}-glibc" / "deno", program)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    yield program
    program.unlink()  # it has a hundred megabytes, so do not keep it with the other files of a test


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository whose file differs from the last commit."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text("total = 0\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "a.py").write_text("total = 1\n")
    return folder


def remit(shop: Path, *words: str, code: int = 0, **environment: str) -> Any:
    done = CommandLine.alone(shop, shop.parent)(*words, **environment)
    assert done.code == code, done.out + done.err
    return done


def called(folder: Path) -> Any:
    steps = ({"calls": [intent("EXECUTE"), call("git_tool_git_diff")]}, {"text": "done"})
    with opened("stdio", folder, *steps, options=("--approve", "session")) as door:
        name = door.run(request("t"))
        door.result(name)
        return [event for event in door.events(name) if event["kind"] == "tool_result"][-1]


@pytest.mark.usefixtures("deno")
def test_PLG_04_the_manifest_of_git_tool_is_a_plugin_that_runs(shop: Path) -> None:
    assert (EXAMPLE / "plugin.yaml").read_text() == MANIFEST
    said = remit(shop, "plugin", "install", "--yes", str(EXAMPLE)).out
    assert "does not get the tags: core_plugin" in said
    (told,) = remit(shop, "plugin", "list", "--json", "--tag", "vcs").lines
    assert told["state"] == "loaded"
    assert (told["capabilities"], told["tags_refused"]) == (["fs.read", "fs.write", "process.exec"], ["core_plugin"])
    # Each word of the manifest is shown by a command or has had an effect.
    words = yaml.safe_load(MANIFEST)
    assert {key: told[key] for key in ("name", "version", "author", "runtime")} == {
        key: words[key] for key in ("name", "version", "author", "runtime")
    }

    found = called(shop.parent)
    assert found["ok"], found
    assert "-total = 0\n+total = 1" in found["output"]
    (made,) = [each for each in remit(shop, "audit", "log", "--json").lines if each["kind"] == "sandbox_created"]
    assert made["metadata"]["template"] == words["sandbox_template"]

    remit(shop, "plugin", "disable", "git-tool")
    assert called(shop.parent)["error"]["code"] == "tool_not_allowed_for_intent"
    remit(shop, "plugin", "enable", "--yes", "git-tool")
    assert called(shop.parent)["ok"]


def test_PLG_07_a_runtime_that_is_not_there_is_said_before_a_yes(shop: Path, tmp_path: Path) -> None:
    without = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "nobody")}
    if shutil.which("deno", path=without["PATH"]) is not None:
        pytest.skip("this system has its own deno")
    assert "`deno`" in remit(shop, "plugin", "install", "--yes", str(EXAMPLE), **without).out
