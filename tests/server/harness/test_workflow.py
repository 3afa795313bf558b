"""The workflow in a whole runtime: a real sandbox, real runs of tests, a script as the model."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS

from remit_governance.audit.record import AuditKind
from remit_governance.policy.language.compile import parse_policy
from remit_governance.policy.language.load import workflow_source
from remit_governance.workflow.states import UNTOUCHED, Mode
from remit_governance.workflow.test_files import RUNNER_CONFIG_GLOBS, RUNNER_PROGRAM_GLOBS, STAND_IN_GLOBS, TEST_GLOBS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.skipif(shutil.which("python3", path="/usr/bin:/bin") is None, reason="there is no system Python"),
]

SOURCE = "def parse_config(text):\n    return dict(line.split('=') for line in text.splitlines())\n"
BETTER = (
    "def parse_config(text):\n"
    "    lines = [line for line in text.splitlines() if line]\n"
    "    if any('=' not in line for line in lines):\n"
    "        return None\n"
    "    return dict(line.split('=') for line in lines)\n"
)
OLD_TEST = (
    "import unittest\nfrom config import parse_config\n\n\nclass Config(unittest.TestCase):\n"
    "    def test_parses(self):\n        self.assertEqual(parse_config('a=1'), {'a': '1'})\n"
)
NEW_TEST = OLD_TEST + "\n    def test_is_none_for_a_bad_line(self):\n        self.assertIsNone(safe('a'))\n"
NEW_TEST = NEW_TEST.replace(
    "class Config",
    "def safe(text):\n    try:\n        return parse_config(text)\n    except ValueError:\n        return 'raised'\n\n\nclass Config",
)
PLAN = {"calls": [intent("PLAN"), call("plan_complete", plan="a failing test, then the code")]}
WRITE_TEST = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_config.py", content=NEW_TEST)]}
WRITE_CODE = {"calls": [intent("WRITE_FILE"), call("write_file", path="config.py", content=BETTER)]}
READ = {"calls": [intent("ANALYZE"), call("read_file", path="config.py"), call("read_file", path="test_config.py")]}
RUN = {"calls": [intent("EXECUTE"), call("run_tests")]}
COMMIT = {"calls": [intent("EXECUTE"), call("git_commit", message="Say None of a bad line")]}
DONE = {"text": "done"}
ALLOW_ALL = (
    "version: 1\ncapabilities:\n"
    "  - { name: all, match: { syscall: [fs.read, fs.list, fs.write, git.commit], path_glob: ['**'] }, action: allow }\n"
    "  - { name: run, match: { syscall: process.exec }, action: allow }\n"
)


async def strict(
    make_bench: Any, *steps: Any, mode: Mode = Mode.STRICT, repository: bool = False, **settings: Any
) -> Bench:
    bench: Bench = await make_bench(*steps, DONE, mode=mode, **settings)
    (bench.workspace / "a.py").unlink()
    (bench.workspace / "config.py").write_text(SOURCE)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    if repository:
        (bench.workspace / ".gitignore").write_text("__pycache__/\n")
        for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=bench.workspace, check=True)
        subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=bench.workspace, check=True)
    await bench.ask("Add error handling to parse_config")
    return bench


def states(bench: Bench) -> list[str]:
    return [event.state for event in bench.of("state_changed")]


def failures(bench: Bench) -> list[str]:
    return [event.output for event in bench.of("tool_result") if not event.ok]


async def test_FLW_06_tests_first_from_the_request_to_the_review(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, WRITE_CODE, RUN)
    assert failures(bench) == []
    assert states(bench) == ["planning", "test_writing", "code_writing", "validating", "reviewing"]
    assert (bench.workspace / "config.py").read_text() == BETTER
    moves = [r.event for r in bench.audit() if r.event.kind is AuditKind.STATE_TRANSITION]
    assert [event.state_machine_state for event in moves] == states(bench)
    assert bench.runtime.status().state == "reviewing"
    told = {event.state: event.means for event in bench.of("state_changed")}
    assert SAYS.only_tests_may_be_written in told["test_writing"]
    assert bench.runtime.status().state_means == told["reviewing"]


@pytest.mark.parametrize("tracked", [True, False])
async def test_FLW_04_a_failing_test_of_the_person_is_red_and_locked(make_bench: Any, tracked: bool) -> None:
    locked = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_theirs.py", content="x = 1\n")]}
    bench = await make_bench(PLAN, RUN, locked, WRITE_CODE, RUN, DONE, mode=Mode.STRICT)
    for name, text in {"config.py": SOURCE, "test_config.py": OLD_TEST, "test_theirs.py": NEW_TEST}.items():
        (bench.workspace / name).write_text(text)
    (bench.workspace / "a.py").unlink()
    if tracked:
        for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=bench.workspace, check=True)
        subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=bench.workspace, check=True)
    await bench.ask("Make test_theirs.py pass")
    assert states(bench) == ["planning", "test_writing", "code_writing", "validating", "reviewing"]
    (refused,) = failures(bench)
    assert "denied" in refused
    assert (bench.workspace / "test_theirs.py").read_text() == NEW_TEST


async def test_FLW_04_a_failing_test_that_the_session_wrote_before_its_plan_is_not_the_persons(make_bench: Any) -> None:
    to_strict = {"type": "call", "tool": "set_mode", "arguments": {"mode": "strict"}, "intent": "PLAN"}
    bench = await strict(make_bench, READ, WRITE_TEST, DONE, PLAN, RUN, mode=Mode.EXPLORE)
    await bench.ask(to_strict)
    await bench.ask("Now the code")
    assert (bench.workspace / "test_config.py").read_text() == NEW_TEST
    assert states(bench)[-1] == "test_writing"


async def test_FLW_03_fixtures_that_tests_share_are_written_with_them_and_locked_then(make_bench: Any) -> None:
    path = "tests/conftest.py"
    share = {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content="import pytest\n")]}
    again = {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content="x = 1\n")]}
    bench = await make_bench(PLAN, READ, share, WRITE_TEST, RUN, again, DONE, mode=Mode.STRICT)
    (bench.workspace / "a.py").unlink()
    (bench.workspace / "config.py").write_text(SOURCE)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    await bench.ask("Add error handling to parse_config", asker=Answering())
    assert states(bench)[-1] == "code_writing"
    assert len(failures(bench)) == 1
    assert (bench.workspace / path).read_text() == "import pytest\n"


async def test_FLW_04_advice_on_a_module_that_is_not_found_can_be_followed(make_bench: Any) -> None:
    found = "import sys; sys.path.insert(0, 'src')\n" + NEW_TEST
    again = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_config.py", content=found)]}
    bench = await make_bench(PLAN, READ, WRITE_TEST, RUN, again, RUN, DONE, mode=Mode.STRICT)
    (bench.workspace / "a.py").unlink()
    (bench.workspace / "src").mkdir()
    (bench.workspace / "src/config.py").write_text(SOURCE)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    await bench.ask("Add error handling to parse_config")
    told, _ = (event.output for event in bench.of("tool_result") if event.tool == "run_tests")
    assert 'sys.path.insert(0, "src")' in told
    assert states(bench)[-1] == "code_writing"


MANY_TESTS = """import unittest


