"""What a collector receives of a turn: every decision of governance, and no contents (OBS-02)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Bench, call, intent

from remit_server.telemetry.spans import Span, TurnSpans

RULES = """\
capabilities:
  - { name: reads, match: { syscall: fs.read, path_glob: ["**"] }, action: allow }
  - { name: asks, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }
  - { name: never, match: { syscall: fs.write, path_glob: ["sesame*"] }, action: deny, reason: sesame }
"""
SECRET = "open sesame"
STEPS = [
    {"calls": [intent("CODE"), call("write_file", path="b.txt", content=SECRET)]},
    {"calls": [intent("CODE"), call("write_file", path="sesame.txt", content=SECRET)]},
    {"text": f"done: {SECRET}"},
]


def spans_of(bench: Bench) -> list[Span]:
    turn = TurnSpans("s", "t")
    return [span for event in bench.events if (span := turn.take(event)) is not None]  # type: ignore[arg-type]


@pytest.fixture
async def bench(make_bench: Any) -> Bench:
    made: Bench = await make_bench(*STEPS, policy=RULES)
    await made.ask(f"say {SECRET}")
    return made


async def test_OBS_02_each_request_call_and_question_is_a_span_and_the_turn_ends_them(bench: Bench) -> None:
    spans = spans_of(bench)
    assert [span.name for span in spans if span.operation != "chat"] == [
        "approval write_file",
        "execute_tool write_file",
        "execute_tool write_file",
        "invoke_agent remit",
    ]
    assert len([span for span in spans if span.operation == "chat"]) == len(STEPS) == len(bench.of("usage"))
    (*inside, turn) = spans
    assert all(turn.start <= span.start <= span.end <= turn.end for span in inside)


async def test_OBS_02_a_call_says_intent_rules_verdict_and_how_it_ended(bench: Bench) -> None:
    wrote, denied = (span for span in spans_of(bench) if span.operation == "execute_tool")
    assert wrote.attributes["remit.intent"] == denied.attributes["remit.intent"] == "CODE"
    assert (wrote.attributes["remit.verdict"], wrote.error) == ("require_review", None)
    assert "asks" in wrote.attributes["remit.rules"]  # type: ignore[operator]
    assert (denied.attributes["remit.verdict"], denied.error) == ("deny", "denied")
    assert denied.attributes["error.type"] == "denied"
    assert "never" in denied.attributes["remit.rules"]  # type: ignore[operator]
    (asked,) = (span for span in spans_of(bench) if span.operation == "approval")
    assert asked.attributes["remit.approval.decision"] == "allow"
    assert asked.attributes["remit.approval.by"] == "person"


async def test_OBS_02_no_contents_are_in_it(bench: Bench) -> None:
    said = repr(spans_of(bench))
    assert all(hidden not in said for hidden in (SECRET, "sesame", "b.txt", str(bench.workspace)))


async def test_OBS_02_its_tokens_are_those_of_the_turn(bench: Bench) -> None:
    (*inside, turn) = spans_of(bench)
    for kind in ("input", "output"):
        name = f"gen_ai.usage.{kind}_tokens"
        assert sum(int(span.attributes.get(name, 0)) for span in inside) == turn.attributes.get(name, 0)  # type: ignore[arg-type]
