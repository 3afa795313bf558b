"""The process of a person's own rules is limited, restarted, and never trusted (EXT-01)."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rule_programs import PATIENT_S, need_sandbox, rule

from remit_governance.errors import ExtensionError, PolicyError
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.extension import ExtensionRule, with_extension
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Decision, Verdict
from remit_server.extensions.host import WITHIN_S, ExtensionHost, Failures

pytestmark = pytest.mark.slow

ALL = compile_policy([Source("p", "version: 1\ncapabilities:\n  - { name: all, match: {}, action: allow }\n")])
Running = Callable[..., tuple[ExtensionHost, Policy]]


@pytest.fixture
def running() -> Iterator[Running]:
    """Returns a function that starts the host of some rules, with a policy that otherwise allows everything."""
    need_sandbox()
    hosts: list[ExtensionHost] = []

    def start(*rules: ExtensionRule, call_s: float = PATIENT_S) -> tuple[ExtensionHost, Policy]:
        host = ExtensionHost(rules, Path("/nowhere"), call_s)
        hosts.append(host)
        host.check()
        return host, with_extension(ALL, rules, host.ask)

    yield start
    for host in hosts:
        host.close()


def about(policy: Policy, path: str) -> Decision:
    return evaluate(policy, Action("fs.write", path=path))


def below(pid: int) -> list[int]:
    """Returns the processes that descend from this one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, pending = [], [pid]
    while pending:
        found += (more := children.get(pending.pop(), []))
        pending += more
    return found