class Many(unittest.TestCase):
    pass


for number in range(2_100):
    setattr(Many, f"test_{number}", lambda self: self.assertTrue(True))
"""


async def test_FLW_04_a_run_of_more_tests_than_a_client_is_told_of_proves_as_much(make_bench: Any) -> None:
    write_many = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_many.py", content=MANY_TESTS)]}
    bench = await strict(make_bench, READ, PLAN, write_many, WRITE_TEST, RUN, WRITE_CODE, RUN)
    assert failures(bench) == []
    assert states(bench)[-1] == "reviewing"
    ran = [event for event in bench.of("tool_result") if event.tool == "run_tests"][-1]
    assert "2102 passed" in ran.output


async def test_FLW_01_the_status_is_of_the_session_that_is_asked_about(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, PLAN)
    last = bench.runtime.status()
    assert (last.mode, last.state) == ("strict", "test_writing")
    fresh = bench.runtime.status("a session that has not begun")
    assert (fresh.mode, fresh.state) == ("strict", "idle")
    own = {"type": "call", "tool": "set_mode", "arguments": {"mode": "explore"}, "intent": "PLAN"}
    await bench.ask(own)
    assert bench.runtime.status("a session that has not begun").mode == "strict"


@pytest.mark.parametrize("before", [[], [PLAN], [PLAN, WRITE_TEST], [PLAN, RUN]])
async def test_FLW_03_no_code_is_written_before_a_failing_test(make_bench: Any, before: list[Any]) -> None:
    bench = await strict(make_bench, READ, *before, WRITE_CODE)
    assert (bench.workspace / "config.py").read_text() == SOURCE
    (refused,) = failures(bench)
    assert "denied" in refused
    (event,) = [r.event for r in bench.audit() if r.event.kind is AuditKind.TOOL_OUTCOME and r.event.deny_reason]
    assert event.policy_rule_name in {"workflow.nothing-is-written", "workflow.tests-come-first"}
    assert event.session_mode == "strict"


FAKES = {
    "a syntax error": NEW_TEST + "    def (:\n",
    "an import error": "import nothing_of_this_name\n" + NEW_TEST,
    "an error instead of an assertion": OLD_TEST + "\n    def test_new(self):\n        raise RuntimeError\n",
    "a test that passes": OLD_TEST + "\n    def test_new(self):\n        assert True\n",
    "a skipped test": OLD_TEST + "\n    @unittest.skip('later')\n    def test_new(self):\n        assert False\n",
    "an expected failure": OLD_TEST
    + "\n    @unittest.expectedFailure\n    def test_new(self):\n        assert False\n",
    "an empty test": OLD_TEST + "\n    def test_new(self):\n        pass\n",
    "a report of its own": OLD_TEST.replace(
        "import unittest\n",
        "import unittest\nprint('FAILED (failures=1)')\n"
        "open('/tmp/remit-report', 'a').write('not a line of a report\\n')\n",
    ),
    "an exit code": OLD_TEST + "\n\nimport os\nos._exit(1)\n",
    "no test at all": "",
}


@pytest.mark.parametrize("content", FAKES.values(), ids=FAKES.keys())
async def test_THR_workflow_what_is_no_failing_test_opens_nothing(make_bench: Any, content: str) -> None:
    write = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_config.py", content=content)]}
    bench = await strict(make_bench, READ, PLAN, write, RUN, WRITE_CODE)
    assert (bench.workspace / "config.py").read_text() == SOURCE
    assert states(bench) == ["planning", "test_writing"]


COMMANDS = {
    "redirection": "echo x=1 > config.py",
    "sed": "sed -i s/return/yield/ config.py",
    "a program": "python3 -c \"open('config.py','w').write('')\"",
    "a move": "mv test_config.py config.py",
    "a copy": "cp test_config.py config.py",
    "a link": "ln -sf test_config.py config.py",
    "a removal": "rm config.py",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
async def test_THR_workflow_a_command_writes_no_code_either(make_bench: Any, command: str) -> None:
    ran = {"calls": [intent("EXECUTE"), call("run_command", command=command)]}
    bench = await strict(make_bench, READ, PLAN, ran)
    path = bench.workspace / "config.py"
    assert path.read_text() == SOURCE
    assert not path.is_symlink()


LOCKED = {
    "the runner itself": (".venv/bin/pytest", "#!/bin/sh\nexit 0\n"),
    "a package of the runner's": ("node_modules/jest/index.js", "process.exit(0);\n"),
    "another toolchain": ("rust-toolchain.toml", "[toolchain]\npath = 'mine'\n"),
    "the test": ("test_config.py", OLD_TEST),
    "another test": ("tests/test_more.py", "x = 1\n"),
    "conftest": ("conftest.py", "def pytest_runtest_makereport(): ...\n"),
    "the runner's configuration": ("pytest.ini", "[pytest]\naddopts = --co\n"),
    "what Python starts with": ("sitecustomize.py", "import sys\n"),
}


@pytest.mark.parametrize(("path", "content"), LOCKED.values(), ids=LOCKED.keys())
async def test_THR_workflow_tests_are_locked_while_code_is_written(make_bench: Any, path: str, content: str) -> None:
    write = {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content=content)]}
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, write)
    assert len(failures(bench)) == 1
    assert (bench.workspace / "test_config.py").read_text() == NEW_TEST


STAND_INS = (
    *(".venv/lib/python3/site-packages/forge.py", "venv/bin/pytest", "node_modules/vitest/dist/index.js"),
    *("tests/node_modules/x/index.js", ".yarn/releases/yarn.cjs", "pytest.toml", ".babelrc.json", "__pycache__/a.py"),
    *("shop.egg-info/entry_points.txt", "src/shop-1.dist-info/entry_points.txt", "a.egg-info"),
)
COMPILES = """import os, py_compile
for name in ("__pycache__/config.cpython-3.pyc", "tests/__pycache__/test_a.pyc", "target/debug/deps/shop-1"):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    py_compile.compile("config.py", cfile=name, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


async def test_THR_workflow_nothing_is_written_that_stands_in_for_what_a_review_shows(make_bench: Any) -> None:
    writes = [call("write_file", path=path, content="x\n") for path in STAND_INS]
    tried = [
        {"calls": [intent("WRITE_FILE"), *writes]},
        {"calls": [intent("EXECUTE"), call("run_command", command=f"python3 -c '{COMPILES}'")]},
    ]
    bench = await strict(make_bench, READ, PLAN, *tried, WRITE_TEST, RUN, *tried)
    assert states(bench)[-1] == "code_writing"
    assert len(failures(bench)) == 2 * len(STAND_INS)
    assert [path for path in STAND_INS if (bench.workspace / path).exists()] == []
    assert [*bench.workspace.rglob("*.pyc"), *bench.workspace.rglob("target")] == []
    ran = [event.output for event in bench.of("tool_result") if event.tool == "run_command"]
    assert ["stands in for reviewed files" in output for output in ran] == [True, True]


async def test_FLW_04_a_run_that_fails_leads_back_to_the_code(make_bench: Any) -> None:
    worse = {
        "calls": [intent("WRITE_FILE"), call("write_file", path="config.py", content="def parse_config(t): ...\n")]
    }
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, worse, RUN)
    assert states(bench)[-2:] == ["validating", "code_writing"]
    assert SAYS.this_proves_nothing_yet in bench.of("tool_result")[-1].output


