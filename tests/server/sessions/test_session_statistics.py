"""SES-06: the figures are equal to an independent count over the file."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from bench_runtime import Answering, Bench, call, intent

from remit_server.chat.figures import describe_statistics
from remit_server.sessions.session_file import read_session
from remit_server.sessions.statistics import count

STEPS = (
    {"calls": [intent("READ_FILE"), call("read_file", path="a.py"), call("read_file", path="none.py")]},
    {"calls": [intent("CODE"), call("write_file", path="b.py", content="x\n")]},
    {"calls": [intent("CODE"), call("write_file", path="c.py", content="x\n")]},
    {"text": "done"},
)


async def session_file(make_bench: Any) -> Path:
    bench: Bench = await make_bench(*STEPS, {"text": "again"})
    await bench.ask("do it", asker=Answering("allow", later="deny"))
    await bench.ask("and again")
    await bench.ask({"type": "call", "tool": "read_file", "arguments": {"path": "a.py"}, "intent": "READ_FILE"})
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    return path


async def test_SES_06_figures_equal_an_independent_recount(make_bench: Any) -> None:
    path = await session_file(make_bench)
    figures = count(read_session(path).records).model_dump(mode="json")
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    def of(kind: str) -> list[dict[str, Any]]:
        return [line for line in lines if line["type"] == kind]

    results: dict[str, dict[str, Any]] = {}
    for line in of("tool_result"):
        results[line["turn_id"] + line["id"]] = line
    said = figures["messages"]
    assert said["user"] == len(of("user"))
    assert said["assistant"] == len(of("assistant"))
    assert said["tool_calls"] == len(of("tool_call"))
    assert said["tool_results"] == len(results)
    assert said["total"] == len(of("user") + of("assistant") + of("system")) + len(results)
    texts = [line["content"] if line.get("sent") is None else line["sent"] for line in lines if "content" in line]
    texts += [line["output"] for line in results.values()]
    assert figures["size"]["characters"] == sum(map(len, texts))
    assert figures["size"]["largest"] == max(map(len, texts))
    tokens = [line["tokens"] for line in of("assistant")]
    (model,) = figures["models"]
    assert model["output_tokens"] == sum(each["output"] for each in tokens) > 0
    assert model["input_tokens"] == sum(each["input"] for each in tokens)
    for tool in figures["tools"]:
        mine = [line for line in results.values() if line["name"] == tool["name"]]
        assert (tool["calls"], tool["succeeded"]) == (len(mine), sum(line["success"] for line in mine))
        assert sum(tool["failed"].values()) == tool["calls"] - tool["succeeded"]
        assert abs(tool["duration_ms"] - sum(line["duration_ms"] for line in mine)) < 1e-6
    assert figures["intents"] == {"READ_FILE": 2, "CODE": 2}
    assert figures["questions"] == {"allow": 1, "deny": 1}
    assert sum(figures["turns"].values()) == len(of("turn_end")) == 3
    assert figures["changed_files"] == 1
    spent = figures["time"]
    assert abs(spent["model_ms"] - sum(line["duration_ms"] for line in of("assistant"))) < 1e-6
    assert abs(spent["person_ms"] - sum(line["waited_ms"] for line in of("approval"))) < 1e-6
    first, last = (datetime.fromisoformat(lines[n]["timestamp"]) for n in (0, -1))
    assert abs(spent["span_ms"] - (last - first).total_seconds() * 1000) < 1e-6
    assert spent["model_ms"] + spent["tools_ms"] + spent["person_ms"] <= spent["turns_ms"] * 1.01


async def test_SES_06_an_empty_session_has_figures_too(make_bench: Any) -> None:
    assert count(()).messages.total == 0
    path = await session_file(make_bench)
    records = read_session(path).records
    for upto in range(len(records)):
        found = count(records[:upto])
        assert re.fullmatch(r"\d+(\.\d+)?", str(found.messages_per_minute))


async def test_SES_06_a_rate_is_told_of_a_minute_at_least(make_bench: Any) -> None:
    figures = count(read_session(await session_file(make_bench)).records)
    long = figures.model_copy(update={"time": figures.time.model_copy(update={"turns_ms": 90_000})})
    told = ["a minute" in str(dict(describe_statistics(each))["Messages"]) for each in (figures, long)]
    assert told == [False, True]
