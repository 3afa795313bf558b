"""Everything that the server starts or accepts has a row that says what it may do by itself (APP-14)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server" / "remit_server"
PAGE = (ROOT / "docs" / "design" / "approvals.md").read_text()
STARTS = {"Popen", "run", "check_output", "check_call", "create_subprocess_exec", "create_subprocess_shell"}
ACCEPTS = {"accept", "start_server", "start_unix_server", "create_server", "create_unix_server"}
NAMED = re.compile(rf"\.\s*(?:{'|'.join(STARTS | ACCEPTS)})\b")
"""What every file with such a call has; to parse the others takes most of the time."""


def calls(file: Path) -> set[str]:
    """Returns the names of the calls in a file that start a process or accept a connection."""
    found, text = set[str](), file.read_text()
    for node in ast.walk(ast.parse(text)) if NAMED.search(text) else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value).rpartition(".")[2]
            if (
                node.func.attr in STARTS
                and owner in {"subprocess", "asyncio"}
                and ast.unparse(node.func) != "asyncio.run"
            ):
                found.add(node.func.attr)
            if node.func.attr in ACCEPTS and owner in {"listener", "socket", "asyncio", "door", "loop"}:
                found.add(node.func.attr)
    return found


def named(file: Path) -> bool:
    return f"`{file.relative_to(SERVER)}`" in PAGE


def test_APP_14_what_starts_a_process_or_takes_a_connection_has_a_row() -> None:
    clients = (("code", "language_server", "inside_client.py"), ("mcp", "inside_mcp.py"), ("plugins", "sdk"))
    inside = [SERVER / "tools" / "run" / "testing", *(SERVER.joinpath("tools", *place) for place in clients)]
    files = [file for file in SERVER.rglob("*.py") if not any(file.is_relative_to(each) for each in inside)]
    found = {str(file.relative_to(SERVER)): called for file in files if (called := calls(file))}
    assert {name for name in found if not named(SERVER / name)} == set()
    assert {
        "extensions/process.py",
        "bootstrap/keep_up.py",
        "sandbox/network/proxy.py",
        "transports/lsp/main.py",
    } < found.keys()


def test_APP_14_every_place_that_a_row_names_is_there() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and ".py`" in line]
    assert len(rows) > 10
    for row in rows:
        for word in row.split("`")[1::2]:
            assert not word.endswith(".py") or (SERVER / word).is_file(), word