def programs() -> list[int]:
    """Returns the processes of this one's sandboxed rules, including those that hold the sandbox."""
    found = []
    for pid in below(os.getpid()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"/program.py" in words:
            found.append(pid)
    return found


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_rule_that_takes_too_long_denies_and_the_next_call_is_answered(running: Running) -> None:
    slow = """
        import time
        def rule(action):
            if action["path"] == "slow":
                time.sleep(1000)
            if action["path"] == "busy":
                while True: pass
            return "pass"
    """
    host, policy = running(rule(slow), call_s=0.5)
    for path in ("slow", "busy"):
        decision = about(policy, path)
        assert decision.verdict is Verdict.DENY
        assert decision.deciding.code == "extension_failed"
        assert "`extension.rule` judged this action: it took too long (limit: 500 ms)" in decision.deciding.message
        host._failures = Failures()
    until(lambda: about(policy, "fine").allowed)


# What a rule does, and the words of its deny.
HOSTILE = {
    "exits": ("os._exit(3)", "it ended"),
    "kills itself": ("os.kill(os.getpid(), 9); os._exit(9)", "it ended"),
    "crashes": ("ctypes.string_at(0)", "it ended"),
    "closes its pipes": ("os.closerange(3, 32)", "it ended"),
    "writes without end": (
        "[os.write(fd, b'x' * 65536) for _ in iter(int, 1) for fd in fds]",
        "its answer is too long",
    ),
    "writes half an answer": ("[os.write(fd, b'\\0\\0\\0\\x50{') for fd in fds]; time.sleep(100)", "it took too long"),
    "writes no JSON": ("[os.write(fd, b'\\0\\0\\0\\x02{{') for fd in fds]", "what it sent is not an answer"),
    "writes a deep answer": (
        "[os.write(fd, b'\\0\\0\\xc3\\x50' + b'[' * 50000) for fd in fds]",
        "what it sent is not an answer",
    ),
    "answers another question": (
        '[os.write(fd, struct.pack(\'>I\', len(a)) + a) for a in [b\'{"id":"1","answer":[]}\'] for fd in fds]',
        "it sent an answer without a question",
    ),
}
BODY = """
    import ctypes, os, struct, time
    def rule(action):
        if action["path"] != "hostile":
            return "pass"
        fds = []
        for fd in range(3, 32):
            try:
                os.write(fd, b"")
                fds.append(fd)
            except OSError:
                pass
        {act}
        return "allow"
"""


@pytest.mark.parametrize("act", HOSTILE)
def test_a_rule_that_breaks_its_process_denies_and_the_next_call_is_answered(running: Running, act: str) -> None:
    code, said = HOSTILE[act]
    _, policy = running(rule(BODY.format(act=code)), call_s=0.5 if "long" in said else PATIENT_S)
    decision = about(policy, "hostile")
    assert decision.verdict is Verdict.DENY
    assert said in decision.deciding.message
    assert about(policy, "fine").allowed


def test_an_answer_that_nobody_asked_for_is_noticed_before_the_next_question(running: Running) -> None:
    chatty = """
        import os, threading, time
        def rule(action):
            def speak():
                time.sleep(0.1)
                os.write(4, b"\\0\\0\\0\\x02{}")
            threading.Thread(target=speak).start()
            return "pass"
    """
    host, policy = running(rule(chatty))
    before = programs()
    until(lambda: not host._process or not host._process.sound)
    assert about(policy, "a").allowed
    assert programs() != before


def test_what_a_rule_prints_and_reads_is_not_the_conversation(running: Running) -> None:
    talks = """
        import sys
        print("top level", flush=True)
        def rule(action):
            print("x" * 100_000, flush=True)
            print("error", file=sys.stderr, flush=True)
            return "deny", sys.stdin.read() or "nothing to read"
    """
    _, policy = running(rule(talks))
    assert about(policy, "a").deciding.message == "nothing to read"


FAILING = {
    "return action['nothing']": "the rule failed: KeyError: 'nothing' (line ",
    "return 'maybe'": "the rule failed: it returned none of `allow`, `deny`, `pass`, `require_review`",
    "return None": "the rule failed: it returned none of",
    "return 'allow', 'a', 'b'": "the rule failed: it returned none of",
    "return 'allow', 3": "the rule failed: it returned none of",
    "return ['allow']": "the rule failed: it returned none of",
    "raise SystemExit(0)": "the rule failed: SystemExit: 0 (line ",
    "return rule(action)": "the rule failed: RecursionError",
    "return 'deny', bytearray(10**9)": "the rule failed: MemoryError",
}


def test_a_rule_that_fails_denies_under_its_own_name_and_place(running: Running) -> None:
    branches = "".join(f"    if action['path'] == '{i}':\n        {body}\n" for i, body in enumerate(FAILING))
    _, policy = running(rule(f"def rule(action):\n{branches}    return 'pass'\n", "mine"))
    before = programs()
    for i, said in enumerate(FAILING.values()):
        deciding = about(policy, str(i)).deciding
        assert (deciding.verdict, deciding.code, deciding.rule) == (Verdict.DENY, "rule_error", "extension.mine")
        assert deciding.message.startswith(said)
        assert (deciding.file, deciding.line) == ("rules/mine.py", 1)
    assert programs() == before


def test_every_rule_speaks_and_none_changes_what_the_others_see(running: Running) -> None:
    meddles = "def rule(action):\n    action.clear()\n    return 'require_review', 'a'\n"
    looks = "def rule(action):\n    return 'require_review', action['path']\n"
    _, policy = running(rule(meddles, "a"), rule(looks, "b"))
    assert [(r.rule, r.message) for r in about(policy, "x").reasons if r.layer == "extension"] == [
        ("extension.a", "a"),
        ("extension.b", "x"),
    ]


def test_a_process_that_was_killed_between_two_calls_is_started_again(running: Running) -> None:
    _, policy = running(rule("def rule(action): return 'pass'"))
    assert about(policy, "a").allowed
    before = programs()
    for pid in before:
        with contextlib.suppress(ProcessLookupError):  # it died with the process before it
            os.kill(pid, signal.SIGKILL)
    until(lambda: not set(before) & set(programs()))
    # A question that is asked while the process dies is refused, because it may have been what killed the process.
    until(lambda: about(policy, "a").allowed)
    assert programs()


def test_calls_from_many_threads_each_get_their_own_answer(running: Running) -> None:
    _, policy = running(rule("def rule(action): return 'deny', action['path']"))
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda n: about(policy, f"file-{n}").deciding.message, range(200))
        assert list(answers) == [f"file-{n}" for n in range(200)]