async def test_FLW_04_only_a_run_of_all_tests_is_a_passing_one(make_bench: Any) -> None:
    part = {"calls": [intent("EXECUTE"), call("run_tests", filter="is_none")]}
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, WRITE_CODE, part)
    assert states(bench)[-1] == "code_writing"
    assert SAYS.a_run_of_all_tests in bench.of("tool_result")[-1].output


async def test_FLW_04_a_failing_run_of_some_tests_is_run_whole_so_that_the_passing_one_can_be_told(
    make_bench: Any,
) -> None:
    """An old failing test does not block the work, because the run of all tests shows it before the code is written."""
    failing = (
        "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertTrue(False)\n"
    )
    part = {"calls": [intent("EXECUTE"), call("run_tests", filter="is_none")]}
    bench = await make_bench(READ, PLAN, WRITE_TEST, part, RUN, WRITE_CODE, RUN, DONE, mode=Mode.STRICT)
    for name, text in {"config.py": SOURCE, "test_config.py": OLD_TEST, "test_old.py": failing}.items():
        (bench.workspace / name).write_text(text)
    (bench.workspace / "a.py").unlink()
    await bench.ask("Add error handling to parse_config")
    first, *_ = (event.output for event in bench.of("tool_result") if event.tool == "run_tests")
    assert SAYS.only_a_run_of_all in first
    assert states(bench) == ["planning", "test_writing", "code_writing", "validating", "reviewing"]


