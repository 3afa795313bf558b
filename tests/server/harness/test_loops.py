"""The detector of loops warns once, then ends the turn, and does not take polling for a loop (AGT-03)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import call, intent
from hypothesis import given
from hypothesis import strategies as st

from remit_server.agent.loops import THRESHOLDS, History, Loop, Seen, after_step, count_trailing
from remit_server.contract import RunRequest
from remit_server.harness.ports import NobodyToAsk
from remit_server.models.ports import ToolMessage

Step = tuple[str, list[Seen]]
SAYS = "Let me look at the file once more."


def loops_of(steps: list[Step]) -> list[Loop]:
    """Returns the loops that the detector finds, until one ends the turn."""
    history, found = History(), []
    for text, calls in steps:
        history, loop = after_step(history, text, calls)
        found += [loop] if loop else []
        if loop and loop.ends:
            break
    return found


def done(name: str, result: str = "same") -> Seen:
    return Seen(name, True, result)


def failed(name: str, result: str = "same") -> Seen:
    return Seen(name, False, result)


CIRCLES: dict[str, list[Step]] = {
    "same_call": [("", [done("a")])] * 9,
    "alternating_calls": [("", [done("a")]), ("", [done("b")])] * 9,
    "repeated_failure": [step for n in range(9) for step in [("", [failed("a", str(n))]), ("", [done("b", str(n))])]],
    "repeated_text": [(SAYS, [failed(f"call {n}", str(n))]) for n in range(9)],
}


@pytest.mark.parametrize("kind", THRESHOLDS)
def test_each_circle_is_warned_of_once_and_then_ends_the_turn(kind: str) -> None:
    warned, ended = loops_of(CIRCLES[kind])
    assert (warned.kind, warned.times, warned.ends) == (kind, THRESHOLDS[warned.kind].warn, False)
    assert (ended.kind, ended.times, ended.ends) == (kind, THRESHOLDS[ended.kind].stop, True)


def test_three_calls_over_and_over_are_a_circle_too() -> None:
    assert next(loop.kind for loop in loops_of([("", [done("a"), done("b"), failed("c")])] * 9)) == "alternating_calls"


def test_a_circle_within_one_step_is_warned_of_before_it_ends_anything() -> None:
    assert [loop.ends for loop in loops_of([("", [failed("a")] * 30)])] == [False]
    assert [loop.ends for loop in loops_of([("", [failed("a")] * 30), ("", [done("b")])])] == [False]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60))
def test_calls_whose_results_differ_are_never_a_circle(names: list[str]) -> None:
    """The same call with a new result each time is a poll, even if the model's text is the same."""
    assert loops_of([(SAYS, [done(name, str(n))]) for n, name in enumerate(names)]) == []


_CALLS = st.builds(Seen, st.sampled_from("ab"), st.booleans(), st.sampled_from("xy"))
_STEPS = st.lists(st.tuples(st.sampled_from(["", SAYS]), st.lists(_CALLS, min_size=1, max_size=4)), max_size=30)


@given(_STEPS)
def test_nothing_ends_without_a_warning_in_an_earlier_step_and_one_warning_is_all(steps: list[Step]) -> None:
    found = loops_of(steps)
    assert [loop.ends for loop in found] in ([], [False], [False, True])


@given(st.lists(st.sampled_from("ab"), max_size=8), st.text("ab", min_size=1, max_size=4), st.integers(1, 6))
def test_trailing_counts_at_least_what_was_put_there(before: list[str], piece: str, times: int) -> None:
    assert count_trailing([*before, *(piece * times)], len(piece)) >= times
    assert count_trailing("abc" + piece * times, len(piece) + 3 + len(piece) * times) == 0


@given(_STEPS)
def test_a_model_that_stops_repeating_goes_on(steps: list[Step]) -> None:
    """After a warning, new calls that make progress never end the turn."""
    history = History()
    for text, calls in steps:
        history, _ = after_step(history, text, calls)
    for number in range(20):
        history, loop = after_step(history, "", [done(f"new {number}", str(number))])
        assert loop is None or not loop.ends


async def test_the_model_reads_the_warning_and_the_turn_ends_with_a_reason(make_bench: Any) -> None:
    """002: the turn ends with `limit_reached`, and the person is told why."""
    bench = await make_bench(*[{"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}] * 25)
    result = await bench.ask("go")
    assert result.error is not None
    assert result.error.code == "limit_reached"
    assert "made the same call with the same result, 5 times" in result.error.message
    assert len(bench.of("tool_result")) == 5
    asked = bench.runtime._runner.agent.provider.requests
    told = [m.text for m in asked[-1].messages if isinstance(m, ToolMessage)]
    assert ["warning: you made the same call" in text for text in told] == [False] * 5 + [True] + [False] * 3 + [True]
    assert len(bench.of("warning")) == 1
    assert [request.must_answer for request in asked] == [False] * 5 + [True]


async def test_AGT_03_a_model_that_goes_round_in_circles_says_what_it_has(make_bench: Any) -> None:
    """Finished work is not reported as failed: the last request offers no calls, so the model must answer."""
    round_in_circles = {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}
    bench = await make_bench(*[round_in_circles] * 5, {"text": "It defines f."})
    result = await bench.ask("what is in a.py?")
    assert (result.status, result.final_output) == ("completed", "It defines f.")
    last = bench.runtime._runner.agent.provider.requests[-1]
    assert last.must_answer
    assert isinstance(last.messages[-1], ToolMessage)
    assert last.messages[-1].text.endswith("what is in a.py?")


async def test_AGT_03_so_does_one_that_took_all_its_steps(make_bench: Any) -> None:
    steps = [{"calls": [intent("READ_FILE"), call("read_file", path="a.py", offset=n)]} for n in (1, 2, 3)]
    bench = await make_bench(*steps, {"text": "It defines f."}, max_steps=3)
    result = await bench.ask("what is in a.py?")
    assert (result.status, result.final_output) == ("completed", "It defines f.")
    assert len(bench.of("tool_result")) == 3
    assert "3 steps" in bench.of("warning")[-1].message


async def test_AGT_03_what_is_done_already_is_no_failure(make_bench: Any) -> None:
    write = {"calls": [intent("CODE"), call("write_file", path="n.txt", content="x\n")]}
    bench = await make_bench(write, write, {"text": "Done."})
    assert (await bench.ask("write x to n.txt")).status == "completed"
    first, second = bench.of("tool_result")
    assert (first.ok, second.ok, second.data) == (True, True, {"already": True})


async def test_declaring_intents_and_nothing_else_ends_the_turn(make_bench: Any) -> None:
    bench = await make_bench(*[{"calls": [intent("READ_FILE")]}] * 25)
    result = await bench.ask("go")
    assert result.error is not None
    assert result.error.code == "limit_reached"
    assert len(bench.of("intent_selected")) == 5


async def test_a_poll_is_answered_until_it_is_over(make_bench: Any) -> None:
    step = {"calls": [intent("READ_FILE"), call("read_file", path="log.txt")]}
    bench = await make_bench(*[step] * 8, {"text": "It is over."})
    log = bench.workspace / "log.txt"
    log.write_text("line\n")

    def more(event: Any) -> None:
        bench.events.append(event)
        if event.kind == "tool_result":
            log.write_text(log.read_text() + "line\n")

    request = RunRequest.model_validate({"session_id": "s", "turn_id": "1", "input": {"type": "text", "text": "wait"}})
    result = await bench.runtime.run(request, more, NobodyToAsk())
    assert (result.status, result.final_output) == ("completed", "It is over.")