def test_a_process_that_keeps_failing_waits_and_says_so(running: Running) -> None:
    host, policy = running(
        rule("import os\ndef rule(action): return 'pass' if action['path'] == 'warm-up' else os._exit(1)")
    )
    first = [about(policy, "a").deciding.message for _ in range(3)]
    assert all("it ended" in message for message in first)
    waiting = about(policy, "a").deciding
    assert waiting.verdict is Verdict.DENY
    assert "keeps failing" in waiting.message
    assert SAYS.correct_the_rule_s_file in waiting.message
    assert programs() == []
    host._failures = Failures()
    assert "it ended" in about(policy, "a").deciding.message


@given(st.lists(st.integers(0, 600), max_size=12))
def test_restarts_are_free_at_first_then_ever_rarer_and_never_forbidden(pauses: list[int]) -> None:
    now, failures = 0, Failures()
    for pause in pauses:
        now += pause
        failures = failures.and_one(now)
        recent = [time for time in failures.times if now - time < WITHIN_S]
        wait = failures.wait_s(now)
        assert (wait == 0) == (len(recent) < 3)
        assert wait <= WITHIN_S
        assert failures.wait_s(now + WITHIN_S) == 0


def test_a_file_whose_top_level_fails_is_a_policy_error_with_its_place(running: Running) -> None:
    good = rule("def rule(action): return 'pass'", "good")
    missing = rule("import os\nimport   numpy\ndef rule(action): ...\n", "missing")
    wrong = rule("def rule(action): ...\nlimits = {}\nbiggest = limits['x']\n", "wrong")
    leaves = rule("def rule(action): ...\nexit = None\nraise SystemExit\n", "leaves")
    with pytest.raises(PolicyError) as refused:
        running(good, missing, wrong, leaves)
    assert [str(problem).partition(";")[0] for problem in refused.value.problems] == [
        "rules/missing.py:2:1: ModuleNotFoundError: No module named 'numpy'",
        "rules/wrong.py:3:11: KeyError: 'x'",
        "rules/leaves.py:3:1: SystemExit",
    ]
    ends = rule("import os\nos._exit(0)\ndef rule(action): ...\n", "ends")
    with pytest.raises(PolicyError, match=r"rules/ends\.py:1:1: while the file was loaded, its process failed"):
        running(good, ends)


@pytest.mark.slow
def test_a_file_whose_top_level_never_ends_is_a_policy_error(running: Running) -> None:
    with pytest.raises(PolicyError, match=r"rules/rule\.py:1:1: .* it took too long"):
        running(rule("def rule(action): ...\nwhile True: pass\n"))


def test_where_there_is_no_sandbox_every_action_that_reaches_a_rule_is_denied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("REMIT_SANDBOX", "bubblewrap")
    writes = rule("SYSCALLS = ['fs.write']\ndef rule(action): return 'allow'")
    host = ExtensionHost([writes], Path("/nowhere"))
    try:
        host.check()
        policy = with_extension(ALL, [writes], host.ask)
        for _ in range(5):
            message = about(policy, "a").deciding.message
            assert "your extension rules cannot be asked: there is no sandbox" in message
            assert "install bubblewrap" in message or "on Linux" in message
        assert evaluate(policy, Action("fs.read", path="a")).allowed
        assert SAYS.there_is_no_sandbox in str(host.unanswerable())
    finally:
        host.close()


def test_closing_ends_the_process_and_denies_what_is_asked(running: Running) -> None:
    host, policy = running(rule("import time\ndef rule(action): time.sleep(1000 * (action['path'] == 'slow'))"))
    before = programs()
    assert before
    decisions: list[Decision] = []
    asking = threading.Thread(target=lambda: decisions.append(about(policy, "slow")))
    asking.start()
    until(host._questions.empty)
    host.close()
    asking.join(PATIENT_S)
    assert decisions[0].verdict is Verdict.DENY
    assert about(policy, "a").verdict is Verdict.DENY
    with pytest.raises(ExtensionError):
        host.ask(["extension.rule"], {})
    assert not set(before) & set(programs())
    host.close()
