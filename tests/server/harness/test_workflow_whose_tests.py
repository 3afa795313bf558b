"""A failing test of the person allows code to be written; one that a session of the agent wrote does not (FLW-04)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

from remit_governance.workflow.states import Mode

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

PROJECT = PROJECTS["unittest"]
EXPLORE = {"type": "call", "tool": "set_mode", "arguments": {"mode": "explore"}, "intent": "PLAN"}
OF_AGENT = [read(PROJECT.source, PROJECT.test), write(PROJECT.test, PROJECT.new_test), DONE]
THEIRS = "\n    def test_theirs(self):\n        self.assertEqual(total([]), 7)\n"
BREAKS = "\n    def test_theirs(self):\n        {}\n"


async def after_another_session(make_bench: Any, *steps: Any) -> Bench:
    """Opens a session after another session, in explore mode, has written a failing test."""
    other = await begin(make_bench, PROJECT, *OF_AGENT)
    await other.ask(EXPLORE, "Write a test", session="another")
    bench: Bench = await make_bench(*steps, DONE, mode=Mode.STRICT, script="second.json")
    (bench.workspace / "a.py").unlink()
    assert (bench.workspace / PROJECT.test).read_text() == PROJECT.new_test
    return bench


async def test_FLW_04_a_failing_test_that_another_session_wrote_is_not_the_persons(make_bench: Any) -> None:
    bench = await after_another_session(make_bench, PLAN, RUN)
    await bench.ask("Make it pass")
    assert state(bench) == "test_writing"
    assert SAYS.neither_new_nor_changed in bench.of("tool_result")[-1].output


@pytest.mark.parametrize(
    "more", ["# more\n", "\n    def test_more(self):\n        pass\n"], ids=["a comment", "a test"]
)
async def test_THR_workflow_what_is_written_beside_it_makes_it_no_new_test(make_bench: Any, more: str) -> None:
    steps = [read(PROJECT.test), PLAN, write(PROJECT.test, PROJECT.new_test + more), RUN]
    bench = await after_another_session(make_bench, *steps, write(PROJECT.source, PROJECT.new_source))
    await bench.ask("Make it pass")
    assert (bench.workspace / PROJECT.test).read_text() == PROJECT.new_test + more
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source
    assert state(bench) == "test_writing"


async def test_FLW_04_a_test_that_the_person_added_to_a_file_of_another_session_is_theirs(make_bench: Any) -> None:
    bench = await after_another_session(make_bench, PLAN, RUN)
    path = bench.workspace / PROJECT.test
    path.write_text(path.read_text() + THEIRS)
    await bench.ask("Make it pass")
    assert state(bench) == "code_writing"
    told = bench.of("tool_result")[-1].output
    assert "red, as it has to be: test_cart.Cart.test_theirs" in told


async def test_FLW_04_a_test_in_a_file_that_the_session_changed_elsewhere_stays_the_persons(make_bench: Any) -> None:
    more = PROJECT.old_test + THEIRS + "\n    def test_more(self):\n        self.assertEqual(total([1]), 1)\n"
    bench = await begin(make_bench, PROJECT, read(PROJECT.test), PLAN, write(PROJECT.test, more), RUN, DONE)
    (bench.workspace / PROJECT.test).write_text(PROJECT.old_test + THEIRS)
    await bench.ask("Make it pass")
    assert (bench.workspace / PROJECT.test).read_text() == more
    assert state(bench) == "code_writing"


async def test_FLW_04_where_a_session_cannot_be_read_no_test_is_taken_for_the_persons(make_bench: Any) -> None:
    bench = await after_another_session(make_bench, PLAN, RUN)
    (bench.workspace / PROJECT.test).write_text(PROJECT.old_test + THEIRS)
    (file,) = bench.settings.session_folder.glob("session-*.jsonl")
    damage(file)
    await bench.ask("Make it pass")
    assert state(bench) == "test_writing"
    assert f"it is not known who wrote them: `{file.name}`" in bench.of("tool_result")[-1].output


async def test_FLW_04_a_test_of_the_persons_that_cannot_be_imported_yet_keeps_no_other_from_failing(
    make_bench: Any,
) -> None:
    project, there = PROJECTS["pytest"], "import cart\n\n\ndef test_there():\n    assert hasattr(cart, 'price')\n"
    code = project.old_source + "\n\ndef price():\n    return 7\n"
    steps = [read(project.source), PLAN, RUN, write("tests/test_there.py", there), RUN, write(project.source, code)]
    bench = await begin(make_bench, project, *steps, RUN, DONE)
    theirs = "from cart import price\n\n\ndef test_theirs():\n    assert price() == 7\n"
    (bench.workspace / "tests" / "test_old.py").write_text("def test_old():\n    assert 1 == 2\n")
    (bench.workspace / ".gitignore").write_text("__pycache__/\n.venv/\n")
    for words in ("init -q", "config user.name Ada", "config user.email a@b.c", "add -A", "commit -q -m before"):
        subprocess.run(["git", *words.split()], cwd=bench.workspace, check=True)
    (bench.workspace / "tests" / "test_theirs.py").write_text(theirs)
    await bench.ask("Make it pass")
    assert [event.state for event in bench.of("state_changed")][-3:] == ["code_writing", "validating", "reviewing"]
    assert bench.of("tool_result")[-1].data["totals"]["failed"] == 1, "what failed as it was committed"


async def test_FLW_04_a_test_of_the_persons_that_is_not_committed_is_meant_and_not_one_that_is(
    make_bench: Any,
) -> None:
    # The question about the commit is the review; it names the tests that fail as before.
    code = [read(PROJECT.source), write(PROJECT.source, PROJECT.new_source), RUN]
    commit = {"calls": [intent("EXECUTE"), call("git_commit", message="Say what the total of nothing is")]}
    bench = await begin(make_bench, PROJECT, PLAN, RUN, *code, commit, DONE)
    test = bench.workspace / PROJECT.test
    test.write_text(PROJECT.old_test + THEIRS)
    (bench.workspace / ".gitignore").write_text("__pycache__/\n")
    for words in ("init -q", "config user.name Ada", "config user.email a@b.c", "add -A", "commit -q -m before"):
        subprocess.run(["git", *words.split()], cwd=bench.workspace, check=True)
    test.write_text(PROJECT.new_test + THEIRS)
    asker = Answering()
    await bench.ask("Make it pass", asker=asker)
    assert [event.state for event in bench.of("state_changed")][-3:] == ["reviewing", "committing", "idle"]
    (question,) = (question for question in asker.asked if question.tool == "git_commit")
    assert "test_cart.Cart.test_theirs" in " ".join(reason.reason for reason in question.reasons)


@pytest.mark.parametrize("auto_commit", [False, True])
async def test_FLW_10_the_review_names_old_tests_that_the_code_was_written_for(
    make_bench: Any, auto_commit: bool
) -> None:
    """A test that fails by chance allows code like one that the person wrote for it, so the review names the test."""
    code = [read(PROJECT.source), write(PROJECT.source, PROJECT.new_source), RUN]
    commit = {"calls": [intent("EXECUTE"), call("git_commit", message="Say what the total of nothing is")]}
    options = {"auto_commit": auto_commit}
    bench, asker = await begin(make_bench, PROJECT, PLAN, RUN, *code, commit, DONE, **options), Answering()
    (bench.workspace / PROJECT.test).write_text(PROJECT.new_test)
    (bench.workspace / ".gitignore").write_text("__pycache__/\n")
    for words in ("init -q", "config user.name Ada", "config user.email a@b.c", "add -A", "commit -q -m before"):
        subprocess.run(["git", *words.split()], cwd=bench.workspace, check=True)
    await bench.ask("Make it pass", asker=asker)
    assert state(bench) == "idle"
    (question,) = (question for question in asker.asked if question.tool == "git_commit")
    said = " ".join(reason.reason for reason in question.reasons)
    assert "test_cart.Cart.test_" in said.partition(SAYS.no_test_is_new)[2]


def damage(file: Path) -> None:
    """Makes a line about changed files unreadable."""
    lines = [line.replace(b'"files":[', b'"files":7,"x":[') for line in file.read_bytes().split(b"\n")]
    file.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize(
    ("body", "is_red"),
    [("import cart; cart.price()", True), ("import a_package_of_nobody", False)],
    ids=["what is still to be written", "a package that is not installed"],
)
async def test_FLW_04_a_test_of_the_persons_that_breaks_counts_where_code_can_mend_it(
    make_bench: Any, body: str, is_red: bool
) -> None:
    bench = await begin(make_bench, PROJECT, PLAN, RUN, DONE)
    (bench.workspace / PROJECT.test).write_text(PROJECT.old_test + BREAKS.format(body))
    await bench.ask("Make it pass")
    assert state(bench) == ("code_writing" if is_red else "test_writing")
