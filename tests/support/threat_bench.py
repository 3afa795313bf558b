"""What the attacks share: a person's policy that asks as little as possible, and one call through the whole dispatcher."""

from __future__ import annotations

import textwrap
from typing import Any

from bench_runtime import Answering, Bench

LAX = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: allow }
  - { name: runs, match: { syscall: process.exec }, action: allow }
  - { name: secrets, match: { syscall: fs.read, path_glob: [".env"] }, action: deny }
"""
"""Allows everything that a person could allow, so that a refusal does not come from this policy alone."""

INTENTS = {"read_file": "READ_FILE", "edit_file": "CODE", "write_file": "CODE", "run_command": "EXECUTE"}
INTENTS |= dict.fromkeys(("git_commit", "run_tests"), "EXECUTE") | dict.fromkeys(
    ("delete_file", "move_file", "apply_diff"), "CODE"
)


def own(tool: str, **arguments: Any) -> dict[str, Any]:
    """Returns a call as part of a request: no model makes it, but the same rules hold."""
    return {"type": "call", "tool": tool, "arguments": arguments, "intent": INTENTS.get(tool, "ANALYZE")}


async def result(bench: Bench, tool: str, asker: Any = None, **arguments: Any) -> Any:
    """Makes one call, and returns its `tool_result`."""
    seen = len(bench.of("tool_result"))
    await bench.ask(own(tool, **arguments), asker=asker)
    (event,) = bench.of("tool_result")[seen:]
    return event


async def script(bench: Bench, text: str) -> Any:
    """Runs a script that the person allows, as `sh script.sh` does not show what it tries. Returns its
    `tool_result`."""
    (bench.workspace / "script.sh").write_text(textwrap.dedent(text))
    return await result(bench, "run_command", asker=Answering(), command="sh script.sh")
