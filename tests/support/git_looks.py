"""Repositories to be looked at by the git tools, and a turn that looks (GIT-01)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from bench_runtime import Answering, Bench, intent

READS = "capabilities:\n  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }\n"


def git(folder: Path, *words: str) -> str:
    whole = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *words)
    return subprocess.run(whole, cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path) -> Path:
    shop = folder / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    for name in ("a.py", "b.py", "c c.py", ".env"):
        (shop / name).write_text(f"first of {name}\n" + "x = 1\n" * 20)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "first")
    return shop


async def asked(
    make_bench: Any, *calls: Any, policy: str = READS, asker: Answering | None = None, name: str = "shop"
) -> Bench:
    asker = asker or Answering(decision="deny")
    bench: Bench = await make_bench({"calls": [intent("ANALYZE"), *calls]}, {"text": "ok"}, policy=policy, name=name)
    (bench.workspace / "a.py").write_text("first of a.py\n" + "x = 1\n" * 20)
    await bench.ask("look", asker=asker)
    assert asker.asked == []
    return bench


def output(bench: Bench, number: int = 0) -> str:
    """Returns the output of the call of this number, because calls of one step run at once and end in any order."""
    called = bench.of("tool_call")[number].tool_call_id
    return next(result.output for result in bench.of("tool_result") if result.tool_call_id == called)