async def test_FLW_05_a_file_that_configures_tests_is_changed_the_way_its_refusal_says(make_bench: Any) -> None:
    path = "vitest.config.ts"
    configure = {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content="export default {};\n")]}
    asked = call("workflow_request_exemption", category="config_change", paths=[path], reason="a folder of tests")
    bench = await strict(make_bench, READ, PLAN, configure, DONE, {"calls": [intent("PLAN"), asked]}, configure)
    (refused,) = failures(bench)
    assert "under a `config_change` exemption only" in refused
    modes = [
        {"type": "call", "tool": "set_mode", "arguments": {"mode": m}, "intent": "PLAN"} for m in ("explore", "strict")
    ]
    await bench.ask(*modes, "change the configuration first")
    assert len(failures(bench)) == 1
    assert (bench.workspace / path).exists()


@pytest.mark.parametrize("early", [False, True], ids=["nothing changed", "something changed"])
async def test_FLW_05_an_exemption_that_was_the_wrong_one_is_given_up_for_a_test(
    make_bench: Any, *, early: bool
) -> None:
    asked = call("workflow_request_exemption", category="documentation", paths=["README.md"], reason="words only")
    begun = [{"calls": [intent("WRITE_FILE"), call("write_file", path="README.md", content="x\n")]}] if early else []
    bench = await strict(make_bench, READ, {"calls": [intent("PLAN"), asked]}, *begun, PLAN)
    assert states(bench)[-1] == ("exploring" if early else "test_writing")


@pytest.mark.parametrize("early", [False, True], ids=["no test written", "a test written"])
async def test_FLW_05_after_the_plan_an_exemption_is_given_until_a_test_is_written(
    make_bench: Any, *, early: bool
) -> None:
    asked = call("workflow_request_exemption", category="documentation", paths=["README.md"], reason="words only")
    readme = {"calls": [intent("WRITE_FILE"), call("write_file", path="README.md", content="# Config\n")]}
    begun = [WRITE_TEST] if early else []
    bench = await strict(make_bench, READ, PLAN, *begun, {"calls": [intent("PLAN"), asked]}, readme)
    assert states(bench)[-1] == ("test_writing" if early else "exploring")
    assert (bench.workspace / "README.md").exists() != early
    assert [UNTOUCHED.needs in why for why in failures(bench)] == ([True, True] if early else [])


async def test_FLW_04_tests_that_somebody_changes_meanwhile_prove_nothing(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, WRITE_CODE, DONE, RUN)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    await bench.ask("go on")
    assert states(bench)[-1] == "code_writing"
    assert "not as they were when they failed: test_config.py" in bench.of("tool_result")[-1].output


async def test_FLW_06_a_commit_comes_after_the_review_and_ends_the_work(make_bench: Any) -> None:
    early = [READ, PLAN, WRITE_TEST, COMMIT, RUN, WRITE_CODE, COMMIT, RUN, DONE, COMMIT]
    bench = await strict(make_bench, *early, repository=True)
    assert states(bench)[-1] == "reviewing"
    assert [("workflow.commit-after-review" in why) for why in failures(bench)] == [True, True]
    await bench.ask("commit it", policy={"mode": "strict"})
    assert states(bench)[-2:] == ["committing", "idle"], "the tests that passed count as long as no file changes"


async def test_FLW_06_a_commit_in_the_same_turn_is_the_review(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, WRITE_CODE, RUN, COMMIT, repository=True)
    assert failures(bench) == []
    assert states(bench)[-3:] == ["reviewing", "committing", "idle"]
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=bench.workspace, capture_output=True, text=True, check=True
    ).stdout
    assert log.splitlines()[0] == "Say None of a bad line"


async def test_FLW_05_an_exemption_opens_its_own_files_only(make_bench: Any) -> None:
    asked = call("workflow_request_exemption", category="documentation", paths=["README.md"], reason="words only")
    readme = {"calls": [intent("WRITE_FILE"), call("write_file", path="README.md", content="# Config\n")]}
    bench = await strict(make_bench, READ, {"calls": [intent("PLAN"), asked]}, readme, WRITE_CODE)
    assert (bench.workspace / "README.md").read_text() == "# Config\n"
    assert (bench.workspace / "config.py").read_text() == SOURCE
    assert states(bench) == ["planning", "exploring"]
    assert "workflow.exempted-paths-only" in failures(bench)[0]


async def test_FLW_05_an_exemption_for_code_is_not_granted(make_bench: Any) -> None:
    """THR-workflow-an-exemption-for-code-is-not-granted."""
    asked = call("workflow_request_exemption", category="documentation", paths=["config.py"], reason="words only")
    bench = await strict(make_bench, READ, {"calls": [intent("PLAN"), asked]}, WRITE_CODE)
    assert states(bench) == ["planning"]
    assert "no glob of `documentation` fits `config.py`" in failures(bench)[0]
    assert (bench.workspace / "config.py").read_text() == SOURCE


async def test_FLW_06_in_explore_mode_the_first_change_ends_the_planning(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, WRITE_CODE, RUN, mode=Mode.EXPLORE)
    assert failures(bench) == []
    assert states(bench) == ["planning", "exploring", "validating", "reviewing"]


