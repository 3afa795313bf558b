"""The coverage budget in a whole runtime: a real sandbox, node's own coverage, real commits (FLW-08)."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from messages import SAYS

from remit_governance.audit.record import AuditKind
from remit_governance.workflow.debt import Account
from remit_governance.workflow.states import Mode
from remit_server.harness.workflow.budget import read_account, update_account

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.skipif(shutil.which("node", path="/usr/bin:/bin") is None, reason="there is no node"),
]

HEAD = "import test from 'node:test';\nimport assert from 'node:assert';\n"
OLD_TEST = HEAD + "import { add } from './cart.mjs';\ntest('adds', () => assert.equal(add(1, 2), 3));\n"
NEW_TEST = OLD_TEST + "test('adds words', () => assert.equal(add('1', '2'), 3));\n"
LAST_TEST = NEW_TEST.replace("{ add }", "{ add, price }") + (
    "test('price', () => assert.equal(price(1), 'one'));\ntest('dear', () => assert.equal(price(9), 'much'));\n"
)
SOURCE = "export function add(a, b) {\n  return a + b;\n}\n"
BETTER = "export function add(a, b) {\n  return Number(a) + Number(b);\n}\n"
PRICE = "export function price(n) {\n  if (n === 1) {\n    return 'ONE';\n  }\n  return 'much';\n}\n"
UNTESTED = BETTER + PRICE
REPAIRED = BETTER + PRICE.replace("ONE", "one")

PLAN = {"calls": [intent("PLAN"), call("plan_complete", plan="a failing test, then the code")]}
READ = {"calls": [intent("ANALYZE"), call("read_file", path="cart.mjs"), call("read_file", path="cart.test.mjs")]}
RUN = {"calls": [intent("EXECUTE"), call("run_tests", coverage=True)]}
BARE_RUN = {"calls": [intent("EXECUTE"), call("run_tests")]}
COMMIT = {"calls": [intent("EXECUTE"), call("git_commit", message="Better", all=True)]}
DONE = {"text": "done"}


def write(path: str, content: str) -> dict[str, Any]:
    return {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content=content)]}


FIRST = [READ, PLAN, write("cart.test.mjs", NEW_TEST), RUN, write("cart.mjs", BETTER), RUN, COMMIT, DONE]


def own_mode(mode: str) -> dict[str, Any]:
    return {"type": "call", "tool": "set_mode", "arguments": {"mode": mode}, "intent": "PLAN"}


async def begin(make_bench: Any, *steps: Any, **settings: Any) -> Bench:
    """Makes a repository whose coverage a commit in strict mode has measured, then runs the steps in explore mode."""
    bench = await prepare(make_bench, *FIRST, *steps, **settings)
    await bench.ask("Add numbers that are words")
    assert failures(bench) == []
    return bench


async def go_on(make_bench: Any, *steps: Any, **settings: Any) -> Bench:
    """Makes a repository whose baseline was measured before, for steps in explore mode."""
    bench = await prepare(make_bench, *steps, **settings)
    update_account(bench.settings.coverage_file, lambda _: Account("node", 100, 100))
    return bench


async def prepare(make_bench: Any, *steps: Any, **settings: Any) -> Bench:
    bench: Bench = await make_bench(*steps, DONE, DONE, mode=Mode.STRICT, **settings)
    (bench.workspace / "a.py").unlink()
    (bench.workspace / "package.json").write_text('{"type": "module"}\n')
    (bench.workspace / "cart.mjs").write_text(SOURCE)
    (bench.workspace / "cart.test.mjs").write_text(OLD_TEST)
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=bench.workspace, check=True)
    return bench


def failures(bench: Bench) -> list[str]:
    return [event.output for event in bench.of("tool_result") if not event.ok]


def account(bench: Bench) -> Account | None:
    return read_account(bench.settings.coverage_file)


def commits(bench: Bench) -> int:
    told = subprocess.run(
        ["git", "log", "--format=%s"], cwd=bench.workspace, capture_output=True, text=True, check=True
    )
    return len(told.stdout.splitlines())


async def test_FLW_08_a_commit_that_costs_too_much_is_held_and_is_no_debt(make_bench: Any) -> None:
    """The way out that the refusal names works: tests that bring coverage back, in the session's own mode."""
    steps = [
        READ,
        write("cart.mjs", UNTESTED.replace("ONE", "one")),
        RUN,
        COMMIT,
        write("cart.test.mjs", LAST_TEST),
        RUN,
    ]
    bench = await go_on(make_bench, *steps, COMMIT)
    await bench.ask(own_mode("explore"), "Add prices")
    (held,) = failures(bench)
    assert "bring coverage to 95.0 % or more" in held
    assert commits(bench) == 2
    assert account(bench) == Account("node", 100, 100)


