"""Approvals of a running server whose client lies, repeats itself, does not answer or disconnects, and of a command
line that has nobody to ask (APP-01)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench
from command_line import REMIT, CommandLine
from lsp_pipe import Json
from messages import SAYS
from running_server import RunningServer
from threat_bench import own, result

from remit_governance.policy.language.compile import Source, compile_policy

pytestmark = pytest.mark.slow

ASKS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }
  - { name: runs, match: { syscall: process.exec }, action: require_review }
"""


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that asks before every change, shared by all tests of this file."""
    with RunningServer(tmp_path_factory.mktemp("asking"), ASKS) as running:
        yield running


def _begin(server: RunningServer, turn: str, path: str, session: str = "s") -> tuple[int, Json]:
    """Starts a write and waits until the server asks about it."""
    params = {
        "session_id": session,
        "turn_id": turn,
        "input": own("write_file", path=path, content=path),
        "partialResultToken": "stream",
    }
    number = server.client.request("remit/run", params)
    return number, server.client.event("approval_required", turn)


def _answer(server: RunningServer, **answer: Any) -> Json:
    receipt: Json = server.client.result(server.client.request("remit/approval/respond", answer))
    return receipt


def test_THR_approvals_ids_count_once_and_for_their_own_question(asking: RunningServer) -> None:
    """THR-approvals-replayed-id, THR-approvals-crossed-id, THR-approvals-used-twice, THR-approvals-unknown-id, over the
    wire: each such answer is refused with a reason, and the two questions end as they were really answered."""
    _, one = _begin(asking, "1", "one.py", "first")
    _, two = _begin(asking, "2", "two.py", "second")
    crossed = _answer(asking, approval_id=one["approval_id"], decision="allow", digest=two["digest"])
    assert crossed == {"accepted": False, "reason": SAYS.this_answer_belongs_to_another}
    assert not _answer(asking, approval_id="x" * 40, decision="allow")["accepted"]
    assert not _answer(asking, approval_id=one["approval_id"], decision="allow", scope="session", digest="x")[
        "accepted"
    ]
    assert _answer(asking, approval_id=two["approval_id"], decision="allow", digest=two["digest"])["accepted"]
    for decision in ("allow", "deny"):
        assert not _answer(asking, approval_id=two["approval_id"], decision=decision)["accepted"]
    assert _answer(asking, approval_id=one["approval_id"], decision="deny")["accepted"]
    assert not _answer(asking, approval_id=one["approval_id"], decision="allow")["accepted"]
    _, three = _begin(asking, "3", "three.py", "first")
    assert not _answer(asking, approval_id=one["approval_id"], decision="allow", digest=three["digest"])["accepted"]
    assert three["approval_id"] not in {one["approval_id"], two["approval_id"]}
    made = [name for name in ("one.py", "two.py", "three.py") if (asking.workspace / name).exists()]
    assert made == ["two.py"]


def test_THR_approvals_one_no_leaves_other_questions_open(asking: RunningServer) -> None:
    """THR-approvals-one-rejection: three turns ask at once, and a no to one of them does not answer the others."""
    asked = [_begin(asking, str(n), f"{n}.py", f"session-{n}") for n in range(3)]
    for n, (_, question) in enumerate(asked):
        decision = "deny" if n == 0 else "allow"
        assert _answer(asking, approval_id=question["approval_id"], decision=decision)["accepted"]
    for n in range(3):  # a session starts its next turn only after the one before has ended
        _begin(asking, f"next-{n}", "x.py", f"session-{n}")
    assert [n for n in range(3) if (asking.workspace / f"{n}.py").exists()] == [1, 2]


@pytest.mark.slow
def test_THR_approvals_no_answer_in_time_is_a_no(tmp_path: Path) -> None:
    """THR-approvals-expired-id: an answer that comes after the time-out is not accepted either."""
    with RunningServer(tmp_path, ASKS, REMIT_APPROVAL_TIMEOUT_S="0.4") as running:
        _, question = _begin(running, "1", "late.py")
        assert running.client.event("tool_result")["error"]["code"] == "approval_expired"
        assert not _answer(running, approval_id=question["approval_id"], decision="allow")["accepted"]
        assert list(running.workspace.iterdir()) == []


def test_THR_approvals_a_client_that_goes_away_has_said_no(tmp_path: Path) -> None:
    """THR-approvals-lost-client: the client disconnects while a question is open."""
    with RunningServer(tmp_path, ASKS) as running:
        _begin(running, "1", "lost.py")
        running.client.hang_up()
        assert list(running.workspace.iterdir()) == []


def test_THR_approvals_a_script_rewritten_while_a_running_server_asks(asking: RunningServer) -> None:
    """THR-approvals-rewritten-script: a script that changed after the question was asked is not run."""
    script = asking.workspace / "run.sh"
    script.write_text("echo good\n")
    number = asking.client.run("script", own("run_command", command="sh run.sh"))
    question = asking.client.event("approval_required", "script")
    script.write_text("echo evil\n")
    asking.client.request("remit/approval/respond", {"approval_id": question["approval_id"], "decision": "allow"})
    assert asking.client.event("tool_result", "script")["error"]["code"] == "stale"
    asking.client.result(number)


SHELLS = {"/usr/bin/bash", "/bin/bash", "/bin/sh"}

HIDING = {
    "THR-approvals-hidden-newline": "true\nrm -rf x",
    "THR-approvals-hidden-escape": "true\x1b[2K\x1b[1Arm -rf x",
    "THR-approvals-hidden-bidi": "true \u202ex fr- mr",
    "THR-approvals-hidden-zero-width": "r\u200bm x",
}


@pytest.mark.parametrize("name", HIDING)
def test_THR_approvals_a_running_server_spells_out_what_would_hide(name: str, asking: RunningServer) -> None:
    (question,) = asking.call("run_command", command=HIDING[name]).questions
    raw = {character for character in HIDING[name] if not (character.isascii() and character.isprintable())}
    for text in (question["title"], *question["argv"]):
        assert not raw & set(text)
        assert "U+" in text or SAYS.more_shown_below in text or text in {*SHELLS, "-c"}
    assert not raw & set(question["command"]) - {"\n"}  # the lines of the command are shown as separate lines


WRITE = ("run-tool", "write_file", '{"path": "new.py", "content": "x"}', "--intent", "CODE")


@pytest.mark.slow
@pytest.mark.parametrize("stdin", ["closed", "open", "nonsense"])
def test_THR_approvals_headless_asking_ends_at_once(stdin: str, tmp_path: Path) -> None:
    """THR-approvals-headless: the call is denied at once, even if standard input is a pipe that nobody ever writes
    to."""
    (tmp_path / "shop").mkdir()
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    reading, writing = os.pipe()
    if stdin == "nonsense":
        os.write(writing, b"y\nyes\nallow\n" * 10)
    if stdin == "closed":
        os.close(writing)
    for words in (WRITE, (*WRITE, "--json"), (*WRITE, "--approve", "ask"), (*WRITE, "--approve", "never")):
        done = subprocess.run(
            [str(REMIT), *words],
            cwd=remit.workspace,
            env=remit.environment,
            stdin=reading,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 3, done.stderr
    os.close(reading)
    if stdin != "closed":
        os.close(writing)
    assert list(remit.workspace.iterdir()) == []


async def test_THR_approvals_a_session_answer_never_outranks_a_deny(make_bench: Any) -> None:
    """THR-approvals-session-deny: a new deny rule also denies what the person had allowed for the session."""
    bench: Bench = await make_bench(policy=ASKS)
    asker = Answering(scope="session")
    for content in ("one", "two"):
        assert (await result(bench, "write_file", asker, path="b.py", content=content)).ok
    assert len(asker.asked) == 1
    denies = ASKS + "  - { name: no-b, match: { syscall: fs.write, path_glob: [b.py] }, action: deny }\n"
    rulebook = bench.runtime.dispatcher.parts.rulebook
    rulebook.replace(compile_policy([Source("p", denies)]), rulebook.permissions)
    answer = await result(bench, "write_file", asker, path="b.py", content="three")
    assert (answer.error.code, answer.rules, len(asker.asked)) == ("denied", ("no-b",), 1)
    assert (bench.workspace / "b.py").read_text() == "two"


async def test_THR_approvals_what_a_session_remembers_is_what_was_shown(make_bench: Any) -> None:
    """THR-approvals-session-exact: the answer covers writes of that file only, not other names and not commands on
    it."""
    bench: Bench = await make_bench(policy=ASKS)
    asker = Answering(scope="session")
    await result(bench, "write_file", asker, path="src/b.py", content="x")
    assert asker.asked[0].session_rule is not None
    assert "src/b.py" in asker.asked[0].session_rule
    for path in ("src/c.py", "src/b.pyc", "b.py", "src/b.py/x", "src/B.py"):
        denying = Answering("deny")
        assert not (await result(bench, "write_file", denying, path=path, content="x")).ok
        assert not (bench.workspace / path).exists()
        assert len(denying.asked) == (path != "src/b.py/x")  # nothing can be written below a file, so nobody is asked
    denying = Answering("deny")
    assert not (await result(bench, "run_command", denying, command="cat src/b.py")).ok
    assert len(denying.asked) == 1
