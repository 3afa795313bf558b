"""A command that the person typed runs without asking whether they want it (APP-17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, call, intent

from remit_governance.audit.record import AuditKind
from remit_server.chat.lines import read_line
from remit_server.chat.replies import Chat
from remit_server.tools.run.command_parts import choose_seconds
from remit_server.tools.run.run_command import RunCommandArguments
from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments

pytestmark = pytest.mark.slow


def typed(command: str, **more: Any) -> dict[str, Any]:
    arguments = {"command": command, **more}
    return {"type": "call", "tool": "run_command", "arguments": arguments, "intent": "EXECUTE", "typed": True}


async def test_APP_17_it_runs_and_its_files_are_taken_over(make_bench: Any) -> None:
    bench = await make_bench()
    asker = Answering("deny")
    result = await bench.ask(typed("echo 1 > made.txt; echo seen"), asker=asker)
    assert asker.asked == []
    assert (bench.workspace / "made.txt").read_text() == "1\n"
    assert "seen" in bench.of("tool_result")[0].output
    assert result.status == "completed"


async def test_APP_17_what_is_not_typed_is_asked_about(make_bench: Any) -> None:
    bench = await make_bench()
    asker = Answering("deny")
    await bench.ask({**typed("true"), "typed": False}, {**typed("true"), "by": "model"}, asker=asker)
    assert [question.title for question in asker.asked] == ["run true", "run true"]


async def test_APP_17_its_result_says_that_the_person_allowed_it(make_bench: Any) -> None:
    bench = await make_bench()
    await bench.ask(typed("true"), asker=Answering("deny"))
    answer = bench.of("tool_result")[0].answer
    assert (answer.decision, answer.by, bench.of("approval_required")) == ("allow", "person", [])


DENIES = """
version: 1
capabilities:
  - { name: no-rm, match: { syscall: process.exec, command: rm }, action: deny, reason: "nothing is removed" }
  - { name: each, match: { syscall: process.exec, command: touch }, action: require_review, standing_answer: false, reason: "each" }
  - { name: run, match: { syscall: process.exec }, action: require_review, reason: "asked" }
  - { name: write, match: { syscall: fs.write }, action: require_review, reason: "asked" }
  - { name: keep, match: { syscall: fs.write, path_glob: ["kept/**"] }, action: deny, reason: "stays" }
  - { name: read, match: { syscall: [fs.read, fs.list] }, action: allow, reason: "read" }
"""


@pytest.mark.parametrize(
    ("command", "code", "asked"),
    [
        ("rm a.py", "denied", 0),
        ("touch x", "approval_denied", 1),
        ("echo 1 > kept/x", "denied", 0),
        ("echo 1 > conftest.py", None, 1),
    ],
)
async def test_APP_17_a_deny_and_what_is_asked_each_time_go_before_it(
    make_bench: Any, command: str, code: str | None, asked: int
) -> None:
    bench = await make_bench(policy=DENIES)
    (bench.workspace / "kept").mkdir()
    asker = Answering("deny")
    await bench.ask(typed(command), asker=asker)
    (ended,) = bench.of("tool_result")
    assert (ended.error.code if ended.error else None, len(asker.asked)) == (code, asked)
    assert {path.name for path in bench.workspace.rglob("*")} & {"x", "conftest.py"} == set()
    assert (bench.workspace / "a.py").exists()


ALLOWS = """
version: 1
capabilities:
  - { name: run, match: { syscall: process.exec }, action: allow, reason: "all may run" }
  - { name: files, match: { syscall: [fs.read, fs.list, fs.write] }, action: allow, reason: "all may be done" }