async def test_FLW_07_a_model_cannot_change_the_mode_and_the_person_can(make_bench: Any) -> None:
    escape = {"calls": [intent("PLAN"), call("set_mode", mode="explore")]}
    bench = await strict(make_bench, READ, escape, WRITE_CODE)
    assert (bench.workspace / "config.py").read_text() == SOURCE
    own = {"type": "call", "tool": "set_mode", "arguments": {"mode": "explore"}, "intent": "PLAN"}
    result = await bench.ask(own)
    assert result.status == "completed"
    assert bench.of("state_changed")[-1].mode == "explore"
    (event,) = [r.event for r in bench.audit() if r.event.kind is AuditKind.SESSION_MODE_CHANGE]
    assert (event.session_mode, event.metadata["from"], event.caller) == ("explore", "strict", "human")


async def test_FLW_07_a_session_that_is_taken_up_again_is_held_to_the_mode_that_was_chosen_in_it(
    make_bench: Any,
) -> None:
    own = {"type": "call", "tool": "set_mode", "arguments": {"mode": "strict"}, "intent": "PLAN"}
    first = await make_bench(DONE)
    await first.ask(own, "hello")
    await first.runtime.close()
    again = await strict(make_bench, WRITE_CODE, mode=Mode.EXPLORE)
    assert again.runtime.status().mode == "strict"
    assert (again.workspace / "config.py").read_text() == SOURCE


async def test_FLW_07_a_run_may_ask_for_a_stricter_mode_and_for_no_looser_one(make_bench: Any) -> None:
    bench = await make_bench(DONE, DONE, mode=Mode.EXPLORE)
    assert (await bench.ask("hello", policy={"mode": "strict"})).status == "completed"
    assert bench.runtime.status().mode == "strict"
    result = await bench.ask("hello", policy={"mode": "debug"})
    assert result.status == "failed"
    assert SAYS.may_only_tighten in result.error.why


async def test_FLW_06_the_model_is_told_where_it_stands_and_a_tool_out_of_place_says_what_there_is(
    make_bench: Any,
) -> None:
    bench = await strict(make_bench, READ, PLAN, PLAN)
    (event,) = [event for event in bench.of("tool_result") if not event.ok]
    assert event.data["error"] == "tool_unavailable"
    assert event.data["current_state"] == "test_writing"
    assert SAYS.only_tests_may_be_written in event.output


async def test_APP_10_what_a_turn_collects_is_held_to_the_workflow_too(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, WRITE_CODE, PLAN, WRITE_TEST, RUN, WRITE_CODE, RUN, when="turn")
    assert states(bench) == ["planning", "test_writing", "code_writing", "validating", "reviewing"]
    assert len(failures(bench)) == 1
    assert (bench.workspace / "config.py").read_text() == BETTER


def test_FLW_03_the_packaged_rules_name_the_files_that_are_locked() -> None:
    source = workflow_source()
    _, form = parse_policy(source.file, source.text)
    rules = {rule.name: rule for rule in form.capabilities}
    assert rules["workflow.tests-are-locked"].match.path_glob == TEST_GLOBS
    assert rules["workflow.runners-are-locked"].match.path_glob == RUNNER_CONFIG_GLOBS
    assert rules["workflow.runner-programs-are-locked"].match.path_glob == RUNNER_PROGRAM_GLOBS
    assert rules["workflow.stand-ins-are-locked"].match.path_glob == STAND_IN_GLOBS
    assert rules["workflow.tests-come-first"].except_[1].path_glob == TEST_GLOBS
    assert Path(source.file).name == "workflow.yaml"


async def test_FLW_07_debug_mode_is_the_persons_to_choose_as_any_other(make_bench: Any) -> None:
    bench = await make_bench(DONE)
    asker = Answering(decision="deny")
    own = {"type": "call", "tool": "set_mode", "arguments": {"mode": "debug"}, "intent": "PLAN"}
    assert (await bench.ask(own, asker=asker)).status == "completed"
    assert bench.runtime.status().mode == "debug"
    assert asker.asked == []


EXEMPT = {
    "documentation": ("docs/config.md", "# Config\n"),
    "config_change": ("settings.json", "{}\n"),
    "asset_update": ("site.css", "a { color: red }\n"),
}


def review_call(answer: str) -> dict[str, Any]:
    return {"type": "call", "tool": "review_work", "arguments": {"answer": answer}, "intent": "PLAN"}


def exempt_steps(category: str, path: str, content: str) -> list[Any]:
    asked = call("workflow_request_exemption", category=category, paths=[path], reason="no test can come first")
    return [
        {"calls": [intent("PLAN"), asked]},
        {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content=content)]},
        RUN,
    ]


COMMIT_ALL = {"calls": [intent("EXECUTE"), call("git_commit", message="Say how", all=True)]}


async def reviewed(
    make_bench: Any, category: str, *rest: Any, asker: Answering | None = None, **settings: Any
) -> tuple[Bench, Answering]:
    """Runs exempted work up to its review, then `rest`; returns the bench, and the asker with all its questions."""
    path, content = EXEMPT.get(category, (category, "on: push\n"))
    steps = exempt_steps(category if category in EXEMPT else "config_change", path, content)
    bench: Bench = await make_bench(READ, *steps, *rest, DONE, DONE, mode=Mode.STRICT, **settings)
    (bench.workspace / "config.py").write_text(SOURCE)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    (bench.workspace / ".gitignore").write_text("__pycache__/\n")
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=bench.workspace, check=True)
    asker = asker or Answering()
    await bench.ask("Say how", asker=asker)
    return bench, asker


