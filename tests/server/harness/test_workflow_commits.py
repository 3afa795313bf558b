"""A commit of strict mode is exactly what the tests passed with, or the question says how it differs (FLW-10)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS

from remit_governance.workflow.review import OTHER_TREE
from remit_governance.workflow.states import Mode

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git"),
    pytest.mark.skipif(shutil.which("python3", path="/usr/bin:/bin") is None, reason="there is no system Python"),
]

HEAD = "import unittest\nimport calc\n\n\nclass Two(unittest.TestCase):\n"
OLD_TEST = HEAD.replace("Two", "One") + "    def test_one(self):\n        self.assertEqual(calc.one(), 1)\n"
NEW_TEST = HEAD + "    def test_two(self):\n        self.assertTrue(hasattr(calc, 'two'))\n"
SOURCE = "def one():\n    return 1\n"
BETTER = SOURCE + "\n\ndef two():\n    return 2\n"
OTHER_TESTS = "the tests passed with these files, but the commit leaves them out"

PLAN = {"calls": [intent("PLAN"), call("plan_complete", plan="a failing test, then the code")]}
READ = {"calls": [intent("ANALYZE"), call("read_file", path="calc.py")]}
RUN = {"calls": [intent("EXECUTE"), call("run_tests")]}
DONE = {"text": "done"}


def write(path: str, content: str) -> dict[str, Any]:
    return {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content=content)]}


def commit(**arguments: Any) -> dict[str, Any]:
    return {"calls": [intent("EXECUTE"), call("git_commit", message="Add two", **arguments)]}


WORK = [READ, PLAN, write("test_two.py", NEW_TEST), RUN, write("calc.py", BETTER), RUN]
AUTOMATIC = {"auto_commit": True}


async def begin(make_bench: Any, *steps: Any, mode: Mode = Mode.STRICT, **settings: Any) -> Bench:
    """Opens a session in a repository with a module and its test."""
    bench: Bench = await make_bench(*steps, DONE, DONE, mode=mode, **settings)
    (bench.workspace / "a.py").unlink()
    (bench.workspace / "calc.py").write_text(SOURCE)
    (bench.workspace / "test_one.py").write_text(OLD_TEST)
    (bench.workspace / ".gitignore").write_text("__pycache__/\n*.local.py\n")
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        git(bench, *words)
    git(bench, "commit", "-q", "-m", "before")
    return bench


def git(bench: Bench, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=bench.workspace, capture_output=True, text=True, check=True).stdout


def failures(bench: Bench) -> list[str]:
    return [event.output for event in bench.of("tool_result") if not event.ok]


def states(bench: Bench) -> list[str]:
    return [event.state for event in bench.of("state_changed")]


def why(asker: Answering) -> list[str]:
    (question,) = [question for question in asker.asked if question.tool == "git_commit"]
    return [reason.reason for reason in question.reasons]


def own(tool: str, intent_name: str = "PLAN", **arguments: Any) -> dict[str, Any]:
    return {"type": "call", "tool": tool, "arguments": arguments, "intent": intent_name}


def _elsewhere(shop: Path) -> None:
    """Moves the repository's folder out of the workspace; its settings name the workspace."""
    words = (["init", "-q", "--separate-git-dir", "../shop.git"], ["config", "core.worktree", str(shop)])
    for each in words:
        subprocess.run(["git", *each], cwd=shop, check=True)


def _above(shop: Path) -> None:
    """Makes the repository that of the folder above, which contains more than the workspace."""
    shutil.rmtree(shop / ".git")
    words = (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "shop"])
    for each in (*words, ["commit", "-q", "-m", "before"]):
        subprocess.run(["git", *each], cwd=shop.parent, check=True)


