"""A turn's outcome follows from its calls: done, refused by the person or policy, or declined by the model (AGT-01)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent
from messages import SAYS

from remit_server.contract import ApprovalAnswer, ApprovalRequired
from remit_server.harness.ports import AskingStyle

SAID_NO = "you said no"
WRITE = call("write_file", path="new.txt", content="x")
READ = {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}
NOBODY_WRITES = """\
version: 1
capabilities:
  - {name: hands-off, match: {syscall: fs.write, path_glob: ["**"]}, action: deny, reason: nobody writes here}
"""


class Silent:
    """An asker that never answers."""

    style: AskingStyle = "stream"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        raise AssertionError("a stream is not asked")


class OnlyFirst(Answering):
    """An asker that allows the first question and denies the others."""

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.decision = "deny" if self.asked else "allow"
        return await super().ask(question)


async def test_B6_a_no_to_the_only_write_ends_the_turn_denied(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": [intent("CODE"), WRITE]}, {"text": "Done, all of it."})
    result = await bench.ask("go", asker=Answering("deny"))
    assert (result.status, result.reason, result.error) == ("denied", SAID_NO, None)
    assert result.final_output == "Done, all of it."
    assert bench.of("run_completed")[0].result == result


async def test_B6_reading_after_the_no_does_not_make_it_done(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": [intent("CODE"), WRITE]}, READ, {"text": "Done."})
    assert (await bench.ask("go", asker=Answering("deny"))).status == "denied"


async def test_B6_an_expired_question_ends_the_turn_denied(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": [intent("CODE"), WRITE]}, {"text": "Done."}, approval_timeout_s=0.05)
    result = await bench.ask("go", asker=Silent())
    assert (result.status, result.reason) == ("denied", "nobody answered within 0.05 seconds")


async def test_B6_a_no_to_one_of_several_writes_is_told_of_a_completed_turn(make_bench: Any) -> None:
    other = call("write_file", path="other.txt", content="y")
    bench: Bench = await make_bench({"calls": [intent("CODE"), WRITE, other]}, {"text": "Done."})
    result = await bench.ask("go", asker=OnlyFirst())
    assert (result.status, result.reason) == ("completed", SAID_NO)
    assert len([each for each in ("new.txt", "other.txt") if (bench.workspace / each).exists()]) == 1


async def test_B6_a_write_that_policy_denies_ends_the_turn_denied(make_bench: Any) -> None:
    steps = ({"calls": [intent("CODE"), WRITE]}, {"text": "Done."})
    bench: Bench = await make_bench(*steps, policy=NOBODY_WRITES)
    result = await bench.ask("go")
    assert result.status == "denied"
    assert result.reason is not None
    assert "nobody writes here" in result.reason


async def test_B6_a_model_that_found_another_way_round_a_policy_has_answered(make_bench: Any) -> None:
    steps = ({"calls": [intent("CODE"), WRITE]}, READ, {"text": "It adds."})
    bench: Bench = await make_bench(*steps, policy=NOBODY_WRITES + READING)
    assert (await bench.ask("what does a.py do?")).status == "completed"


READING = '  - {name: reading, match: {syscall: fs.read, path_glob: ["**"]}, action: allow, reason: reading is fine}\n'


@pytest.mark.parametrize("steps", [(), (READ,)], ids=["at once", "after a look"])
async def test_B6_a_model_that_declines_ends_the_turn_declined(make_bench: Any, steps: tuple[Any, ...]) -> None:
    bench: Bench = await make_bench(*steps, {"text": "I do not do this.", "declined": True})
    result = await bench.ask("go")
    assert (result.status, result.final_output, result.error) == ("declined", "I do not do this.", None)
    assert result.reason == SAYS.the_model_said_that_it
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_B6_a_model_that_declines_after_a_failure_says_which(make_bench: Any) -> None:
    gone = {"calls": [intent("READ_FILE"), call("read_file", path="gone.py")]}
    bench: Bench = await make_bench(gone, {"text": "I stopped.", "declined": True})
    result = await bench.ask("go")
    assert (result.status, result.reason) == ("declined", "cannot open `gone.py`: there is no such file")


def edit(old: str, new: str) -> dict[str, Any]:
    return {"calls": [intent("CODE"), call("edit_file", path="a.py", old_text=old, new_text=new)]}


MISSED, HIT = edit("nowhere", "x"), edit("total = 0", "total = 1")


@pytest.mark.parametrize("steps", [(MISSED,), (READ, MISSED), (MISSED, READ)], ids=["alone", "read", "then read"])
async def test_AGT_15_a_change_that_came_to_nothing_is_said_whatever_the_model_says(
    make_bench: Any, steps: tuple[Any, ...]
) -> None:
    bench: Bench = await make_bench(*steps, {"text": "a.py has it now."})
    result = await bench.ask("go")
    (missed,) = [each.error for each in bench.of("tool_result") if not each.ok]
    assert result.status == "completed"
    assert result.reason == f"{missed.what}: {missed.why}"
    assert result.changes == ()


@pytest.mark.parametrize("steps", [(MISSED, HIT), (HIT, MISSED)], ids=["mended", "made before"])
async def test_AGT_15_a_change_that_was_made_in_the_end_needs_no_such_word(
    make_bench: Any, steps: tuple[Any, ...]
) -> None:
    bench: Bench = await make_bench(*steps, {"text": "a.py has it now."})
    result = await bench.ask("go")
    assert (result.status, result.reason) == ("completed", None)
    assert len(result.changes) == 1


MOVES = {"type": "call", "tool": "set_mode", "arguments": {"mode": "strict"}, "intent": "PLAN"}


@pytest.mark.parametrize(
    "first", [[], [{"calls": [intent("PLAN"), call("plan_complete", plan="a test first")]}]], ids=["set", "planned"]
)
async def test_AGT_01_a_step_of_the_workflow_is_not_what_was_asked_for(make_bench: Any, first: list[Any]) -> None:
    bench: Bench = await make_bench(*first, {"calls": [intent("CODE"), WRITE]}, {"text": "Done."})
    result = await bench.ask(MOVES, "write it")
    assert not (bench.workspace / "new.txt").exists()
    assert [each.ok for each in bench.of("tool_result")] == [True, *(True for _ in first), False]
    assert result.status == "denied"
    assert (await bench.ask(MOVES)).status == "completed", "alone, it is what was asked for"


@pytest.mark.parametrize("text", ["", " \n"])
async def test_AGT_01_no_answer_is_no_completed_turn(make_bench: Any, text: str) -> None:
    bench: Bench = await make_bench(READ, {"text": text}, {"calls": [intent("CODE"), WRITE]}, {"text": text})
    result = await bench.ask("what does a.py do?")
    assert (result.status, result.reason) == ("failed", "the model gave no answer")
    assert (await bench.ask("write it")).status == "completed"


async def test_B6_a_question_answered_in_words_is_completed(make_bench: Any) -> None:
    bench: Bench = await make_bench(READ, {"text": "It adds."})
    result = await bench.ask("what does a.py do?")
    assert (result.status, result.reason) == ("completed", None)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"tool": "write_file", "arguments": {"path": "x", "content": "x"}, "intent": "CODE"}, "denied"),
        ({"tool": "write_file", "arguments": {"path": "x", "content": "x"}, "intent": "READ_FILE"}, "denied"),
        ({"tool": "read_file", "arguments": {"path": "../x"}, "intent": "READ_FILE"}, "denied"),
        ({"tool": "read_file", "arguments": {"path": "gone.py"}, "intent": "READ_FILE"}, "failed"),
        ({"tool": "read_file", "arguments": {"path": "a.py"}, "intent": "READ_FILE"}, "completed"),
    ],
)
async def test_B6_a_call_of_the_persons_own_ends_as_it_went(
    make_bench: Any, arguments: dict[str, Any], status: str
) -> None:
    bench: Bench = await make_bench()
    result = await bench.ask({"type": "call", **arguments}, asker=Answering("deny"))
    assert result.status == status
    assert bool(result.reason) == (status != "completed")


async def test_the_tools_that_an_intent_opens_are_told_within_what_the_run_allows(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": [intent("ANALYZE")]}, {"text": "x"})
    await bench.ask("go", policy={"allow_tools": ["read_file"]})
    assert bench.of("intent_selected")[0].allowed_tools == ("read_file",)


async def test_TOOL_02_a_person_is_told_a_refused_edit_in_the_words_of_its_call(make_bench: Any) -> None:
    """Names of arguments are the model's; the call, and the reason of the turn, say the same."""
    edit = call("edit_file", path="a.py", old_text="nosuch", new_text="other")
    bench = await make_bench({"calls": [intent("CODE"), edit]}, {"text": "No."})
    ended = await bench.ask("go")
    (result,) = bench.of("tool_result")
    assert ("old_text" in result.output, "`nosuch`" in result.summary) == (True, True)
    assert f"{result.error.what}: {result.error.why}" == result.summary == ended.reason