def subjects(bench: Bench) -> list[str]:
    told = subprocess.run(
        ["git", "log", "--format=%s"], cwd=bench.workspace, capture_output=True, text=True, check=True
    )
    return told.stdout.splitlines()


def commit_questions(asker: Answering) -> list[Any]:
    return [question for question in asker.asked if question.tool == "git_commit"]


@pytest.mark.parametrize("category", EXEMPT)
async def test_FLW_05_exempted_work_of_each_category_goes_to_its_review(make_bench: Any, category: str) -> None:
    bench, _ = await reviewed(make_bench, category)
    path, content = EXEMPT[category]
    assert failures(bench) == []
    assert (bench.workspace / path).read_text() == content
    assert states(bench) == ["planning", "exploring", "validating", "reviewing"]
    (asked,) = [
        r.event
        for r in bench.audit()
        if r.event.tool_name == "workflow_request_exemption"
        and r.event.exit_code is None
        and r.event.kind is AuditKind.TOOL_INTENT
    ]
    assert category in asked.input_summary


@pytest.mark.parametrize("prefix", ["[remit]", "[remit] "])
async def test_FLW_10_a_commit_that_meets_every_criterion_is_not_asked_about_where_the_person_set_it_so(
    make_bench: Any, prefix: str
) -> None:
    options = {"auto_commit": True, "message_prefix": prefix}
    bench, asker = await reviewed(make_bench, "documentation", COMMIT_ALL, **options)
    assert failures(bench) == []
    assert commit_questions(asker) == []
    assert subjects(bench) == ["[remit] Say how", "before"]
    assert states(bench)[-2:] == ["committing", "idle"]


@pytest.mark.parametrize(
    ("changed", "options", "why"),
    [
        ("documentation", {}, "waits for your review"),
        ("documentation", {"auto_commit": True, "auto_commit_lines": 0}, "changes 1 lines"),
        (".github/workflows/ci.yml", {"auto_commit": True}, "sensitive files: .github/workflows/ci.yml"),
    ],
    ids=["off", "lines", "sensitive"],
)
async def test_FLW_10_any_other_commit_is_asked_about_whatever_policy_allows(
    make_bench: Any, changed: str, options: dict[str, Any], why: str
) -> None:
    bench, asker = await reviewed(make_bench, changed, COMMIT_ALL, **options, policy=ALLOW_ALL)
    assert failures(bench) == []
    (question,) = commit_questions(asker)
    assert why in question.reasons[0].reason
    assert subjects(bench) == ["Say how", "before"]


async def test_FLW_10_what_the_person_s_own_rules_ask_is_asked_all_the_same(make_bench: Any) -> None:
    policy = ALLOW_ALL.replace("git.commit], path", "git.none], path") + (
        "  - { name: mine, match: { syscall: git.commit, path_glob: ['**'] }, action: require_review }\n"
    )
    options = {"auto_commit": True}
    bench, asker = await reviewed(make_bench, "documentation", COMMIT_ALL, **options, policy=policy)
    assert failures(bench) == []
    assert len(commit_questions(asker)) == 1


async def test_FLW_10_what_the_person_approved_is_committed_without_another_question_and_nothing_else(
    make_bench: Any,
) -> None:
    bench, _ = await reviewed(make_bench, "documentation", DONE, COMMIT_ALL)
    asker = Answering(decision="deny")
    await bench.ask(review_call("approve"), "commit it", asker=asker)
    assert commit_questions(asker) == []
    assert subjects(bench) == ["Say how", "before"]
    assert states(bench)[-2:] == ["committing", "idle"]
    (move,) = [r.event for r in bench.audit() if r.event.metadata.get("trigger") == "approved"]
    assert move.caller == "human"


@pytest.mark.parametrize("policy", [None, ALLOW_ALL], ids=["packaged", "allows commits"])
async def test_FLW_10_a_file_that_changes_after_the_review_is_asked_about(make_bench: Any, policy: str | None) -> None:
    bench, _ = await reviewed(make_bench, "documentation", DONE, COMMIT_ALL, policy=policy)
    await bench.ask(review_call("approve"))
    (bench.workspace / "config.py").write_text(BETTER)
    asker = Answering(decision="deny")
    await bench.ask("commit it", asker=asker)
    (question,) = commit_questions(asker)
    assert question.reasons[0].reason == SAYS.it_is_not_exactly_what
    assert subjects(bench) == ["before"]
    await bench.ask(review_call("reject"))
    assert states(bench)[-1] == "idle"


@pytest.mark.parametrize("auto_commit", [True, False])
async def test_THR_workflow_what_somebody_changes_after_the_tests_passed_is_asked_about(
    make_bench: Any, tmp_path: Path, auto_commit: bool
) -> None:
    """While a command waits for its answer, somebody else changes the code that is going to be committed."""
    asks = {"calls": [intent("EXECUTE"), call("run_command", command="eval true")]}
    asker = Answering(later="deny", before=lambda: (tmp_path / "shop" / "config.py").write_text(BETTER) and None)
    options = {"auto_commit": auto_commit}
    steps = (asks, COMMIT_ALL)
    bench, _ = await reviewed(make_bench, "documentation", *steps, asker=asker, **options, policy=ALLOW_ALL)
    (question,) = commit_questions(asker)
    assert question.reasons[0].reason == "the tests passed, but these files have changed since: config.py"
    assert subjects(bench) == ["before"]


