"""Each real runner proves a failing test and a passing one: with the sandbox, the runner and its report (FLW-04)."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from bench_runtime import call, intent
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]


@pytest.mark.parametrize("runner", PROJECTS)
async def test_FLW_04_each_runner_proves_a_failing_test_and_then_a_passing_one(make_bench: Any, runner: str) -> None:
    project = PROJECTS[runner]
    code, test = write(project.source, project.new_source), write(project.test, project.new_test)
    bench = await begin(
        make_bench,
        project,
        *[read(project.source, project.test), PLAN, RUN, code, DONE],
        *[test, RUN, DONE],
        *[write(project.test, project.old_test), code, RUN, DONE],
        *[RUN, DONE],
    )
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == "test_writing", "a run without a change proves nothing"
    assert (bench.workspace / project.source).read_text() == project.old_source
    await bench.ask("go on")
    assert state(bench) == "code_writing", bench.of("tool_result")[-1].output
    locked = bench.workspace / project.test
    locked.write_text(project.old_test)
    await bench.ask("go on")
    assert state(bench) == "code_writing"
    assert f"not as they were when they failed: {project.test}" in bench.of("tool_result")[-1].output
    locked.write_text(project.new_test)
    await bench.ask("go on")
    assert (bench.workspace / project.source).read_text() == project.new_source
    assert state(bench) == "reviewing", bench.of("tool_result")[-1].output


@pytest.mark.parametrize("runner", PROJECTS)
async def test_FLW_04_no_runner_takes_a_broken_test_for_a_failing_one(make_bench: Any, runner: str) -> None:
    project = PROJECTS[runner]
    code = write(project.source, project.new_source)
    tries = [step for fake in project.fakes.values() for step in (write(project.test, fake), RUN, code, DONE)]
    bench = await begin(make_bench, project, read(project.source, project.test), PLAN, DONE, *tries)
    await bench.ask("Say what the total of nothing is")
    for name in project.fakes:
        await bench.ask("go on")
        run = bench.of("tool_result")[-2]
        assert SAYS.this_proves_nothing_yet in run.output, name
        assert state(bench) == "test_writing", name
        assert (bench.workspace / project.source).read_text() == project.old_source, name


async def test_FLW_04_a_run_by_a_runner_that_the_project_has_not_is_no_run_of_all_tests(make_bench: Any) -> None:
    """THR-workflow-runner-of-choice."""
    project = PROJECTS["pytest"]
    code, test = write(project.source, project.new_source), write(project.test, project.new_test)
    other = {"calls": [intent("EXECUTE"), call("run_tests", runner="unittest")]}
    bench = await begin(make_bench, project, read(project.source, project.test), PLAN, test, RUN, code, other, DONE)
    await bench.ask("Say what the total of nothing is")
    assert (bench.workspace / project.source).read_text() == project.new_source
    assert state(bench) == "code_writing"
