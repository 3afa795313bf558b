"""A plan that adds only tests of existing code: strict mode commits them, and nothing else with them (FLW-16)."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

from remit_governance.audit.record import AuditKind
from remit_governance.workflow.debt import Account
from remit_server.harness.workflow.budget import read_account, update_account

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git"),
]

PROJECT = PROJECTS["unittest"]
ALONE = "import unittest\nfrom cart import total\n\n\nclass More(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(total([1]), 1)\n"
FAILING = ALONE.replace("total([1]), 1", "total([]), None")
NEW = "test_more.py"
EXPLORE, STRICT = (
    {"type": "call", "tool": "set_mode", "arguments": {"mode": mode}, "intent": "PLAN"}
    for mode in ("explore", "strict")
)
AUTOMATIC = {"auto_commit": True}


def commit(**arguments: Any) -> dict[str, Any]:
    return {"calls": [intent("EXECUTE"), call("git_commit", message="Hold what total says of one", **arguments)]}


def code(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [intent("CODE"), call(tool, **arguments)]}


def git(bench: Bench, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=bench.workspace, capture_output=True, text=True, check=True).stdout


async def in_repository(make_bench: Any, *steps: Any, **settings: Any) -> Bench:
    """Opens a session of strict mode in a repository with a module and its test."""
    bench = await begin(make_bench, PROJECT, *steps, DONE, **settings)
    (bench.workspace / ".gitignore").write_text("__pycache__/\n")
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        git(bench, *words)
    git(bench, "commit", "-q", "-m", "before")
    return bench


def states(bench: Bench) -> list[str]:
    return [event.state for event in bench.of("state_changed")]


def committed(bench: Bench) -> list[str]:
    return git(bench, "log", "--name-only", "--format=").split()


@pytest.mark.parametrize("options", [{}, AUTOMATIC], ids=["asked", "automatic"])
async def test_FLW_16_tests_of_code_that_is_there_go_to_their_review_and_commit(
    make_bench: Any, options: dict[str, Any]
) -> None:
    steps = [read(PROJECT.source), PLAN, write(NEW, ALONE), RUN, commit()]
    bench, asker = await in_repository(make_bench, *steps, **options), Answering()
    await bench.ask("Write a test of total", asker=asker)
    assert states(bench) == ["planning", "test_writing", "reviewing", "committing", "idle"]
    assert git(bench, "show", "--format=", "--name-only").split() == [NEW]
    assert git(bench, "status", "--porcelain") == ""
    asked = [question for question in asker.asked if question.tool == "git_commit"]
    assert len(asked) == (0 if options else 1)
    moves = [r.event.metadata["trigger"] for r in bench.audit() if r.event.kind is AuditKind.STATE_TRANSITION]
    assert moves[2] == "tests_ended"


@pytest.mark.parametrize("options", [{}, AUTOMATIC], ids=["asked", "automatic"])
async def test_FLW_16_what_fails_as_it_was_committed_keeps_no_tests_from_their_review_and_is_named_there(
    make_bench: Any, options: dict[str, Any]
) -> None:
    bench = await in_repository(make_bench, PLAN, write(NEW, ALONE), RUN, commit(), **options)
    (bench.workspace / "test_old.py").write_text(FAILING.replace("More", "Old"))
    git(bench, "add", "-A")
    git(bench, "commit", "-q", "-m", "a test that fails")
    asker = Answering()
    await bench.ask("Write a test of total", asker=asker)
    assert states(bench) == ["planning", "test_writing", "reviewing", "committing", "idle"]
    assert git(bench, "show", "--format=", "--name-only").split() == [NEW]
    (question,) = (question for question in asker.asked if question.tool == "git_commit")
    assert "test_old.Old.test_one" in question.reasons[0].reason


async def test_FLW_16_data_that_a_test_names_without_its_suffix_goes_with_it(make_bench: Any) -> None:
    reads = ALONE.replace("total([1]), 1", "total([1]), int(open(f\"data/tests/{'one'}.txt\").read())")
    data = "data/tests/one.txt"
    bench = await in_repository(make_bench, PLAN, write(NEW, reads), write(data, "1\n"), RUN, commit())
    await bench.ask("Write a test of total")
    assert git(bench, "show", "--format=", "--name-only").split() == [data, NEW]


@pytest.mark.parametrize("fails", [False, True], ids=["all pass", "one fails as it is committed"])
async def test_FLW_16_the_refusal_of_a_run_without_a_failing_test_says_the_way(make_bench: Any, fails: bool) -> None:
    changed = PROJECT.old_test + "\n    def test_one(self):\n        self.assertEqual(total([1]), 1)\n"
    steps = [read(PROJECT.test), PLAN, write(PROJECT.test, changed), RUN]
    put_back = [write(PROJECT.test, PROJECT.old_test), write(NEW, ALONE), RUN, commit()]
    bench = await in_repository(make_bench, *steps, *put_back)
    if fails:
        (bench.workspace / "test_old.py").write_text(FAILING.replace("More", "Old"))
        git(bench, "add", "-A")
        git(bench, "commit", "-q", "-m", "a test that fails")
    await bench.ask("Write a test of total")
    (held, *_) = (event.output for event in bench.of("tool_result") if event.tool == "run_tests")
    assert SAYS.write_them_into_new_files in held
    assert f"{PROJECT.test} is not as it was" in held.partition(SAYS.for_a_review_of_tests)[2]
    assert git(bench, "show", "--format=", "--name-only").split() == [NEW]


async def test_FLW_16_a_test_that_happens_to_pass_keeps_nobody_from_writing_one_that_fails(make_bench: Any) -> None:
    steps = [read(PROJECT.source), PLAN, write(NEW, ALONE), RUN, read(NEW), write(NEW, FAILING), RUN]
    bench = await in_repository(make_bench, *steps, write(PROJECT.source, PROJECT.new_source), RUN)
    await bench.ask("Say what the total of nothing is")
    assert states(bench)[2:] == ["reviewing", "test_writing", "code_writing", "validating", "reviewing"]


async def test_FLW_16_what_the_person_sends_back_goes_on_with_tests_and_never_with_code(make_bench: Any) -> None:
    steps = [read(PROJECT.source), PLAN, write(NEW, ALONE), RUN, DONE, write(PROJECT.source, PROJECT.new_source), DONE]
    bench = await in_repository(make_bench, *steps, read(NEW), write(NEW, ALONE + "\n"), RUN, commit())
    await bench.ask("Write a test of total")
    await bench.ask("Now change the code")
    assert state(bench) == "reviewing"
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source
    reject = {"type": "call", "tool": "review_work", "arguments": {"answer": "reject"}, "intent": "PLAN"}
    await bench.ask(reject, "with a line more")
    assert states(bench)[3:] == ["test_writing", "reviewing", "committing", "idle"]


async def test_FLW_16_a_measured_commit_of_tests_alone_counts_for_the_coverage(make_bench: Any) -> None:
    node = PROJECTS["node"]
    measure = {"calls": [intent("EXECUTE"), call("run_tests", coverage=True)]}
    bench = await begin(
        make_bench, node, read(node.source), PLAN, write("more.test.js", node.old_test), measure, commit(), DONE
    )
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        git(bench, *words)
    git(bench, "commit", "-q", "-m", "before")
    update_account(bench.settings.coverage_file, lambda _: Account("node", 100, 60))
    await bench.ask("Win the coverage back")
    assert state(bench) == "idle"
    account = read_account(bench.settings.coverage_file)
    assert account is not None
    assert account.debt == 0


HELPER = "def price(n):\n    return n\n"
FORGERIES: dict[str, tuple[Any, ...]] = {
    "an old test is weakened": (
        read(PROJECT.test),
        PLAN,
        write(PROJECT.test, PROJECT.old_test.replace("assertEqual", "assertTrue")),
        write(NEW, ALONE),
        RUN,
    ),
    "an old test is removed": (
        read(PROJECT.test),
        PLAN,
        write(NEW, ALONE),
        code("delete_file", path=PROJECT.test),
        RUN,
    ),
    "source that is called a test": (PLAN, write(NEW, ALONE), write("tests/price.py", HELPER), RUN),
    "fixtures for all tests": (PLAN, write(NEW, ALONE), write("tests/conftest.py", "import pytest\n"), RUN),
    "source alone": (PLAN, write("tests/price.py", HELPER), RUN),
    "a run of some tests": (PLAN, write(NEW, ALONE), {"calls": [intent("EXECUTE"), call("run_tests", filter="More")]}),
    "nothing at all": (PLAN, RUN),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_THR_workflow_tests_alone_take_nothing_else_along(make_bench: Any, forgery: str) -> None:
    bench = await in_repository(make_bench, *FORGERIES[forgery], commit(all=True), **AUTOMATIC)
    await bench.ask("Write a test of total")
    assert state(bench) == "test_writing"
    assert git(bench, "log", "--format=%s") == "before\n"


@pytest.mark.parametrize("earlier", ["source", "a removed test"])
async def test_THR_workflow_what_was_changed_before_is_not_committed_with_tests_alone(
    make_bench: Any, earlier: str
) -> None:
    """The change was made in explore mode, before the plan: the tests pass with it, but no test has failed for it."""
    change = write(PROJECT.source, PROJECT.new_source)
    change = change if earlier == "source" else code("delete_file", path=PROJECT.test)
    steps = [read(PROJECT.source, PROJECT.test), change, DONE, PLAN, write(NEW, ALONE), RUN, commit(all=True)]
    bench = await in_repository(make_bench, *steps, commit(), commit(paths=[NEW]), **AUTOMATIC)
    await bench.ask(EXPLORE, "Change it")
    asker = Answering()
    await bench.ask(STRICT, "Now a test", asker=asker)
    held = [event.output for event in bench.of("tool_result") if event.tool == "git_commit" and not event.ok]
    assert [SAYS.new_files_of_tests_alone in each for each in held] == [True, True]
    assert git(bench, "show", "--format=", "--name-only").split() == [NEW]
    (question,) = [each for each in asker.asked if each.tool == "git_commit"]
    assert "leaves them out" in question.reasons[0].reason