async def test_THR_workflow_a_run_of_no_test_or_of_some_does_not_end_exempted_work(make_bench: Any) -> None:
    runs = [{"calls": [intent("EXECUTE"), call("run_tests", filter=part)]} for part in ("nothing", "parses")]
    bench = await strict(make_bench, *exempt_steps("documentation", "README.md", "# Shop\n")[:2], *runs)
    assert states(bench)[-1] == "exploring"
    assert [SAYS.only_a_run_of_all in each.output for each in bench.of("tool_result")[-2:]] == [True, True]


async def test_FLW_10_a_rejected_review_leads_back_to_the_work(make_bench: Any) -> None:
    bench, _ = await reviewed(make_bench, "documentation")
    await bench.ask(review_call("reject"))
    assert states(bench)[-1] == "exploring"
    await bench.ask(review_call("approve"))
    assert "can be used only in committing and retroactive_testing and reviewing" in failures(bench)[-1]


async def test_FLW_10_a_model_cannot_approve_its_own_work(make_bench: Any) -> None:
    approve = {"calls": [intent("PLAN"), call("review_work", answer="approve")]}
    bench, _ = await reviewed(make_bench, "documentation", approve)
    assert len(failures(bench)) == 1
    assert states(bench)[-1] == "reviewing"


TYPED = SOURCE.replace("(text)", "(text: str) -> dict[str, str]", 1)


async def test_FLW_09_a_type_refactor_changes_types_and_nothing_else_by_tool_or_command(make_bench: Any) -> None:
    asked = call("workflow_request_exemption", category="type_refactor", paths=["config.py"], reason="types only")
    code = {"calls": [intent("WRITE_FILE"), call("write_file", path="config.py", content=BETTER)]}
    shell = {"calls": [intent("EXECUTE"), call("run_command", command=COMMANDS["a program"])]}
    types = {"calls": [intent("WRITE_FILE"), call("write_file", path="config.py", content=TYPED)]}
    bench = await strict(make_bench, READ, {"calls": [intent("PLAN"), asked]}, code, shell, types, RUN)
    (refused,) = failures(bench)
    assert "the exemption is for types only, and it changes more than types" in refused
    (ran,) = [event.output for event in bench.of("tool_result") if "not taken over" in event.output]
    assert "types only" in ran
    assert (bench.workspace / "config.py").read_text() == TYPED
    assert states(bench) == ["planning", "exploring", "validating", "reviewing"]


async def test_FLW_09_a_language_whose_types_decide_what_runs_gets_no_exemption(make_bench: Any) -> None:
    policy = ALLOW_ALL + "tdd_exemptions:\n  type_refactor: { path_glob: ['*.go'] }\n"
    asked = call("workflow_request_exemption", category="type_refactor", paths=["a.go"], reason="types only")
    bench = await strict(make_bench, READ, {"calls": [intent("PLAN"), asked]}, policy=policy)
    assert SAYS.in_go_a_type_decides in failures(bench)[0]
    assert states(bench) == ["planning"]


EXCEPT = "tdd_tests: { except: ['test/**', 'test_config.py'] }\n"


async def test_FLW_03_source_in_a_folder_of_that_name_is_code_where_the_person_says_so(make_bench: Any) -> None:
    """Such source is written as code and not as a test; other paths that look like tests stay tests."""
    library = {"calls": [intent("WRITE_FILE"), call("write_file", path="test/lib.py", content="x = 1\n")]}
    test = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_new.py", content=NEW_TEST)]}
    policy = ALLOW_ALL + "tdd_tests: { except: ['test/**'] }\n"
    bench = await strict(make_bench, READ, PLAN, library, test, RUN, library, WRITE_CODE, RUN, policy=policy)
    (refused,) = failures(bench)
    assert "workflow.tests-come-first" in refused
    assert (bench.workspace / "test" / "lib.py").read_text() == "x = 1\n"
    assert states(bench)[-1] == "reviewing"


@pytest.mark.parametrize("trusted", [False, True])
async def test_THR_workflow_a_project_cannot_take_its_tests_out_of_the_tests(make_bench: Any, trusted: bool) -> None:
    """A project's policy that tries it is not in force, whether the folder is trusted or not."""
    again = {"calls": [intent("WRITE_FILE"), call("write_file", path="test_config.py", content=OLD_TEST)]}
    bench: Bench = await make_bench(
        READ, PLAN, WRITE_TEST, RUN, again, WRITE_CODE, DONE, mode=Mode.STRICT, trusted=trusted
    )
    (bench.workspace / "config.py").write_text(SOURCE)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    (bench.workspace / ".remit").mkdir()
    (bench.workspace / ".remit" / "policy.yaml").write_text(f"version: 1\n{EXCEPT}")
    await bench.runtime.reload()
    await bench.ask("Add error handling to parse_config")
    assert "workflow.tests-are-locked" in failures(bench)[0]
    assert (bench.workspace / "test_config.py").read_text() == NEW_TEST
    if trusted:
        problem = bench.runtime.status().policy_problem
        assert problem is not None
        assert SAYS.except_says_what_is_no in problem.why


