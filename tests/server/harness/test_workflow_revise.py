"""A wrong test can be changed only after the code is put back to what it was when the test failed (FLW-13)."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

from remit_governance.audit.record import AuditKind

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

PROJECT = PROJECTS["unittest"]
READ = read(PROJECT.source, PROJECT.test)
WRONG_TEST = PROJECT.new_test.replace("assertIsNone(total([]))", "assertEqual(total([]), 'nothing')")
WRONG = write(PROJECT.test, WRONG_TEST)
RIGHT = write(PROJECT.test, PROJECT.new_test)
CODE = write(PROJECT.source, PROJECT.new_source)
MORE = write("more.py", "x = 1\n")
REVISE = {"calls": [intent("PLAN"), call("revise_tests", reason="the total of nothing is None")]}


def failures(bench: Bench) -> list[str]:
    return [event.output for event in bench.of("tool_result") if not event.ok]


def source(bench: Bench) -> str:
    return (bench.workspace / PROJECT.source).read_text()


async def revised(make_bench: Any, *steps: Any, asker: Answering | None = None, **settings: Any) -> Bench:
    bench = await begin(make_bench, PROJECT, READ, PLAN, WRONG, RUN, *steps, DONE, DONE, **settings)
    await bench.ask("Say what the total of nothing is", asker=asker)
    return bench


async def test_FLW_13_a_wrong_test_is_mended_and_the_work_goes_on(make_bench: Any) -> None:
    asker = Answering()
    bench = await revised(make_bench, CODE, MORE, REVISE, RIGHT, RUN, READ, CODE, RUN, asker=asker)
    assert failures(bench) == []
    states = [event.state for event in bench.of("state_changed")]
    assert states[1:4] == ["test_writing", "code_writing", "test_writing"]
    assert states[4:] == ["code_writing", "validating", "reviewing"]
    assert not (bench.workspace / "more.py").exists()
    (question,) = [each for each in asker.asked if each.tool == "revise_tests"]
    assert {diff.path for diff in question.diffs} == {PROJECT.source, "more.py"}
    moves = [r.event for r in bench.audit() if r.event.metadata.get("trigger") == "tests_revised"]
    assert [(event.kind, event.state_machine_state) for event in moves] == [
        (AuditKind.STATE_TRANSITION, "test_writing")
    ]
    (asked,) = [r.event for r in bench.audit() if r.event.tool_name == "revise_tests" and r.event.kind == "tool_intent"]
    assert "the total of nothing is None" in asked.input_summary


async def test_FLW_13_the_code_is_as_it_was_while_tests_are_written_and_has_to_be_earned_again(
    make_bench: Any,
) -> None:
    bench = await revised(make_bench, CODE, REVISE, READ, CODE)
    assert state(bench) == "test_writing"
    assert source(bench) == PROJECT.old_source
    assert "workflow.tests-come-first" in failures(bench)[0]


async def test_FLW_13_nothing_is_asked_where_no_code_was_written(make_bench: Any) -> None:
    asker = Answering()
    bench = await revised(make_bench, REVISE, RIGHT, asker=asker)
    assert failures(bench) == []
    assert state(bench) == "test_writing"
    assert "revise_tests" not in {each.tool for each in asker.asked}


async def test_FLW_13_what_a_person_does_not_let_go_keeps_the_tests_locked(make_bench: Any) -> None:
    asker = Answering()

    def no_more() -> None:
        asker.decision = "deny" if asker.asked[-1].tool == "revise_tests" else "allow"

    asker.before = no_more
    bench = await revised(make_bench, CODE, REVISE, RIGHT, asker=asker)
    assert state(bench) == "code_writing"
    assert source(bench) == PROJECT.new_source
    assert "workflow.tests-are-locked" in failures(bench)[-1]


async def test_FLW_13_a_place_that_somebody_changed_since_is_named_and_can_be_put_back(make_bench: Any) -> None:
    bench = await revised(make_bench, CODE, DONE, REVISE, RIGHT, DONE, REVISE)
    (bench.workspace / PROJECT.source).write_text(PROJECT.new_source.replace("None", "0"))
    await bench.ask("the test is wrong")
    assert state(bench) == "code_writing"
    assert f"{PROJECT.source}: " in failures(bench)[0]
    assert "workflow.tests-are-locked" in failures(bench)[1]
    (bench.workspace / PROJECT.source).write_text(PROJECT.old_source)
    await bench.ask("it is as it was")
    assert state(bench) == "test_writing"


async def test_FLW_13_what_commands_wrote_is_taken_back_too(make_bench: Any) -> None:
    line = "mkdir -p lib && echo 'x = 1' > lib/a.py && sed -i 's/sum/len/' cart.py && chmod +x cart.py"
    made = {"calls": [intent("EXECUTE"), call("run_command", command=line)]}
    bench = await revised(make_bench, made, REVISE)
    assert failures(bench) == []
    assert state(bench) == "test_writing"
    assert source(bench) == PROJECT.old_source
    assert not (bench.workspace / "lib" / "a.py").exists()
    assert not (bench.workspace / PROJECT.source).stat().st_mode & 0o100


async def test_FLW_13_it_holds_after_a_restart(make_bench: Any) -> None:
    first = await revised(make_bench, CODE)
    await first.runtime.close()
    bench = await begin(make_bench, PROJECT, REVISE, RIGHT, RUN, DONE)
    (bench.workspace / PROJECT.source).write_text(PROJECT.new_source)
    (bench.workspace / PROJECT.test).write_text(WRONG_TEST)
    await bench.ask("the test is wrong")
    assert failures(bench) == []
    assert source(bench) == PROJECT.old_source
    assert state(bench) == "code_writing"


async def test_FLW_13_edits_that_were_collected_are_reviewed_and_taken_back(make_bench: Any) -> None:
    bench = await revised(make_bench, CODE, REVISE, when="turn")
    assert failures(bench) == []
    assert state(bench) == "test_writing"
    assert source(bench) == PROJECT.old_source


@pytest.mark.parametrize("steps", [(REVISE, REVISE), (CODE, RUN, REVISE)], ids=["twice", "after the code"])
async def test_THR_workflow_a_way_back_to_the_tests_is_no_short_cut(make_bench: Any, steps: tuple[Any, ...]) -> None:
    """When a test may be written again, the code is what it was when the test failed."""
    bench = await revised(make_bench, *steps)
    assert source(bench) == PROJECT.old_source
    assert state(bench) == "test_writing"


async def test_THR_workflow_what_was_never_kept_cannot_be_passed_over(make_bench: Any) -> None:
    """If the session is not saved, the code cannot be put back, so no way leads back to the tests."""
    bench = await revised(make_bench, CODE, REVISE, RIGHT, save=False)
    assert state(bench) == "code_writing"
    assert SAYS.is_not_kept in failures(bench)[0]
    assert source(bench) == PROJECT.new_source
