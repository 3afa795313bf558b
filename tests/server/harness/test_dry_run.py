"""A dry run reads, shows what would be done, and does nothing else (CLI-08)."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent

ALL = "capabilities:\n" + "".join(
    f"  - {{ name: r{n}, match: {{ syscall: {kind} }}, action: allow }}\n"
    for n, kind in enumerate(("process.exec", "fs.write", "fs.read", "fs.list", "git.commit"))
)
STEPS = (
    {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]},
    {"calls": [intent("CODE"), call("write_file", path="b.py", content="x\n"), call("delete_file", path="a.py")]},
    {"calls": [intent("EXECUTE"), call("run_command", command="touch ran")]},
    {"text": "that would be all"},
)


@pytest.mark.parametrize("policy", [ALL, None], ids=["policy-allows-all", "policy-asks"])
async def test_CLI_08_nothing_is_done_and_nobody_is_asked(make_bench: Any, policy: str | None) -> None:
    bench: Bench = await make_bench(*STEPS, policy=policy)
    before = {path.name: path.read_bytes() for path in bench.workspace.iterdir()}
    asker = Answering("allow")
    result = await bench.ask("do it", asker=asker, policy={"dry_run": True})
    assert {path.name: path.read_bytes() for path in bench.workspace.iterdir()} == before
    assert asker.asked == []
    assert (result.status, result.final_output) == ("completed", "that would be all")
    ended = {event.tool: event for event in bench.of("tool_result")}
    assert ended["read_file"].ok
    assert ended["write_file"].error.code == ended["delete_file"].error.code == "dry_run"
    assert "+x" in ended["write_file"].data["diffs"][0]["diff"]
    if shutil.which("bwrap"):
        assert ended["run_command"].error.code == "dry_run"
    assert not bench.of("approval_required")


async def test_CLI_08_what_policy_denies_is_denied_in_a_dry_run_too(make_bench: Any) -> None:
    deny = "capabilities:\n  - { name: no, match: { syscall: fs.write }, action: deny }\n"
    bench: Bench = await make_bench(*STEPS, policy=deny)
    await bench.ask("do it", policy={"dry_run": True})
    ended = {event.tool: event for event in bench.of("tool_result")}
    assert ended["write_file"].error.code == "denied"