@pytest.mark.parametrize("layout", [_elsewhere, _above])
async def test_GIT_07_strict_mode_comes_to_its_commit_wherever_the_repository_lies(
    make_bench: Any, layout: Callable[[Path], None]
) -> None:
    bench, asker = await begin(make_bench, *WORK, commit()), Answering()
    layout(bench.workspace)
    await bench.ask("Add two", asker=asker)
    assert failures(bench) == []
    assert git(bench, "show", "--format=", "--name-only", "--relative").split() == ["calc.py", "test_two.py"]
    assert git(bench, "status", "--porcelain", ".") == ""


@pytest.mark.parametrize("options", [{}, AUTOMATIC], ids=["asked", "automatic"])
async def test_FLW_10_a_commit_holds_the_new_test_that_proved_the_work(
    make_bench: Any, options: dict[str, Any]
) -> None:
    bench, asker = await begin(make_bench, *WORK, commit(), **options), Answering()
    await bench.ask("Add two", asker=asker)
    assert failures(bench) == []
    assert git(bench, "show", "--format=", "--name-only").split() == ["calc.py", "test_two.py"]
    assert git(bench, "status", "--porcelain") == ""
    assert len([each for each in asker.asked if each.tool == "git_commit"]) == (0 if options else 1)


@pytest.mark.parametrize("options", [{}, AUTOMATIC], ids=["asked", "automatic"])
async def test_FLW_10_what_the_tests_passed_with_and_a_commit_leaves_out_is_asked_about(
    make_bench: Any, options: dict[str, Any]
) -> None:
    bench, asker = await begin(make_bench, *WORK, commit(paths=["calc.py"]), **options), Answering()
    await bench.ask("Add two", asker=asker)
    assert why(asker)[0] == f"{OTHER_TESTS}: test_two.py"
    assert git(bench, "status", "--porcelain") == "?? test_two.py\n", "the person chose to leave it out"


async def test_FLW_10_after_a_no_the_model_takes_along_what_was_left_out(make_bench: Any) -> None:
    """The tests could see the person's own file, but it is not the session's work, so the person is asked about it."""
    steps = [*WORK, commit(), commit(all=True)]
    bench = await begin(make_bench, *steps)
    (bench.workspace / "data.txt").write_text("2\n")
    asker = Answering(decision="deny")
    asker.before = lambda: setattr(asker, "decision", "deny" if why_last(asker) else "allow")
    await bench.ask("Add two", asker=asker)
    assert git(bench, "show", "--format=", "--name-only").split() == ["calc.py", "data.txt", "test_two.py"]
    assert next(each.reasons[0].reason for each in asker.asked if each.tool == "git_commit").endswith(": data.txt")


def why_last(asker: Answering) -> bool:
    """Returns whether the last question is about a commit that leaves something out."""
    return any(OTHER_TESTS in reason.reason for reason in asker.asked[-1].reasons)


async def test_FLW_10_what_git_ignores_and_the_work_made_is_named(make_bench: Any) -> None:
    steps = [READ, PLAN, write("test_two.local.py", NEW_TEST), write("test_two.py", NEW_TEST), RUN]
    bench = await begin(make_bench, *steps, write("calc.py", BETTER), RUN, commit(all=True), **AUTOMATIC)
    asker = Answering()
    await bench.ask("Add two", asker=asker)
    assert why(asker)[0] == f"{OTHER_TESTS}: test_two.local.py"


async def test_FLW_10_an_approval_is_of_everything_that_was_tested(make_bench: Any) -> None:
    bench = await begin(make_bench, *WORK, DONE, commit(paths=["calc.py"]), commit())
    await bench.ask("Add two")
    asker = Answering(decision="deny")
    await bench.ask(own("review_work", answer="approve"), "commit it", asker=asker)
    assert why(asker)[0] == SAYS.it_is_not_exactly_what
    assert why(asker)[1] == f"{OTHER_TESTS}: test_two.py"
    assert git(bench, "show", "--format=", "--name-only").split() == ["calc.py", "test_two.py"]


