"""A copy of the demo's sample workspace, and a `remit` that sees nothing else of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from chat_screen import ChatScreen
from command_line import CommandLine
from small_server import small_server

NEEDS_EGLOT = '(unless (locate-library "eglot") (kill-emacs 1))'
READ = {"calls": [intent("READ_FILE"), call("read_file", path="src/cart.py")]}
EDIT = {
    "calls": [
        intent("CODE"),
        call("edit_file", path="src/cart.py", old_text="total", new_text="subtotal", replace_all=True),
    ]
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with as_file(files("remit_server.demo") / "sample") as sample:
        return shutil.copytree(sample, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def remit(shop: Path, tmp_path: Path) -> CommandLine:
    return CommandLine.alone(shop, tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that writes a script of steps (by default the rename and a last word) and returns its
    REMIT_MODEL."""

    def write(*steps: dict[str, Any]) -> str:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(steps or (READ, EDIT, {"text": "Renamed."})))
        return f"script:{path}"

    return write


@pytest.fixture
def chat(remit: CommandLine, tmp_path: Path) -> Callable[..., ChatScreen]:
    """Returns a function that starts a chat at a terminal, whose model plays the given steps."""

    def start(*steps: dict[str, Any], size: tuple[int, int] = (24, 80), words: tuple[str, ...] = (), **env: str) -> Any:
        script = tmp_path / "words.json"
        script.write_text(json.dumps(steps))
        terminal = ChatScreen(
            remit.workspace, {**remit.environment, "REMIT_MODEL": f"script:{script}", **env}, *size, words
        )
        terminal.until(r"/help\s*$")
        return terminal

    return start


@pytest.fixture
def first_change(request: pytest.FixtureRequest, shop: Path) -> Iterator[tuple[str, str]]:
    """Yields the reference of a served model that makes a rename, and the file's text after the rename. A test may give
    the server's shape as the fixture's parameter."""
    old, given = (
        (shop / "src/cart.py").read_text(),
        {"path": "src/cart.py", "old_text": "total", "new_text": "subtotal"},
    )
    edit = {"edit_file": "CODE", **given, "replace_all": True}
    shape = getattr(request, "param", "llama.cpp")
    with small_server(edit, {"answer": "It is called subtotal."}, shape=shape) as reference:
        yield reference, old.replace("total", "subtotal")


@pytest.fixture
def bwrap() -> str:
    return shutil.which("bwrap") or pytest.skip("there is no bwrap: apt-get install bubblewrap")


@pytest.fixture(scope="session")
def emacs() -> str:
    found = shutil.which("emacs") or pytest.skip("there is no emacs: apt-get install emacs-nox elpa-eglot")
    has_eglot = [found, "-q", "--batch", "-f", "package-initialize", "--eval", NEEDS_EGLOT]
    if subprocess.run(has_eglot, check=False).returncode:
        pytest.skip("this emacs has no eglot: apt-get install elpa-eglot")
    return found


@pytest.fixture(params=["system", "newer"])
def nvim(request: pytest.FixtureRequest) -> str:
    """The oldest Neovim that is supported, as Debian has it, and a newer one from PyPI (`make setup`)."""
    ours = Path(sys.executable).parent
    if request.param == "newer":
        return shutil.which("nvim", path=ours) or pytest.skip("there is no nvim in the environment: make setup")
    others = [folder for folder in os.get_exec_path() if Path(folder) != ours]
    found = shutil.which("nvim", path=os.pathsep.join(others))
    return found or pytest.skip("there is no nvim: apt-get install neovim")
