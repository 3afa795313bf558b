"""A workspace whose virtual environment holds a real language server, or one that a test wrote, for the sandbox to see."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin:/bin")

OPEN = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: runs, match: { syscall: process.exec }, action: allow }
  - { name: private, match: { syscall: fs.read, path_glob: ["private.py"] }, action: require_review }
"""
"""Allows reads and runs without a question, except for one file: a server in the sandbox can see it, but a read
asks."""


def own_server(workspace: Path, program: str, text: str) -> None:
    """Put a program into the workspace's own virtual environment, which works with the system's Python."""
    programs = workspace / ".venv" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (workspace / ".venv" / ".gitignore").write_text("*\n")
    if not (programs / "python3").exists():
        (programs / "python3").symlink_to(SYSTEM_PYTHON or "/usr/bin/python3")
    (programs / program).write_text(f"#!{SYSTEM_PYTHON}\n{text}")
    (programs / program).chmod(0o755)


def with_jedi(workspace: Path) -> None:
    """Put the real jedi-language-server of these tests into the workspace. Nothing of it is compiled."""
    packages = workspace / ".venv" / "packages"
    for each in _needed("jedi-language-server", {}).values():
        for file in each.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target)
    start = f"import sys; sys.path.insert(0, {str(packages)!r})\nfrom jedi_language_server.cli import cli\ncli()\n"
    own_server(workspace, "jedi-language-server", start)


def _needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Returns a distribution and all its requirements that are installed."""
    try:
        found[name] = distribution(name)
    except PackageNotFoundError:
        return found
    for requirement in found[name].requires or ():
        required = re.match(r"[\w.-]+", requirement)
        if required and "extra ==" not in requirement and required[0] not in found:
            _needed(required[0], found)
    return found


async def asked(bench: Any, tool: str, **arguments: Any) -> Any:
    """Makes one call of the person's own, and returns its `tool_result`."""
    seen = len(bench.of("tool_result"))
    await bench.ask({"type": "call", "tool": tool, "arguments": arguments, "intent": "ANALYZE"})
    (event,) = bench.of("tool_result")[seen:]
    return event