async def test_FLW_10_an_approval_of_what_changed_after_the_tests_does_not_commit_it_unasked(make_bench: Any) -> None:
    bench = await begin(make_bench, *WORK, DONE, commit(all=True))
    await bench.ask("Add two")
    (bench.workspace / "calc.py").write_text(BETTER + "\n\nfail = 1 / 0\n")
    asker = Answering(decision="deny")
    await bench.ask(own("review_work", answer="approve"), "commit it", asker=asker)
    assert "have changed since: calc.py" in why(asker)[1]
    assert git(bench, "log", "--format=%s") == "before\n"


async def test_FLW_10_a_branch_that_moved_since_the_tests_is_not_committed_to_unasked(make_bench: Any) -> None:
    bench = await begin(make_bench, *WORK, DONE, commit())
    await bench.ask("Add two")
    (bench.workspace / "other.py").write_text("raise SystemExit\n")
    git(bench, "add", "other.py")
    git(bench, "commit", "-q", "-m", "theirs", "other.py")
    asker = Answering(decision="deny")
    await bench.ask(own("review_work", answer="approve"), "commit it", asker=asker)
    assert why(asker)[:2] == [SAYS.it_is_not_exactly_what, OTHER_TREE]
    assert git(bench, "log", "--format=%s").split() == ["theirs", "before"]


async def test_FLW_10_looks_good_commit_it_is_no_reason_to_run_the_tests_again(make_bench: Any) -> None:
    bench = await begin(make_bench, *WORK, DONE, RUN, commit())
    await bench.ask("Add two")
    asker = Answering()
    await bench.ask("Looks good, run the tests once more and commit it", asker=asker)
    assert failures(bench) == []
    assert why(asker)[0] == "the tests pass, and the work waits for your review"
    assert states(bench)[4:] == ["reviewing", "committing", "idle"]


async def test_FLW_10_the_first_change_after_a_message_goes_on_with_the_work(make_bench: Any) -> None:
    """The tests stay locked, and the changed code must pass again before the commit."""
    again = BETTER.replace("return 2", "return 1 + 1")
    steps = [write("test_two.py", OLD_TEST), write("calc.py", again), commit(), RUN, commit()]
    bench = await begin(make_bench, *WORK, DONE, *steps)
    await bench.ask("Add two")
    await bench.ask("Write it as a sum, then commit it")
    test, early = failures(bench)
    assert "workflow.tests-are-locked" in test
    assert "workflow.commit-after-review" in early
    assert states(bench)[4:] == ["reviewing", "code_writing", "validating", "reviewing", "committing", "idle"]
    assert git(bench, "show", "HEAD:calc.py") == again


async def test_FLW_10_what_the_person_changed_under_review_is_tested_by_the_next_run(make_bench: Any) -> None:
    bench = await begin(make_bench, *WORK, DONE, commit(), RUN, commit(), **AUTOMATIC)
    await bench.ask("Add two")
    (bench.workspace / "calc.py").write_text(BETTER + "\n")
    asker = Answering()
    commits: list[tuple[str, ...]] = []

    def note() -> None:
        if asker.asked[-1].tool == "git_commit":
            commits.append(tuple(each.reason for each in asker.asked[-1].reasons))
        asker.decision = "deny" if len(commits) == 1 and asker.asked[-1].tool == "git_commit" else "allow"

    asker.before = note
    await bench.ask("I changed a line; commit it", asker=asker)
    assert commits[0][0].endswith("have changed since: calc.py"), "the one that came before the run"
    assert commits[1][0].endswith("that this session did not make: calc.py"), "the person's line is their own"
    assert git(bench, "show", "HEAD:calc.py") == BETTER + "\n"


@pytest.mark.parametrize("mixed", [False, True], ids=["a file of its own", "within a file of the session's"])
async def test_FLW_10_what_the_session_did_not_change_is_committed_by_nobody_unasked(
    make_bench: Any, *, mixed: bool
) -> None:
    """The tests passed with the change and all criteria hold, but nobody has said that it belongs to this commit."""
    bench, asker = await begin(make_bench, *WORK, commit(), **AUTOMATIC), Answering()
    theirs = "calc.py" if mixed else ".gitignore"
    path = bench.workspace / theirs
    path.write_text(path.read_text() + "# mine\n")
    await bench.ask("Add two", asker=asker)
    assert why(asker)[0].endswith(f"that this session did not make: {theirs}")