"""


@pytest.mark.parametrize("text", ["!touch taken\n", "\n !touch taken\n", "$ARGUMENTS\n"])
@pytest.mark.parametrize("own", [False, True])
async def test_APP_17_what_a_prompt_says_is_a_message_and_no_command(make_bench: Any, text: str, own: bool) -> None:
    bench = await make_bench(policy=ALLOWS)
    folder = bench.settings.person_policy.parent if own else bench.workspace / ".remit"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "look.md").write_text(text)
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "another")
    lines = [await read_line(chat, "/look !touch taken") for _ in range(2)]
    (part,) = lines[-1].parts
    assert (part.type, part.model_dump()["text"].splitlines()[0]) == ("text", "!touch taken")
    await bench.ask(part.model_dump(mode="json"))
    assert not (bench.workspace / "taken").exists()


async def test_APP_17_it_may_reach_the_hosts_that_the_person_names_and_a_models_may_not(make_bench: Any) -> None:
    bench = await make_bench()
    asker = Answering("deny")
    hosts = typed("echo reached", network=["example.org"])
    await bench.ask(hosts, {**hosts, "typed": False}, {**hosts, "by": "model"}, asker=asker)
    own, asked, other = bench.of("tool_result")
    assert (own.ok, own.error) == (True, None)
    assert (asked.error.code, len(asker.asked), asker.asked[0].hosts) == ("approval_denied", 1, ("example.org",))
    assert other.error.code == "denied"


@pytest.mark.parametrize(
    ("limit", "arguments", "typed_by_person", "seconds"),
    [
        (600, {}, False, 60),
        (600, {}, True, 600),
        (600, {"timeout": 300}, False, 300),
        (600, {"timeout": 5}, True, 5),
        (30, {}, False, 30),
        (30, {}, True, 30),
        (1800, {"timeout": 1800}, False, 1800),
    ],
)
def test_BOX_04_a_command_has_the_seconds_it_names_or_the_usual_within_what_the_person_allows(
    tmp_path: Path, limit: int, arguments: dict[str, int], typed_by_person: bool, seconds: int
) -> None:
    asked = RunCommandArguments.model_validate({"command": "true", **arguments})
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(
            workspace, NoDocuments(), {}, lambda *_: True, str, command_limit_s=limit, typed=typed_by_person
        )
        assert choose_seconds(asked, asked.timeout, ctx) == seconds


@pytest.mark.parametrize("tool", ["run_command", "run_tests"])
async def test_BOX_04_more_seconds_than_the_person_allows_are_refused_with_how_many_there_are(
    make_bench: Any, tool: str
) -> None:
    bench = await make_bench(policy=ALLOWS, command_timeout_s=30)
    arguments = {"timeout": 31, **({"command": "touch ran"} if tool == "run_command" else {})}
    await bench.ask({**typed(""), "tool": tool, "typed": False, "arguments": arguments})
    (ended,) = bench.of("tool_result")
    assert (ended.error.code, (bench.workspace / "ran").exists()) == ("invalid_arguments", False)
    assert "30" in ended.error.fix


@pytest.mark.parametrize(
    ("limit", "by_person", "says"),
    [
        (1, True, "you can raise `limits.command_timeout_s`"),
        (9, True, "--timeout 9"),
        (9, False, "`timeout`: 9"),
    ],
)
async def test_BOX_04_what_is_stopped_at_its_time_has_failed_and_says_what_it_had_and_how_it_gets_more(
    make_bench: Any, limit: int, by_person: bool, says: str
) -> None:
    bench = await make_bench(policy=ALLOWS, command_timeout_s=limit)
    result = await bench.ask({**typed("echo begun; sleep 60", timeout=1), "typed": by_person})
    (ended,) = bench.of("tool_result")
    assert (ended.ok, ended.error.code, ended.exit_code, ended.data["timed_out"]) == (False, "timed_out", None, True)
    assert "1 s" in ended.error.why
    assert says in ended.error.fix
    for told in (ended.error.why, "begun", "fix: "):
        assert told in ended.output
    assert "you can" not in ended.output, "what a model reads of it speaks of the person"
    assert result.status == "failed"


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        ("for i in $(seq 200); do sleep 60 & done; wait", "processes"),
        pytest.param('yes "$(printf "%09000d" 0)"', "bytes of output", marks=pytest.mark.slow),
    ],
)
async def test_BOX_04_what_is_stopped_at_another_limit_has_failed_and_names_it(
    make_bench: Any, command: str, limit: str
) -> None:
    step = {"calls": [intent("EXECUTE"), call("run_command", command=command)]}
    bench = await make_bench(step, {"text": "All is well."}, policy=ALLOWS)
    result = await bench.ask("go")
    (ended,) = bench.of("tool_result")
    assert (ended.ok, ended.error.code, ended.exit_code, ended.data["timed_out"]) == (False, "stopped", None, False)
    assert limit in ended.error.why
    assert (result.status, ended.summary in (result.reason or "")) == ("completed", True)
    (outcome,) = [each.event for each in bench.audit() if each.event.kind is AuditKind.TOOL_OUTCOME]
    assert (outcome.deny_reason, outcome.exit_code) == (ended.summary, None)