async def explored(make_bench: Any, *steps: Any, asker: Answering | None = None, mode: Mode = Mode.EXPLORE) -> Bench:
    bench: Bench = await make_bench(*steps, DONE, DONE, DONE, mode=mode)
    (bench.workspace / "a.py").unlink()
    (bench.workspace / "config.py").write_text(SOURCE)
    (bench.workspace / "test_config.py").write_text(OLD_TEST)
    (bench.workspace / ".gitignore").write_text("__pycache__/\n")
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=bench.workspace, check=True)
    await bench.ask("Add error handling to parse_config", asker=asker)
    return bench


ASKED_FOR = {"type": "call", "tool": "review_work", "arguments": {"answer": "tests"}, "intent": "PLAN"}
UNREVIEWED = ["planning", "exploring", "validating", "reviewing"]


@pytest.mark.parametrize("mode", [Mode.EXPLORE, Mode.DEBUG], ids=str)
async def test_FLW_14_a_commit_without_tests_goes_through_its_review_and_says_so(make_bench: Any, mode: Mode) -> None:
    asker = Answering()
    bench = await explored(make_bench, READ, WRITE_CODE, COMMIT, asker=asker, mode=mode)
    assert failures(bench) == []
    assert states(bench) == [*UNREVIEWED, "committing", "idle"]
    (question,) = commit_questions(asker)
    assert question.reasons[0].reason == SAYS.no_test_was_run_since
    triggers = [r.event.metadata.get("trigger") for r in bench.audit() if r.event.kind is AuditKind.STATE_TRANSITION]
    assert triggers[2:] == ["untested", "untested", "approved", "committed"]
    assert subjects(bench)[0] == "Say None of a bad line"


async def test_FLW_14_after_tests_that_pass_the_question_says_nothing_of_it(make_bench: Any) -> None:
    asker = Answering()
    bench = await explored(make_bench, READ, WRITE_CODE, RUN, COMMIT, asker=asker)
    assert failures(bench) == []
    (question,) = commit_questions(asker)
    assert all(SAYS.no_test_was_run not in reason.reason for reason in question.reasons)


async def test_FLW_14_changes_of_the_person_s_own_are_committed_on_request(make_bench: Any) -> None:
    """The session has changed nothing itself, but a commit may contain anybody's changes."""
    bench = await explored(make_bench, READ, DONE, COMMIT)
    (bench.workspace / "config.py").write_text(BETTER)
    await bench.ask("commit what I have done")
    assert failures(bench) == []
    assert states(bench)[-1] == "idle"
    assert subjects(bench)[0] == "Say None of a bad line"


async def test_FLW_14_tests_that_the_person_wants_come_before_the_commit(make_bench: Any) -> None:
    asker = Answering()
    asker.before = lambda: setattr(asker, "decision", "deny" if asker.asked[-1].tool == "git_commit" else "allow")
    steps = [READ, WRITE_CODE, COMMIT, DONE, COMMIT, READ, WRITE_CODE, WRITE_TEST, RUN, DONE, COMMIT]
    bench = await explored(make_bench, *steps, asker=asker)
    assert states(bench) == UNREVIEWED
    await bench.ask(ASKED_FOR, "write tests first")
    _, early, code = failures(bench)
    assert "workflow.commit-after-tests" in early
    assert "workflow.tests-afterwards" in code
    assert states(bench)[4:] == ["retroactive_testing", "validating", "reviewing"]
    await bench.ask(review_call("approve"), "commit it", asker=Answering(decision="deny"))
    assert states(bench)[-2:] == ["committing", "idle"]
    assert subjects(bench)[0] == "Say None of a bad line"


async def test_FLW_14_a_person_can_change_their_mind_about_tests(make_bench: Any) -> None:
    asker = Answering()
    asker.before = lambda: setattr(asker, "decision", "deny" if asker.asked[-1].tool == "git_commit" else "allow")
    bench = await explored(make_bench, READ, WRITE_CODE, COMMIT, asker=asker)
    await bench.ask(ASKED_FOR)
    await bench.ask(review_call("reject"))
    assert states(bench)[-2:] == ["retroactive_testing", "idle"]


async def test_FLW_14_strict_mode_knows_no_tests_afterwards(make_bench: Any) -> None:
    bench = await strict(make_bench, READ, PLAN, WRITE_TEST, RUN, WRITE_CODE, RUN)
    await bench.ask(ASKED_FOR)
    assert states(bench)[-1] == "reviewing"
    assert SAYS.the_workflow_stays_where_it in failures(bench)[-1]


async def test_THR_workflow_a_condensed_conversation_is_held_to_the_same_state_and_is_told_it(
    make_bench: Any, tmp_path: Path
) -> None:
    long = "word " * 1_500
    record = tmp_path / "traffic.jsonl"
    steps = [READ, PLAN, DONE, *[{"text": long}] * 8, WRITE_CODE]
    bench = await strict(make_bench, *steps, record=record, context_tokens=6_000)
    for number in range(8):
        await bench.ask(f"turn {number} {long}")
    assert bench.of("context_condensed")
    await bench.ask("now the code")
    (refused,) = failures(bench)
    assert "only tests are written" in refused
    assert (bench.workspace / "config.py").read_text() == SOURCE
    (*_, last) = (
        line["request"] for line in map(json.loads, record.read_text().splitlines()) if line["kind"] == "request"
    )
    assert "strict mode, state test_writing" in json.dumps(last["messages"])
