"""MOD-08: the packages that a fix tells to install exist, and the command suits the way in which Remit was
installed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from remit_server.machine import installed
from remit_server.models.remote.engines import PROVIDERS

ROOT = Path(__file__).parents[2]
READ = ("README.md", "docs", "server", "client-vscode/src", "client-vscode/README.md", "client-neovim", "client-emacs")


def test_MOD_08_a_clone_is_told_its_own_command() -> None:
    assert installed.how_to_install("otel").endswith(f"--extra otel` in {ROOT}")


@pytest.mark.parametrize("has_pip", [True, False])
def test_MOD_08_another_install_is_told_packages_that_exist(
    has_pip: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A wheel is not in a package index, so the fix must not name Remit's own package."""
    monkeypatch.setattr(installed, "_CLONE", tmp_path)
    monkeypatch.setattr(installed, "is_installed", lambda module: has_pip)
    said = installed.how_to_install("mlx")
    words = shlex.split(said.removeprefix("run `").removesuffix("`"))
    assert sys.executable in words
    assert "pip" in words
    assert ("uv" in words) != has_pip
    wanted = [each for each in words if "<" in each]
    assert {re.split(r"[<\[]", each)[0] for each in wanted} >= {"mlx-lm", "llguidance", "huggingface-hub"}


def test_MOD_08_no_advice_names_a_package_that_does_not_exist() -> None:
    files = [file for name in READ for file in [ROOT / name, *(ROOT / name).rglob("*")] if file.is_file()]
    wrong = re.compile(r"(?:pip|pipx|uv tool) install ['\"]?remit(?:\[|['\"\s`])")
    said = {file for file in files if file.suffix in {".py", ".md", ".ts", ".tsx", ".lua", ".el", ".yaml"}}
    assert [file for file in said if wrong.search(file.read_text("utf-8"))] == []


def test_MOD_11_the_library_of_each_protocol_comes_with_it() -> None:
    modules = {"openai": "openai", "anthropic": "anthropic", "google": "google.genai", "ollama": "ollama"}
    assert modules.keys() == PROVIDERS.keys()
    assert all(installed.is_installed(module) for module in modules.values())