async def test_FLW_08_what_was_taken_back_after_a_held_commit_leaves_nothing_locked(make_bench: Any) -> None:
    bench = await go_on(make_bench, write("cart.mjs", UNTESTED), RUN, COMMIT, DONE, write("notes.md", "# Notes\n"))
    await bench.ask(own_mode("explore"), "Add prices")
    subprocess.run(["git", "checkout", "-q", "."], cwd=bench.workspace, check=True)
    await bench.ask(own_mode("strict"), own_mode("explore"), "Write notes")
    assert len(failures(bench)) == 1
    assert (bench.workspace / "notes.md").exists()


async def test_FLW_08_a_lock_ends_with_the_run_that_its_refusal_names(make_bench: Any) -> None:
    """Tests of existing code pass at once, so the lock ends when they are measured, without a commit in strict mode."""
    tests = LAST_TEST.replace("'one'", "'ONE'")
    bench = await prepare(make_bench, READ, PLAN, write("cart.test.mjs", tests), RUN, DONE, write("cart.mjs", REPAIRED))
    (bench.workspace / "cart.mjs").write_text(UNTESTED)
    update_account(bench.settings.coverage_file, lambda _: Account("node", 100, 60))
    await bench.ask(own_mode("explore"), "Add prices")
    (locked,) = failures(bench)
    assert "the lock ends with that run" in locked
    await bench.ask("Write the tests that are missing")
    found = account(bench)
    assert found is not None
    assert found.debt == 0
    await bench.ask(own_mode("explore"), "Go on")
    assert (bench.workspace / "cart.mjs").read_text() == REPAIRED


async def test_FLW_08_coverage_that_is_committed_locks_explore_mode_until_strict_mode_wins_it_back(
    make_bench: Any,
) -> None:
    lose = [RUN, write("cart.mjs", BETTER), write("notes.md", "# Notes\n"), DONE]
    win = [READ, PLAN, write("cart.test.mjs", LAST_TEST), RUN, write("cart.mjs", REPAIRED), RUN, COMMIT, DONE]
    bench = await begin(make_bench, *lose, *win, write("cart.mjs", REPAIRED + "\n"))
    assert account(bench) == Account("node", 100.0, 100.0)
    assert "budget: coverage by node is 100.0 %" in bench.of("tool_result")[-1].output
    (bench.workspace / "cart.mjs").write_text(UNTESTED)
    subprocess.run(["git", "commit", "-q", "-a", "-m", "mine"], cwd=bench.workspace, check=True)
    await bench.ask(own_mode("explore"), "Add prices")
    (written,) = failures(bench)
    assert SAYS.explore_mode_is_locked in written
    assert "`/strict`" in written
    assert "to 95.0 % or more" in written
    assert (bench.workspace / "cart.mjs").read_text() == UNTESTED
    assert (bench.workspace / "notes.md").exists(), "what no test can come before costs nothing"
    await bench.ask(own_mode("debug"))
    assert bench.runtime.status().mode == "explore"
    await bench.ask(own_mode("strict"), "Win it back")
    assert commits(bench) == 4
    found = account(bench)
    assert found is not None
    assert found.debt == 0
    await bench.ask(own_mode("explore"), "Go on")
    assert (bench.workspace / "cart.mjs").read_text() == REPAIRED + "\n"
    words = [r.event.metadata["to"] for r in bench.audit() if r.event.kind is AuditKind.BUDGET_UPDATE]
    assert words == ["within budget", "locked", "within budget"]


async def test_FLW_08_what_is_not_measured_is_said_and_never_guessed(make_bench: Any) -> None:
    notes = write("notes.md", "# Notes\n")
    bench = await go_on(make_bench, write("cart.mjs", BETTER + "\n"), BARE_RUN, COMMIT, RUN, COMMIT, notes, COMMIT)
    await bench.ask(own_mode("explore"), "Add a line, then notes")
    (held,) = failures(bench)
    assert SAYS.coverage_was_not_measured_since in held
    assert commits(bench) == 3, "the measured one, and one of documentation, which no test can come before"


async def test_FLW_08_the_thresholds_are_the_person_s(make_bench: Any) -> None:
    options = {"warning_points": 1, "lock_points": 90}
    bench = await go_on(make_bench, write("cart.mjs", UNTESTED), RUN, COMMIT, **options)
    await bench.ask(own_mode("explore"), "Add prices")
    assert failures(bench) == []
    assert commits(bench) == 2
    assert SAYS.points_explore_mode_is_locked in bench.of("tool_result")[-1].output


async def test_FLW_08_an_account_that_cannot_be_read_holds_explore_mode_and_is_named(make_bench: Any) -> None:
    bench = await go_on(make_bench, write("cart.mjs", UNTESTED))
    bench.settings.coverage_file.write_text('{"by": "node", "baseline": 300, "now": 1}')
    await bench.ask(own_mode("explore"), "Add prices")
    assert (bench.workspace / "cart.mjs").read_text() == SOURCE
    assert "coverage.json" in failures(bench)[0]
