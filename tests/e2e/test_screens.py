"""The screens that the documentation shows as text are what the terminal, Neovim and Emacs show (DOC-03, EMA-06)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from chat_screen import ChatScreen
from command_line import REMIT, CommandLine

ROOT = Path(__file__).parents[2]
CART = "LIMIT = 40\n\n\ndef total(prices):\n    return sum(prices)\n"
REQUEST = "set LIMIT to 80 in src/cart.py"
ROWS, COLUMNS = 36, 80

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def shown(number: int) -> list[str]:
    """Returns the lines of a screen, by its number on the page."""
    page = (ROOT / "docs" / "screens.md").read_text()
    return page.split("```text\n")[number].partition("\n```")[0].splitlines()


def timeless(lines: list[str]) -> list[str]:
    """Returns the lines without empty ones, and with placeholders for what differs from run to run."""
    return [re.sub(r"\d+ ms|cli-\w+|running \d+ s", "…", line) for line in lines if line.strip(" ~")]


@pytest.fixture
def project(remit: CommandLine) -> CommandLine:
    (remit.workspace / "src").mkdir(exist_ok=True)
    (remit.workspace / "src" / "cart.py").write_text(CART)
    return remit


def editing(project: CommandLine, home: Path, program: str, *words: str) -> ChatScreen:
    """An editor with the package of this checkout and none of the person's settings, with the file open."""
    homes = {name: str(home / name) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    path = {"PATH": f"{REMIT.parent}:{project.environment['PATH']}", "HOME": str(home)}
    environment = {**project.environment, **homes, **path}
    return ChatScreen(project.workspace, environment, ROWS, COLUMNS, (*words, "src/cart.py"), program)


def test_DOC_03_the_screen_of_the_terminal(project: CommandLine) -> None:
    with ChatScreen(project.workspace, project.environment, ROWS, COLUMNS) as terminal:
        terminal.until("explore: idle")
        terminal.send(f"{REQUEST}\r")
        terminal.until(r"allow\? ")
        terminal.until("running [0-9]")
        wanted = timeless(shown(1)[1:])
        assert timeless(terminal.all_text.splitlines())[-len(wanted) :] == wanted
        terminal.send("n")


def test_DOC_03_the_screen_of_neovim(nvim: str, project: CommandLine, tmp_path: Path) -> None:
    loaded = ("--cmd", f"set rtp^={ROOT / 'client-neovim'}", "--cmd", "let g:remit = #{trusted: v:true}")
    with editing(project, tmp_path, nvim, "--clean", "-n", "-i", "NONE", *loaded) as terminal:
        terminal.until("LIMIT = 40")
        terminal.send(f":Remit {REQUEST}\r")
        terminal.until(r"N no, with a comment[^§]*Remit asks: change")
        assert timeless(terminal.text.splitlines()) == timeless(shown(2))
        terminal.send(":Remit review\r")
        terminal.send("y")
        terminal.until(r"src/cart.py \+1 −1")


def test_EMA_06_DOC_03_the_screen_of_emacs(emacs: str, project: CommandLine, tmp_path: Path) -> None:
    quiet = "(setq native-comp-async-report-warnings-errors 'silent inhibit-startup-screen t use-short-answers t)"
    loaded = ("-f", "package-initialize", "-L", str(ROOT / "client-emacs"), "-l", "remit", "--eval", quiet)
    with editing(project, tmp_path, emacs, "-nw", "-q", *loaded) as terminal:
        terminal.until("LIMIT = 40")
        terminal.send("\x1bx")
        terminal.until("M-x")
        terminal.send("remit-ask\r")
        terminal.until("Remit:")
        terminal.send(f"{REQUEST}\r")
        terminal.until(r"N no, with a comment[^§]*goes there\)")
        assert timeless(terminal.text.splitlines()) == timeless(shown(3))
        terminal.send("\x1bx")
        terminal.until("M-x")
        terminal.send("remit-review\r")
        terminal.until("Diff Help")
        terminal.send("y")
        terminal.until(r"src/cart.py \+1 −1")
