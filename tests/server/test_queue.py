"""`remit worker`, `submit` and `watch` over a real broker that admits the users of its configuration (TRN-30 to
TRN-36)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, begin
from forked_servers import Begun
from messages import SAYS
from queue_broker import NatsServer, RawNats, allowed, digest_of, kept, sample, wait_for_queue
from queue_keys import keyed
from queue_workers import Workers, read_turn, submit, wait_for_end

pytestmark = pytest.mark.slow

ASKS = "version: 1\ncapabilities:\n  - { name: w, match: { syscall: fs.write, path_glob: ['**'] }, action: require_review }\n"
FAILED, WRONG_USAGE = 1, 2


def call(turn: str, tool: str, intent: str, session: str = "s", **arguments: Any) -> Any:
    """Returns a turn of one call."""
    part = {"type": "call", "by": "model", "tool": tool, "arguments": arguments, "intent": intent}
    return {"session_id": session, "turn_id": turn, "input": part}


def write(turn: str, path: str, session: str = "s") -> Any:
    return call(turn, "write_file", "CODE", session, path=path, content="x\n")


def text(turn: str, session: str = "s") -> Any:
    return {"session_id": session, "turn_id": turn, "input": {"type": "text", "text": "go"}}


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """Workers with a broker of their own."""
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, options=("--lease", "2")) as made:
        yield made


def began(workers: Workers, *options: str) -> Begun:
    """Starts a worker, and waits until it takes requests."""
    process = workers.start(*options)
    with RawNats(workers.broker.port) as raw:
        wait_for_queue(raw)
    return process


def run(workers: Workers, *words: str, user: str = "client", code: int | None = None, **environment: str) -> str:
    """Runs a command and returns what it prints."""
    done = workers.remit(*words, user=user, **environment)
    assert code is None or done.code == code, done
    return done.out if done.code == 0 else done.out + done.err


def test_TRN_36_a_request_is_sent_once_and_its_turn_followed_from_any_event_on(workers: Workers) -> None:
    said = run(workers, "submit", "say something", "--json", code=FAILED)  # before there is any worker or queue
    assert json.loads(said)["error"]["code"] == "not_found"
    began(workers)
    turn = run(workers, "submit", "say something", code=0).strip()
    events = [json.loads(line) for line in run(workers, "watch", turn, "--json", code=0).splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["result"]["final_output"] == "done"
    for after in (1, len(events) - 1, len(events)):
        again = run(workers, "watch", turn, turn, "--json", "--after", str(after), "--approve", "never")
        assert [json.loads(line) for line in again.splitlines()] == events[after:]
    told = run(workers, "submit", "say something", "--turn", turn, "--wait", "--json", code=0)
    assert [json.loads(line) for line in told.splitlines()[1:]] == events
    other = run(workers, "submit", "something else", "--turn", turn, "--wait", "--json", code=1)
    assert json.loads(other.splitlines()[-1])["error"]["code"] == "invalid_request"


def test_TRN_30_no_password_is_taken_from_a_command_line(workers: Workers) -> None:
    for address in ("nats://a:b@127.0.0.1:4222", "nats://secret@127.0.0.1:4222", "http://127.0.0.1", "nats://", "x"):
        for words in (("submit", "go"), ("watch", "t"), ("worker",)) if "secret" in address else (("worker",),):
            done = CommandLine(workers.folder, workers.environment)(*words, "--queue", address)
            assert done.code == WRONG_USAGE
            assert "REMIT_QUEUE_PASSWORD" in done.err or "nats://127.0.0.1:4222" in done.err


def test_TRN_31_workers_of_a_queue_have_one_lease(workers: Workers) -> None:
    began(workers)
    assert workers.start("--lease", "9").wait(20) == FAILED
    assert workers.processes[0].poll() is None


def test_TRN_30_whom_the_broker_does_not_know_is_told_so(workers: Workers) -> None:
    wrong = ({"REMIT_QUEUE_PASSWORD": "wrong"}, {"REMIT_QUEUE_USER": "nobody"})
    for environment in wrong:
        began_at = time.monotonic()
        said = json.loads(run(workers, "submit", "go", "--json", code=FAILED, **environment).splitlines()[-1])
        assert said["error"]["code"] == "invalid_request"
        assert time.monotonic() - began_at < 9
    process = workers.start(REMIT_QUEUE_PASSWORD="wrong")
    assert process.wait(20) == FAILED


def test_TRN_31_the_turns_of_a_session_run_in_their_order_on_whichever_worker(tmp_path: Path) -> None:
    script = [{"text": f"number {number}", "pace_s": 0.02} for number in range(12)]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script) as workers:
        for _ in range(2):
            began(workers)
        for number in range(8):
            submit(own, text(f"t{number}"))
        for number in range(8):
            wait_for_end(own, "s", f"t{number}").check()
        (file,) = (tmp_path / "state").rglob("sessions/*.jsonl")
        records = [json.loads(line) for line in file.read_text().splitlines()]
        assert [each["turn_id"] for each in records if each["type"] == "turn_start"] == [f"t{n}" for n in range(8)]
        assert [each["turn_id"] for each in records if each["type"] == "turn_end"] == [f"t{n}" for n in range(8)]


@pytest.mark.parametrize(
    ("key", "request_"),
    [
        ("s.t", b"{"),
        ("s.t", b""),
        ("s.t", b"\xff\x00"),
        ("s.t", b"[" * 100_000),
        ("s.t", b"[" + b"0," * 400_000 + b"0]"),
        ("s.t", json.dumps({**text("t"), "more": 1}).encode()),
        ("s.other", json.dumps(text("t")).encode()),
        ("another.t", json.dumps(text("t")).encode()),
        ("s", json.dumps(text("t")).encode()),
        ("s.t.more", json.dumps(text("t")).encode()),
        ("s.t", json.dumps({**text("t"), "context": {"workspace_folder": "/"}}).encode()),
        ("s.t", json.dumps({**text("t"), "model": "openai:x@http://127.0.0.1:9/v1"}).encode()),
        ("s.t", json.dumps({**write("t", "b.py"), "input": {**write("t", "b.py")["input"], "by": "person"}}).encode()),
        ("s.t", json.dumps({**write("t", "b.py"), "input": {**write("t", "b.py")["input"], "typed": True}}).encode()),
        ("s.t", json.dumps({**text("t"), "context": {"workspace_folder": "\0"}}).encode()),
    ],
    ids=lambda given: str(given)[:24],
)
def test_TRN_31_what_cannot_be_run_is_kept_with_the_reason(key: str, request_: bytes, workers: Workers) -> None:
    began(workers)
    with RawNats(workers.broker.port) as raw:
        assert raw.request(f"remit.run.{key}", request_) is not None
        deadline = time.monotonic() + 20
        while not (dead := list(kept(raw, f"remit.dead.{key}"))):
            assert time.monotonic() < deadline
        (letter,) = dead
        assert letter.data == request_
        error = json.loads(letter.headers["Remit-Error"])
        assert error["code"] == "invalid_request"
        assert all(error[part] for part in ("what", "why", "fix"))
        assert letter.headers["Remit-Request"] == digest_of(request_)
        submit(workers.broker, text("next", session="next"))
        wait_for_end(workers.broker, "next", "next").check()
        if key == "s.t":
            said = run(workers, "watch", "s", "t", "--json", "--timeout", "2", code=FAILED)
            assert json.loads(said.splitlines()[-1])["error"]["what"] == error["what"]


def test_TRN_31_a_worker_that_is_told_to_end_ends_its_turns(tmp_path: Path) -> None:
    script = [{"text": "one two three", "pace_s": 5.0}]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script) as workers:
        process = began(workers)
        submit(own, text("t"))
        with RawNats(own.port) as raw:
            until(lambda: any(event["kind"] == "token_delta" for event in read_turn(raw, "s", "t").events))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        turn = wait_for_end(own, "s", "t")
        turn.check()
        assert turn.events[-1]["result"]["status"] == "cancelled"


def until(found: Any) -> Any:
    deadline = time.monotonic() + 20
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def test_TRN_32_a_second_writer_is_refused_and_the_first_one_that_lost_its_turn_ends_it(tmp_path: Path) -> None:
    script = [{"text": "one two three four", "pace_s": 0.5}]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script) as workers:
        began(workers)
        submit(own, text("t"))
        with RawNats(own.port) as raw, RawNats(own.port, user="worker") as other:
            until(lambda: any(event["kind"] == "token_delta" for event in read_turn(raw, "s", "t").events))
            last = read_turn(raw, "s", "t").messages[-1]
            subject, stale = "remit.ev.s.t", str(int(last.headers["Nats-Sequence"]) - 1)

            def publish(place: str) -> Any:
                headers = {"Nats-Expected-Last-Subject-Sequence": place, "Remit-Claim": "other", "Remit-Part": "0"}
                headers["Remit-Turn"] = "s.t"
                inbox, found = "_INBOX.remit-worker.x", []
                other.subscribe(inbox, found.append)
                other.publish(subject, b"", inbox, headers)
                return json.loads(until(lambda: found)[0].data)

            assert publish(stale)["error"]["err_code"] == 10071
            while "error" in publish(read_turn(raw, "s", "t").messages[-1].headers["Nats-Sequence"]):
                pass
            until(lambda: SAYS.another_worker_has_turn in workers.said())
            count = len(read_turn(raw, "s", "t").messages)
            time.sleep(1.5)  # long enough for more messages
            assert len(read_turn(raw, "s", "t").messages) == count
        log = next((tmp_path / "state").rglob("remit.log")).read_text()
        assert "the turn is cancelled" in log


def killed_in(workers: Workers, request: Any, kind: str) -> None:
    """Kills the only worker after an event of this kind has come."""
    process = began(workers)
    submit(workers.broker, request)
    with RawNats(workers.broker.port) as raw:
        key = request["session_id"], request["turn_id"]
        until(lambda: any(event["kind"] == kind for event in read_turn(raw, *key).events))
    process.kill()
    process.wait()


def test_TRN_33_a_turn_that_had_only_read_begins_again_and_says_so(tmp_path: Path) -> None:
    script = [{"text": "one two", "pace_s": 1.0}] * 3
    reads = call("t", "read_file", "ANALYZE", path="a.py")
    reads["input"] = [reads["input"], {"type": "text", "text": "go"}]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--lease", "2")) as workers:
        killed_in(workers, reads, "token_delta")
        workers.start()
        turn = wait_for_end(own, "s", "t")
        turn.check()
        assert turn.events[-1]["result"]["status"] == "completed"
        assert [event["resumed"] for event in turn.events if event["kind"] == "run_started"] == [False, True]


def test_TRN_33_a_turn_that_had_begun_more_than_reading_is_not_begun_again(tmp_path: Path) -> None:
    script = [{"text": "one two", "pace_s": 1.0}] * 3
    writes = write("t", "b.py")
    writes["input"] = [writes["input"], {"type": "text", "text": "go"}]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--lease", "2")) as workers:
        killed_in(workers, writes, "token_delta")
        (workers.workspace / "b.py").write_text("mine\n")
        workers.start()
        turn = wait_for_end(own, "s", "t")
        turn.check()
        result = turn.events[-1]["result"]
        assert (result["status"], result["error"]["code"]) == ("failed", "outcome_unknown")
        assert [(each["path"], each["how"]) for each in result["changes"]] == [("b.py", "created")]
        assert result["taken_back_by"] == "undo"
        assert (workers.workspace / "b.py").read_text() == "mine\n"
        submit(own, text("u"))
        assert wait_for_end(own, "s", "u").events[-1]["result"]["status"] == "completed"


def test_TRN_33_what_was_begun_where_nobody_can_look_is_not_begun_again(tmp_path: Path) -> None:
    script = [{"text": "one two", "pace_s": 1.0}] * 3
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--lease", "2")) as workers:
        killed_in(workers, text("t"), "token_delta")
        workers.start(REMIT_STATE_DIR=str(tmp_path / "elsewhere"))
        turn = wait_for_end(own, "s", "t")
        turn.check()
        assert turn.events[-1]["result"]["error"]["code"] == "outcome_unknown"


def test_TRN_33_a_worker_that_stands_still_for_a_lease_loses_its_turn(tmp_path: Path) -> None:
    script = [{"text": "one two three four", "pace_s": 1.0}] * 3
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--lease", "1")) as workers:
        process = began(workers)
        submit(own, text("t"))
        with RawNats(own.port) as raw:
            until(lambda: any(event["kind"] == "token_delta" for event in read_turn(raw, "s", "t").events))
        process.send_signal(signal.SIGSTOP)
        workers.start()
        turn = wait_for_end(own, "s", "t")
        assert turn.events[-1]["result"]["error"]["code"] == "outcome_unknown"
        process.send_signal(signal.SIGCONT)
        until(lambda: SAYS.another_worker_has_turn in workers.said())
        turn = wait_for_end(own, "s", "t")
        turn.check()


def test_TRN_31_a_turn_that_ends_every_worker_is_given_up(tmp_path: Path) -> None:
    script = [{"text": "one two", "pace_s": 5.0}] * 3
    options = ("--lease", "1", "--attempts", "2")
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, options) as workers:
        killed_in(workers, text("t"), "token_delta")
        with RawNats(own.port) as raw:
            process = workers.start()
            until(lambda: read_turn(raw, "s", "t").claims == 2)
            process.kill()
            workers.start()
            turn = wait_for_end(own, "s", "t")
            turn.check()
            assert turn.events[-1]["result"]["status"] == "failed"
            until(lambda: list(kept(raw, "remit.dead.s.t")))


def test_TRN_34_a_question_that_nobody_answers_is_a_deny(workers: Workers) -> None:
    (workers.folder / "config" / "policy.yaml").write_text(ASKS)
    began(workers)
    submit(workers.broker, write("t", "b.py"))
    turn = wait_for_end(workers.broker, "s", "t")
    answers = [event for event in turn.events if event["kind"] == "approval_resolved"]
    assert [(answer["decision"], answer["by"]) for answer in answers] == [("deny", "withdrawn")]
    assert not (workers.workspace / "b.py").exists()


def test_TRN_34_one_who_answers_and_goes_leaves_a_deny(workers: Workers) -> None:
    (workers.folder / "config" / "policy.yaml").write_text(ASKS)
    began(workers)
    with RawNats(workers.broker.port) as raw:
        raw.subscribe("remit.ask.s.t", lambda message: raw.publish(message.reply, b"{}"))
        submit(workers.broker, write("t", "b.py"))
        until(lambda: any(event["kind"] == "approval_required" for event in read_turn(raw, "s", "t").events))
        time.sleep(7)  # longer than the worker looks for somebody to ask
        assert read_turn(raw, "s", "t").events[-1]["kind"] == "approval_required"
    turn = wait_for_end(workers.broker, "s", "t")
    assert [e["by"] for e in turn.events if e["kind"] == "approval_resolved"] == ["withdrawn"]


def test_TRN_34_yes_and_no_can_be_said_where_a_turn_is_watched_or_run(tmp_path: Path) -> None:
    steps = [
        {"calls": [{"name": "select_active_intent", "arguments": {"intent": "CODE"}},
                   {"name": "write_file", "arguments": {"path": "b.py", "content": "x\n"}}]},
        {"text": "done"},
    ]  # fmt: skip
    rows = (("session", "ask", True), ("never", "ask", False), ("never", "session", True))
    for number, (watching, working, written) in enumerate(rows):
        folder = tmp_path / str(number)
        folder.mkdir()
        with NatsServer(folder / "broker") as own, Workers(folder, own, steps) as workers:
            (folder / "config" / "policy.yaml").write_text(ASKS)
            began(workers, "--approve", working)
            run(workers, "submit", "go", "--wait", "--approve", watching, code=0 if written else FAILED)
            assert (workers.workspace / "b.py").exists() == written


def test_TRN_34_what_is_said_to_a_turn_is_about_that_turn(workers: Workers) -> None:
    (workers.folder / "config" / "policy.yaml").write_text(ASKS)
    began(workers)
    with RawNats(workers.broker.port) as raw:
        raw.subscribe("remit.ask.>", lambda message: raw.publish(message.reply, b"{}"))
        for session in ("a", "b"):
            submit(workers.broker, write("t", f"{session}.txt", session=session))

        def question(session: str) -> Any:
            events = read_turn(raw, session, "t").events
            return next((event for event in events if event["kind"] == "approval_required"), None)

        asked = {session: until(lambda session=session: question(session)) for session in ("a", "b")}

        def say(session: str, **message: Any) -> Any:
            answer = raw.request(f"remit.do.{session}.t", json.dumps(message).encode())
            assert answer is not None
            return json.loads(answer.data)

        yes = {"approval_id": asked["b"]["approval_id"], "decision": "allow", "digest": asked["b"]["digest"]}
        assert say("a", approve=yes)["receipt"]["accepted"] is False
        assert say("a", cancel={"session_id": "b"})["error"]["code"] == "invalid_request"
        assert say("a", shutdown={})["error"]["code"] == "invalid_request"
        assert say("a", run=text("u"))["error"]["code"] == "invalid_request"
        assert say("a", nonsense={})["error"]["code"] == "invalid_request"
        assert say("a", status={})["status"]["pending_approvals"] == 2
        assert say("a", cancel={})["cancelled"] == 1
        assert wait_for_end(workers.broker, "a", "t").events[-1]["result"]["status"] == "cancelled"
        assert say("b", approve=yes)["receipt"]["accepted"] is True
        assert wait_for_end(workers.broker, "b", "t").events[-1]["result"]["status"] == "completed"


def test_TRN_35_a_broker_that_is_gone_is_said_and_reached_again_and_nothing_is_lost(tmp_path: Path) -> None:
    script = [{"text": "one two three four five six", "pace_s": 0.5}] * 3
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--lease", "20")) as workers:
        began(workers)
        words = ("submit", "go", "--turn", "t", "--wait", "--json", "--queue", own.url)
        watching = begin(words, workers.folder, {**workers.environment, **allowed("client")})
        with RawNats(own.port) as raw:
            until(lambda: any(event["kind"] == "token_delta" for event in read_turn(raw, "t", "t").events))
        own.kill()
        time.sleep(2)
        own.start()
        with watching.stdin, watching.stdout as out:
            events = [json.loads(line) for line in out.read().splitlines()[1:]]
        assert watching.wait(60) == 0
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert "".join(e["text"] for e in events if e["kind"] == "token_delta") == "one two three four five six"
        turn = wait_for_end(own, "t", "t")
        turn.check()
        assert turn.claims == 1
        assert all(said in workers.said() for said in (SAYS.the_broker_is_gone, SAYS.the_broker_is_there_again))


def test_TRN_35_a_worker_without_a_broker_for_a_lease_ends_its_turns(tmp_path: Path) -> None:
    script = [{"text": "one two three", "pace_s": 8.0}]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--lease", "2")) as workers:
        process = began(workers)
        submit(own, text("t"))
        with RawNats(own.port) as raw:
            until(lambda: any(event["kind"] == "token_delta" for event in read_turn(raw, "s", "t").events))
        own.kill()
        until(lambda: SAYS.for_as_long_as_a_lease in workers.said())
        own.start()
        turn = wait_for_end(own, "s", "t")
        turn.check()
        assert turn.events[-1]["result"]["status"] in {"cancelled", "failed"}
        own.kill()
        process.send_signal(signal.SIGTERM)  # it also ends without a broker
        assert process.wait(20) == 0


def test_TRN_35_a_broker_that_lost_everything_has_its_queue_again(workers: Workers) -> None:
    began(workers)
    workers.broker.kill()
    subprocess.run(["rm", "-r", str(workers.broker.folder / "kept")], check=True)
    workers.broker.start()
    try:
        submit(workers.broker, text("t"))
    except AssertionError:
        pytest.fail(workers.said())  # the worker's output says what it found instead of its queue
    assert wait_for_end(workers.broker, "s", "t").events[-1]["result"]["status"] == "completed"


def test_TRN_35_a_broker_that_lost_everything_while_the_worker_was_busy_has_its_queue_again(tmp_path: Path) -> None:
    script = [{"text": "one two three", "pace_s": 1.0}, {"text": "done"}, {"text": "done"}]
    with NatsServer(tmp_path / "broker") as own, Workers(tmp_path, own, script, ("--turns", "1")) as workers:
        began(workers)
        submit(own, text("first"))
        with RawNats(own.port) as raw:
            until(lambda: any(event["kind"] == "token_delta" for event in read_turn(raw, "s", "first").events))
        own.kill()
        subprocess.run(["rm", "-r", str(own.folder / "kept")], check=True)
        own.start()
        submit(own, {**text("second"), "session_id": "another"})
        assert wait_for_end(own, "another", "second").events[-1]["result"]["status"] == "completed"
        with RawNats(own.port) as raw:
            (dead,) = kept(raw, "remit.dead.s.first")
        assert json.loads(dead.headers["Remit-Error"])["what"] == "turn `first` was ended"


def test_TRN_36_what_is_not_there_is_not_waited_for_without_end(workers: Workers) -> None:
    began(workers)
    said = json.loads(run(workers, "watch", "nothing", "--json", "--timeout", "1", code=FAILED).splitlines()[-1])
    assert said["error"]["code"] == "timed_out"
    workers.broker.kill()
    said = json.loads(run(workers, "watch", "nothing", "--json", code=FAILED).splitlines()[-1])
    assert said["error"]["code"] == "invalid_request"


def test_TRN_30_a_token_lets_in_as_well(tmp_path: Path) -> None:
    config = re.sub(r"authorization \{.*\}", 'authorization { token: "t-secret" }', sample(), flags=re.DOTALL)
    with NatsServer(tmp_path / "broker", config) as own, Workers(tmp_path, own) as workers:
        for name in ("REMIT_QUEUE_USER", "REMIT_QUEUE_PASSWORD"):
            del workers.environment[name]
        workers.environment["REMIT_QUEUE_TOKEN"] = "t-secret"
        workers.start()
        until(lambda: SAYS.works_on in workers.said())
        said = CommandLine(workers.folder, workers.environment)("submit", "go", "--wait", "--queue", own.url)
        assert said.code == 0, said.err
        assert os.path.realpath(workers.workspace) in workers.said()


def test_TRN_30_a_file_of_credentials_lets_in_as_well(tmp_path: Path) -> None:
    config, credentials = keyed()
    file = tmp_path / "user.creds"
    file.write_text(credentials)
    with NatsServer(tmp_path / "broker", config) as own, Workers(tmp_path, own) as workers:
        for name in ("REMIT_QUEUE_USER", "REMIT_QUEUE_PASSWORD"):
            del workers.environment[name]
        workers.environment["REMIT_QUEUE_CREDENTIALS"] = str(file)
        workers.start()
        until(lambda: SAYS.works_on in workers.said())
        remit = CommandLine(workers.folder, workers.environment)
        for text_, code in ((credentials, 0), ("nothing", FAILED), (keyed()[1], FAILED)):
            file.write_text(text_)
            assert (done := remit("submit", "go", "--wait", "--json", "--queue", own.url)).code == code, done
