"""If the work is held, the message says what is missing and what to do, in several kinds of projects (FLW-02)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS
from runner_projects import PROJECTS, Project
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

from remit_governance.workflow.proof.runs import ONLY_ALL
from remit_governance.workflow.states import CHANGED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

PYTEST = PROJECTS["pytest"]
ALLOWED = "[fs.read, fs.list, fs.write, process.exec, workflow.plan, workflow.revise]"
POLICY = f"version: 1\ncapabilities: [{{ name: all, match: {{ syscall: {ALLOWED} }}, action: allow }}]\n"
REWRITES = (
    "from pathlib import Path\n\nFILE = Path(__file__).parent / 'data.txt'\n\n\n"
    "def test_writes():\n    FILE.write_text(FILE.read_text())\n"
)
WANTS_LINES = (
    "import sys\n\n\ndef pytest_sessionfinish(session):\n"
    "    print('FAIL Required test coverage of 100% not reached. Total coverage: 50.00%', file=sys.stderr)\n"
    "    session.exitstatus = session.exitstatus or 1\n"
)
ONE = {"calls": [intent("EXECUTE"), call("run_tests", path=PYTEST.test)]}
REVISE = {"calls": [intent("PLAN"), call("revise_tests", reason="it is wrong")]}
RED = [read(PYTEST.source, PYTEST.test), PLAN, write(PYTEST.test, PYTEST.new_test), RUN]
CODE = write(PYTEST.source, PYTEST.new_source)


def project(**there: str) -> Project:
    return replace(PYTEST, files={**PYTEST.files, **there})


def told(bench: Bench, tool: str) -> list[str]:
    return [event.output for event in bench.of("tool_result") if event.tool == tool]


@pytest.mark.parametrize("excepted", [False, True])
async def test_FLW_04_data_that_a_test_of_the_projects_rewrites_can_be_excepted_by_the_person_who_is_told_so(
    make_bench: Any, excepted: bool
) -> None:
    there = project(**{"tests/data.txt": "1\n", "tests/test_data.py": REWRITES})
    except_it = "tdd_tests: { except: [tests/data.txt] }\n"
    bench = await begin(make_bench, there, *RED, DONE, policy=POLICY + (except_it if excepted else ""))
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == ("code_writing" if excepted else "test_writing")
    (said,) = told(bench, "run_tests")
    assert ('tdd_tests: {except: ["tests/data.txt"]}' in said) != excepted


async def test_FLW_04_lines_that_the_project_wants_to_run_are_named_and_no_doubt_of_the_report(make_bench: Any) -> None:
    bench = await begin(make_bench, project(**{"conftest.py": WANTS_LINES}), *RED, CODE, ONE, RUN, DONE)
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == "code_writing"
    _, narrow, whole = told(bench, "run_tests")
    assert ONLY_ALL in narrow
    assert SAYS.wants_more_lines_to_run in whole
    assert SAYS.the_run_is_not_believed not in whole
    assert CHANGED.needs not in whole


async def test_FLW_13_a_refusal_says_that_the_tests_stay_locked(make_bench: Any) -> None:
    asker = Answering()

    def no_more() -> None:
        asker.decision = "deny" if asker.asked[-1].tool == "revise_tests" else "allow"

    asker.before = no_more
    bench = await begin(make_bench, PYTEST, *RED, CODE, REVISE, DONE)
    await bench.ask("Say what the total of nothing is", asker=asker)
    assert state(bench) == "code_writing"
    assert SAYS.until_then_the_tests_stay_locked in told(bench, "revise_tests")[0]


async def test_FLW_02_a_refusal_gives_the_reason_of_the_rule_that_it_names(make_bench: Any) -> None:
    edit = call("edit_file", path=PYTEST.source, old_text="a", new_text="b")
    policy = (
        "version: 1\ncapabilities: [{ name: none, match: { syscall: fs.read, path_glob: [no.py] }, action: allow }]\n"
    )
    bench = await begin(make_bench, PYTEST, {"calls": [intent("CODE"), edit]}, DONE, policy=policy)
    await bench.ask("Say what the total of nothing is")
    (said,) = (event.error for event in bench.of("tool_result"))
    assert "workflow.nothing-is-written: in this state" in said.message
    assert "plan_complete" in said.fix


@pytest.mark.skipif(bool(PROJECTS["jest"].missing()), reason="no jest")
async def test_FLW_04_a_file_of_node_test_in_a_project_of_jest_is_named_as_such(make_bench: Any) -> None:
    other = write("other.test.js", "const test = require('node:test');\n\ntest('it', () => {});\n")
    bench = await begin(make_bench, PROJECTS["jest"], PLAN, other, RUN, DONE)
    await bench.ask("Write a test")
    assert SAYS.finds_none_in_it in told(bench, "run_tests")[0]
