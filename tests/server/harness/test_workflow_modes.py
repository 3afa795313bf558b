"""A step that the workflow refuses ends the request (FLW-07)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Answering, call, intent

from remit_governance.workflow.states import Mode

NO_MODE = (
    "version: 1\ncapabilities:\n"
    "  - { name: all, match: { syscall: [fs.read, fs.list, fs.write], path_glob: ['**'] }, action: allow }\n"
    "  - { name: mine, match: { syscall: session.set_mode }, action: deny }\n"
)
WRITE = {"calls": [intent("WRITE_FILE"), call("write_file", path="new.py", content="x = 1\n")]}
DONE = {"text": "done"}


def own(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "call", "tool": tool, "arguments": arguments, "intent": "PLAN"}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
async def test_FLW_07_a_refused_mode_ends_the_request(make_bench: Any, mode: Mode) -> None:
    bench = await make_bench(WRITE, DONE, policy=NO_MODE)
    result = await bench.ask(own("set_mode", mode=mode.value), "write it", asker=Answering())
    assert not (bench.workspace / "new.py").exists()
    assert result.status in {"denied", "failed"}
    assert "mine" in (result.reason or "")
    assert len(bench.of("tool_result")) == 1, "the model was not asked"


async def test_FLW_07_a_refused_answer_to_a_review_ends_the_request(make_bench: Any) -> None:
    bench = await make_bench(WRITE, DONE)
    result = await bench.ask(own("review_work", answer="approve"), "commit the work", asker=Answering())
    assert not (bench.workspace / "new.py").exists()
    assert result.status == "failed"


async def test_FLW_07_a_project_cannot_keep_a_person_from_strict_mode(make_bench: Any) -> None:
    bench = await make_bench(WRITE, DONE, trusted=True)
    (bench.workspace / ".remit").mkdir()
    rules = "{ name: theirs, match: { syscall: session.set_mode }, action: deny }"
    (bench.workspace / ".remit" / "policy.yaml").write_text(f"version: 1\ncapabilities: [{rules}]\n")
    await bench.runtime.reload()
    await bench.ask(own("set_mode", mode="strict"), "write it", asker=Answering())
    assert bench.runtime.status().mode == "strict"
    assert not (bench.workspace / "new.py").exists()
