"""A session that another process resumes is in the state that the audit log says, whatever else says (FLW-12)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

from remit_governance.audit.record import AuditKind
from remit_governance.workflow.states import Mode
from remit_server.chat.lines import read_line
from remit_server.chat.replies import Chat

SUPPORT = Path(__file__).parents[2] / "support"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

PROJECT = PROJECTS["unittest"]
TEST = write(PROJECT.test, PROJECT.new_test)
CODE = write(PROJECT.source, PROJECT.new_source)
READ = read(PROJECT.source, PROJECT.test)
UP_TO: dict[str, tuple[Any, ...]] = {
    "test_writing": (PLAN, TEST),
    "code_writing": (PLAN, TEST, RUN),
    "reviewing": (PLAN, TEST, RUN, CODE, RUN),
}


async def stood(make_bench: Any, where: str, mode: Mode = Mode.STRICT) -> Bench:
    """Makes a session that reached the state `where`, and ends its process."""
    bench = await begin(make_bench, PROJECT, READ, *UP_TO[where], DONE)
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == where
    await bench.runtime.close()
    assert mode is Mode.STRICT
    return bench


async def again(make_bench: Any, *steps: Any, mode: Mode = Mode.STRICT) -> Bench:
    """Starts another process in the same workspace, which has not run a turn yet."""
    bench: Bench = await make_bench(*steps, DONE, mode=mode)
    (bench.workspace / "a.py").unlink()
    return bench


def warnings(bench: Bench) -> list[str]:
    return [event.message for event in bench.of("warning")]


def failures(bench: Bench) -> list[str]:
    return [event.output for event in bench.of("tool_result") if not event.ok]


def session_file(bench: Bench) -> Path:
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    return path


async def test_FLW_12_a_proof_holds_in_the_next_process_and_the_work_goes_on(make_bench: Any) -> None:
    await stood(make_bench, "code_writing")
    bench = await again(make_bench, READ, CODE, RUN)
    await bench.ask("go on")
    assert failures(bench) == []
    assert warnings(bench) == []
    assert [event.state for event in bench.of("state_changed")] == ["code_writing", "validating", "reviewing"]


async def test_FLW_12_tests_that_were_written_before_a_restart_are_still_new(make_bench: Any) -> None:
    await stood(make_bench, "test_writing")
    bench = await again(make_bench, RUN, READ, CODE)
    await bench.ask("go on")
    assert failures(bench) == []
    assert state(bench) == "code_writing"


async def test_FLW_12_work_under_review_can_be_approved_after_a_restart(make_bench: Any) -> None:
    await stood(make_bench, "reviewing")
    bench = await again(make_bench)
    approve = {"type": "call", "tool": "review_work", "arguments": {"answer": "approve"}, "intent": "PLAN"}
    assert (await bench.ask(approve)).status == "completed"
    assert failures(bench) == []
    assert state(bench) == "committing"


async def test_FLW_12_where_a_session_stands_is_known_before_its_first_turn(make_bench: Any) -> None:
    await stood(make_bench, "reviewing")
    bench = await again(make_bench)
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "new")
    assert "strict mode, state reviewing" in (await read_line(chat, "/status")).text
    assert [part.type for part in (await read_line(chat, "/approve")).parts] == ["call", "text"]
    await bench.runtime.recall("another")
    assert bench.runtime.status("another").state == "idle"


async def test_FLW_12_a_place_is_audited_with_its_digest_and_only_what_leads_on_is_a_transition(
    make_bench: Any,
) -> None:
    first = await stood(make_bench, "code_writing")
    moves = [r.event for r in first.audit() if r.event.kind is AuditKind.STATE_TRANSITION]
    assert all(event.metadata["position"].startswith("sha256:") for event in moves)
    bench = await again(make_bench)
    await bench.ask("go on")
    assert [r.event for r in bench.audit() if r.event.kind is AuditKind.STATE_TRANSITION] == moves


def edit_test(workspace: Path) -> None:
    (workspace / PROJECT.test).write_text(PROJECT.old_test)


def configure_runner(workspace: Path) -> None:
    (workspace / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-q'\n")


@pytest.mark.parametrize("where", ["code_writing", "reviewing"])
@pytest.mark.parametrize("change", [edit_test, configure_runner])
async def test_FLW_12_a_proof_of_tests_that_changed_meanwhile_is_dropped_and_it_is_said_why(
    make_bench: Any, where: str, change: Callable[[Path], None]
) -> None:
    first = await stood(make_bench, where)
    change(first.workspace)
    before = (first.workspace / PROJECT.source).read_text()
    bench = await again(make_bench, READ, write(PROJECT.source, "total = None\n"))
    await bench.ask("go on")
    assert [event.state for event in bench.of("state_changed")] == ["idle", "planning"]
    assert SAYS.are_not_as_they_were in warnings(bench)[0]
    assert "workflow.nothing-is-written" in failures(bench)[0]
    assert (bench.workspace / PROJECT.source).read_text() == before


async def test_FLW_12_code_that_changed_after_all_tests_passed_leads_back_to_the_code(make_bench: Any) -> None:
    first = await stood(make_bench, "reviewing")
    (first.workspace / PROJECT.source).write_text(PROJECT.new_source + "\nopen('x')\n")
    bench = await again(make_bench)
    approve = {"type": "call", "tool": "review_work", "arguments": {"answer": "approve"}, "intent": "PLAN"}
    await bench.ask(approve)
    assert [event.state for event in bench.of("state_changed")] == ["code_writing"]
    assert f"when all tests passed: {PROJECT.source}" in warnings(bench)[0]
    assert SAYS.cannot_be_used_now in failures(bench)[0]


async def test_FLW_12_a_mode_that_is_asked_for_meanwhile_is_never_loosened(make_bench: Any) -> None:
    first: Bench = await make_bench(write("b.py", "x = 1\n"), DONE, mode=Mode.EXPLORE)
    await first.ask("make it")
    assert state(first) == "exploring"
    await first.runtime.close()
    bench = await again(make_bench, write("c.py", "x = 1\n"))
    await bench.ask("go on")
    assert "held to strict mode" in warnings(bench)[0]
    assert not (bench.workspace / "c.py").exists()
    assert (bench.of("state_changed")[-1].mode, state(bench)) == ("strict", "planning")


async def test_FLW_12_a_session_of_strict_mode_stays_strict_whatever_is_configured_now(make_bench: Any) -> None:
    await stood(make_bench, "code_writing")
    bench = await again(make_bench, write(PROJECT.test, "x = 1\n"), mode=Mode.EXPLORE)
    await bench.ask("go on")
    assert bench.of("state_changed")[0].mode == "strict"
    assert "workflow.tests-are-locked" in failures(bench)[0]


async def test_FLW_12_another_process_that_went_on_is_followed(make_bench: Any) -> None:
    """Two processes use one session: each continues from the state that the other has left."""
    one = await begin(make_bench, PROJECT, READ, *UP_TO["code_writing"], DONE, DONE)
    await one.ask("Say what the total of nothing is")
    two = await again(make_bench, DONE)
    modes = [
        {"type": "call", "tool": "set_mode", "arguments": {"mode": m}, "intent": "PLAN"} for m in ("explore", "strict")
    ]
    await two.ask(*modes)
    await one.ask("go on")
    assert state(one) == "planning"


async def test_FLW_12_a_copy_of_a_session_has_proven_nothing(make_bench: Any) -> None:
    await stood(make_bench, "code_writing")
    bench = await again(make_bench, READ, CODE)
    folder = bench.runtime.sessions
    folder.fork(folder.find("last"), "copy", "2026-01-01T00:00:00.000Z")
    await bench.ask("go on", session="copy")
    assert state(bench) == "planning"
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source


def forge_state(path: Path, contents: Path) -> None:
    path.write_text(path.read_text().replace('"state":"test_writing"', '"state":"code_writing"'))


def forge_exemption(path: Path, contents: Path) -> None:
    lines = path.read_text().splitlines()
    last = next(line for line in reversed(lines) if '"type":"workflow"' in line)
    record = json.loads(last)
    record["position"] |= {
        "state": "exploring",
        "exemption": {"category": "config_change", "paths": [PROJECT.source]},
    }
    path.write_text("\n".join([*lines, json.dumps(record)]) + "\n")


def forge_mode(path: Path, contents: Path) -> None:
    lines = [line.replace('"mode":"strict"', '"mode":"debug"') for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")


def take_the_places_out(path: Path, contents: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if '"type":"workflow"' not in line]
    path.write_text("\n".join(lines) + "\n")


def damage_the_tests(path: Path, contents: Path) -> None:
    """Empties the kept contents of the tests, so that all tests would count as new."""
    for kept in contents.glob("*/*"):
        kept.write_bytes(b"")


def another_version(path: Path, contents: Path) -> None:
    path.write_text(path.read_text().replace('"position":{"version":1', '"position":{"version":2'))


def half_a_line(path: Path, contents: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b'"type":"workflow"')])


FORGERIES = [
    forge_state,
    forge_exemption,
    forge_mode,
    take_the_places_out,
    damage_the_tests,
    another_version,
    half_a_line,
]


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("mode", [Mode.STRICT, Mode.EXPLORE], ids=str)
async def test_THR_workflow_what_is_kept_opens_nothing_that_the_audit_log_does_not_have(
    make_bench: Any, forge: Callable[[Path, Path], None], mode: Mode
) -> None:
    first = await stood(make_bench, "test_writing")
    forge(session_file(first), first.settings.session_folder / "contents")
    steps = (READ, CODE) if forge is forge_exemption else (READ, RUN, CODE)
    bench = await again(make_bench, *steps, mode=mode)
    await bench.ask("go on")
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source
    assert bench.of("state_changed")[-1].mode == "strict"
    if forge is not forge_exemption:  # that file still has the place that the audit log names
        assert state(bench) == "planning"
        assert any("starts over, in strict mode" in said for said in warnings(bench))


async def test_THR_workflow_a_place_of_before_is_not_taken_up_a_second_time(make_bench: Any) -> None:
    """The file gets a copy of an earlier line at its end, after the work has gone on."""
    first = await stood(make_bench, "reviewing")
    path = session_file(first)
    lines = path.read_text().splitlines()
    old = next(line for line in lines if '"state":"code_writing"' in line)
    path.write_text("\n".join([*lines, old]) + "\n")
    bench = await again(make_bench)
    await bench.ask({"type": "call", "tool": "review_work", "arguments": {"answer": "reject"}, "intent": "PLAN"})
    assert [event.state for event in bench.of("state_changed")] == ["reviewing", "code_writing"]


async def test_THR_workflow_a_model_cannot_write_what_is_kept(make_bench: Any) -> None:
    first = await stood(make_bench, "test_writing")
    path, kept = session_file(first), session_file(first).read_bytes()
    relative = Path("..") / path.relative_to(first.workspace.parent)
    tries = [
        write(str(relative), "{}\n"),
        write(str(path), "{}\n"),
        {"calls": [intent("EXECUTE"), call("run_command", command=f"echo '{{}}' > {path}")]},
        {"calls": [intent("EXECUTE"), call("run_command", command=f"rm -f {path}; mv . {path}")]},
    ]
    bench = await again(make_bench, *tries)
    await bench.ask("go on")
    assert session_file(bench) == path
    assert path.read_bytes().startswith(kept)
    assert len(bench.of("tool_result")) >= len(tries)


def test_FLW_12_killed_at_each_step_of_a_transition_it_stands_where_the_audit_log_says(tmp_path: Path) -> None:
    """THR-storage-kill-workflow: it is in the old state or in the new one, with everything that was proven."""
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "workflow_killed.py"), str(tmp_path)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["tests"] > 20, found
    assert found["code"] > 5, found
    assert found["validating"] > 0, found