@pytest.mark.parametrize("exempt", [False, True], ids=["before its test failed", "beside an exemption"])
async def test_FLW_10_what_explore_mode_wrote_is_committed_from_strict_mode_by_nobody_unasked(
    make_bench: Any, *, exempt: bool
) -> None:
    asked = call("workflow_request_exemption", category="documentation", paths=["README.md"], reason="words only")
    words = [{"calls": [intent("PLAN"), asked]}, write("README.md", "hello\n"), RUN]
    early = SOURCE.replace("return 1", "return 1  # no test came before this")
    test_first = [
        PLAN,
        write("test_two.py", NEW_TEST),
        RUN,
        write("calc.py", early + "\n\ndef two():\n    return 2\n"),
        RUN,
    ]
    work = words if exempt else test_first
    steps = [READ, write("calc.py", early), DONE, READ, *work, commit(all=True)]
    bench, asker = await begin(make_bench, *steps, mode=Mode.EXPLORE, **AUTOMATIC), Answering()
    await bench.ask("try something")
    await bench.ask(own("set_mode", mode="strict"), "now the proper way", asker=asker)
    assert why(asker)[0].endswith("or outside its exemption: calc.py")


async def test_FLW_10_what_decides_which_tests_run_is_committed_by_nobody_unasked(make_bench: Any) -> None:
    asked = call("workflow_request_exemption", category="config_change", paths=["tox.ini"], reason="fewer tests")
    steps = [READ, {"calls": [intent("PLAN"), asked]}, write("tox.ini", "[tox]\n"), RUN, commit(all=True)]
    bench, asker = await begin(make_bench, *steps, **AUTOMATIC), Answering()
    await bench.ask("configure", asker=asker)
    assert why(asker)[0].endswith("it changes sensitive files: tox.ini")


async def test_FLW_10_a_test_that_passed_by_chance_leads_back_and_is_committed_by_nobody_unasked(
    make_bench: Any,
) -> None:
    """The test depends on a file that git ignores, which is not among the compared files."""
    by_chance = NEW_TEST + "        import os\n        self.assertFalse(os.path.exists('broken.local.py'))\n"
    steps = [READ, PLAN, write("test_two.py", by_chance), RUN, write("calc.py", BETTER), RUN, DONE, RUN, commit()]
    bench = await begin(make_bench, *steps, **AUTOMATIC)
    await bench.ask("Add two")
    assert states(bench)[-1] == "reviewing"
    (bench.workspace / "broken.local.py").write_text("")
    await bench.ask("Run them again, then commit", asker=Answering())
    assert states(bench)[-1] == "code_writing"
    assert git(bench, "log", "--format=%s") == "before\n"


async def test_FLW_13_a_test_that_was_wrong_is_revised_out_of_the_review(make_bench: Any) -> None:
    revise = {"calls": [intent("PLAN"), call("revise_tests", reason="it should be three")]}
    bench = await begin(make_bench, *WORK, DONE, revise)
    await bench.ask("Add two")
    await bench.ask("The test is wrong: it has to be three")
    assert failures(bench) == []
    assert states(bench)[4:] == ["reviewing", "code_writing", "test_writing"]


@pytest.mark.parametrize("changes", [False, True])
async def test_FLW_14_tests_that_passed_count_until_a_file_changes(make_bench: Any, changes: bool) -> None:
    steps = [READ, write("calc.py", BETTER), RUN, DONE, commit()]
    bench, asker = await begin(make_bench, *steps, mode=Mode.EXPLORE), Answering()
    await bench.ask("Add two")
    if changes:
        (bench.workspace / "calc.py").write_text(BETTER + "\n")
    await bench.ask("Looks good, commit it", asker=asker)
    assert failures(bench) == []
    assert any(SAYS.no_test_was_run_since in reason for reason in why(asker)) == changes
