"""What a broker that is set up as in docs/queue.md forbids its clients, and what a worker refuses from permitted ones
(TRN-30 to TRN-34)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from messages import SAYS
from queue_broker import NatsServer, RawNats, kept, wait_for_queue
from queue_workers import Workers, read_turn, submit, wait_for_end

pytestmark = pytest.mark.slow

ASKS = "version: 1\ncapabilities:\n  - { name: w, match: { syscall: fs.write, path_glob: ['**'] }, action: require_review }\n"


def writes(turn: str, session: str = "s") -> Any:
    """Returns a turn whose one call writes a file."""
    call = {"type": "call", "by": "model", "tool": "write_file", "intent": "CODE"}
    return {"session_id": session, "turn_id": turn, "input": {**call, "arguments": {"path": "b.py", "content": "x\n"}}}


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """A worker whose policy asks before it writes."""
    script = [{"text": "one two three", "pace_s": 0.3}] * 9
    with NatsServer(tmp_path / "broker") as broker, Workers(tmp_path, broker, script) as made:
        (tmp_path / "config" / "policy.yaml").write_text(ASKS)
        made.start()
        with RawNats(broker.port) as raw:
            wait_for_queue(raw)
        yield made


def untouched(workers: Workers) -> None:
    """Asserts that nothing was written, and that a permitted client is still served."""
    assert not (workers.workspace / "b.py").exists()
    submit(workers.broker, {"session_id": "ok", "turn_id": "ok", "input": {"type": "text", "text": "go"}})
    turn = wait_for_end(workers.broker, "ok", "ok")
    turn.check()
    assert turn.events[-1]["result"]["status"] == "completed"


def refused(raw: RawNats) -> list[str]:
    """Returns the broker's errors about what this client is not permitted to do."""
    raw.flush()
    return [error for error in raw.errors if "Permissions Violation" in error]


@pytest.mark.parametrize(
    ("user", "password"),
    [("client", "wrong"), ("client", ""), ("nobody", "c-secret"), ("worker", "c-secret"), ("", "")],
    ids=[
        "THR-queue-a-wrong-password",
        "THR-queue-no-password",
        "THR-queue-an-unknown-user",
        "THR-queue-another-users-password",
        "THR-queue-no-user",
    ],
)
def test_whom_the_broker_does_not_know_gets_nothing(user: str, password: str, workers: Workers) -> None:
    with RawNats(workers.broker.port, user=user, password=password) as raw:
        for _ in range(3):
            try:
                raw.publish("remit.run.s.t", json.dumps(writes("t")).encode())
            except OSError:
                break
        deadline = time.monotonic() + 10
        while not raw.closed:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert raw.errors == ["'Authorization Violation'"]
    with RawNats(workers.broker.port) as raw:
        assert read_turn(raw, "s", "t").messages == []
    untouched(workers)


RESERVED = (
    *("remit.ev.s.t", "remit.dead.s.t", "remit.ask.s.t", "_INBOX.remit-worker.x", "_INBOX.x"),
    *(f"$JS.API.{each}" for each in ("INFO", "STREAM.LIST", "STREAM.DELETE.REMIT_RUNS", "STREAM.PURGE.REMIT_EVENTS")),
    *(f"$JS.API.{each}.REMIT_EVENTS" for each in ("STREAM.UPDATE", "STREAM.MSG.DELETE", "STREAM.MSG.GET")),
    *(f"$JS.API.{each}" for each in ("STREAM.CREATE.OTHER", "CONSUMER.CREATE.REMIT_RUNS", "DIRECT.GET.REMIT_RUNS")),
    *("$JS.API.CONSUMER.CREATE.REMIT_EVENTS.mine", "$JS.API.CONSUMER.DELETE.REMIT_RUNS.workers"),
    *("$JS.API.CONSUMER.MSG.NEXT.REMIT_RUNS.workers", "$JS.ACK.REMIT_RUNS.workers.1.1.1.1.1", "$SYS.REQ.SERVER.PING"),
)


def test_THR_queue_a_client_writes_no_events_and_manages_nothing(workers: Workers) -> None:
    for user, subjects in (("client", RESERVED), ("watcher", (*RESERVED, "remit.run.s.t", "remit.do.s.t"))):
        with RawNats(workers.broker.port, user=user) as raw:
            for subject in subjects:
                raw.publish(subject, json.dumps(writes("t")).encode(), reply="_INBOX.remit-client.x")
            assert len(refused(raw)) == len(subjects), raw.errors
            assert read_turn(raw, "s", "t").messages == []
            assert list(kept(raw, "remit.dead.s.t")) == []
    untouched(workers)


def test_THR_queue_nobody_listens_to_what_is_not_for_them(workers: Workers) -> None:
    hidden = (
        ">",
        "*.>",
        "_INBOX.>",
        "_INBOX.remit-worker.>",
        "remit.>",
        "remit.run.>",
        "remit.do.>",
        "$JS.>",
        "$SYS.>",
    )
    for user, subjects in (("client", hidden), ("watcher", (*hidden, "remit.ask.>"))):
        with RawNats(workers.broker.port, user=user) as raw:
            for subject in subjects:
                raw.subscribe(subject, lambda message: None)
            assert len(refused(raw)) == len(subjects), raw.errors


def question(raw: RawNats, session: str, turn: str) -> Any:
    deadline = time.monotonic() + 20
    while True:
        for event in read_turn(raw, session, turn).events:
            if event["kind"] == "approval_required":
                return event
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_THR_queue_a_forged_answer_is_none(workers: Workers) -> None:
    with RawNats(workers.broker.port) as raw:
        yes = json.dumps({"decision": "allow", "approve": {"decision": "allow"}, "accepted": True}).encode()
        raw.subscribe("remit.ask.>", lambda message: raw.publish(message.reply, yes))  # this is not taken for an answer
        submit(workers.broker, writes("t"))
        submit(workers.broker, writes("t", session="other"))
        asked, other = question(raw, "s", "t"), question(raw, "other", "t")
        good = {"approval_id": asked["approval_id"], "decision": "allow", "digest": asked["digest"]}
        for forged in (
            {**good, "digest": other["digest"].replace("a", "b")},
            {**good, "approval_id": "x"},
            {**good, "approval_id": other["approval_id"]},
            {**good, "decision": "yes"},
            {**good, "scope": "everything"},
            {**good, "more": 1},
        ):
            answer = raw.request("remit.do.s.t", json.dumps({"approve": forged}).encode())
            assert answer is not None
            said = json.loads(answer.data)
            assert "error" in said or said["receipt"]["accepted"] is False
        untouched(workers)
        assert question(raw, "s", "t") == asked
    for session in ("s", "other"):  # the client of the question is gone, which counts as a deny
        assert wait_for_end(workers.broker, session, "t").events[-1]["result"]["changes"] == []
    untouched(workers)


def test_THR_queue_nothing_is_answered_into_another_turn(workers: Workers) -> None:
    """The broker sends receipts and stored messages to any reply subject; the worker must not take them for events."""
    with RawNats(workers.broker.port) as raw:
        raw.subscribe("remit.ask.>", lambda message: raw.publish(message.reply, b"{}"))
        submit(workers.broker, {"session_id": "old", "turn_id": "old", "input": {"type": "text", "text": "go"}})
        wait_for_end(workers.broker, "old", "old")
        submit(workers.broker, writes("t"))
        asked = question(raw, "s", "t")
        before = read_turn(raw, "s", "t").events
        for subject in ("remit.ev.s.t", "remit.ev.new.new", "remit.run.x.x", "remit.do.s.t"):
            raw.publish("remit.do.s.t", b'{"status": {}}', reply=subject)
            raw.publish("remit.do.s.t", b"nonsense", reply=subject)
            raw.publish("remit.run.y.y", b"{}", reply=subject)
            for wanted in (b'{"seq": 1}', b'{"last_by_subj": "remit.ev.old.old"}', b'{"last_by_subj": "remit.ev.s.t"}'):
                raw.publish("$JS.API.DIRECT.GET.REMIT_EVENTS", wanted, reply=subject)
        raw.flush()
        time.sleep(0.5)
        assert read_turn(raw, "s", "t").events == before
        assert read_turn(raw, "new", "new").events == []
        yes = {"approval_id": asked["approval_id"], "decision": "allow", "digest": asked["digest"]}
        answer = raw.request("remit.do.s.t", json.dumps({"approve": yes}).encode())
        assert answer is not None
        assert json.loads(answer.data)["receipt"]["accepted"] is True
        events = wait_for_end(workers.broker, "s", "t").events
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert events[-1]["result"]["status"] == "completed"
        submit(workers.broker, {"session_id": "new", "turn_id": "new", "input": {"type": "text", "text": "go"}})
        events = wait_for_end(workers.broker, "new", "new").events
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_THR_queue_a_request_names_no_other_workspace_and_leaves_its_own_by_no_path(workers: Workers) -> None:
    outside = workers.folder / "outside.txt"
    named = {**writes("named"), "context": {"workspace_folder": str(workers.folder)}}
    submit(workers.broker, named)
    for number, path in enumerate((str(outside), "../outside.txt", "a/../../outside.txt")):
        request = writes(f"p{number}")
        request["input"]["arguments"]["path"] = path
        submit(workers.broker, request)
    for number in range(3):
        result = wait_for_end(workers.broker, "s", f"p{number}").events[-1]["result"]
        assert result["status"] in {"denied", "failed"}
    assert not outside.exists()
    with RawNats(workers.broker.port) as raw:
        assert read_turn(raw, "s", "named").events == []
        assert len(list(kept(raw, "remit.dead.s.named"))) == 1
    untouched(workers)


def test_THR_queue_a_request_is_not_the_persons_own_and_chooses_no_model(workers: Workers) -> None:
    mode = {"type": "call", "by": "person", "tool": "set_mode", "arguments": {"mode": "explore"}}
    own = {"session_id": "s", "input": mode}
    typed = {"session_id": "s", "input": {**writes("x")["input"], "by": "person", "typed": True}}
    many = {"session_id": "s", "input": [{"type": "text", "text": "go"}, mode]}
    model = {
        "session_id": "s",
        "input": {"type": "text", "text": "go"},
        "model": f"script:{workers.folder}/script.json",
    }
    for number, request in enumerate((own, typed, many, model)):
        submit(workers.broker, {**request, "turn_id": f"t{number}"})
    submit(workers.broker, {"session_id": "s", "turn_id": "last", "input": {"type": "text", "text": "go"}})
    wait_for_end(workers.broker, "s", "last")
    with RawNats(workers.broker.port) as raw:
        for number in range(4):
            assert read_turn(raw, "s", f"t{number}").messages == []
            assert len(list(kept(raw, f"remit.dead.s.t{number}"))) == 1
    untouched(workers)


IDS = ("a.b", "*", ">", "a b", "a\r\nPUB remit.ev.s.t 1\r\nx\r\n", "\x00", "é" * 128, "%2E", "..", "$JS.API", "x" * 128)


def test_THR_queue_ids_are_no_subjects(workers: Workers) -> None:
    for number, name in enumerate(IDS):
        request = {"session_id": name, "turn_id": f"{name[:100]}{number}", "input": {"type": "text", "text": "go"}}
        submit(workers.broker, request)
        turn = wait_for_end(workers.broker, name, request["turn_id"])
        turn.check()
        assert {event["session_id"] for event in turn.events} == {name}
        if "\x00" not in name:
            assert workers.remit("watch", name, request["turn_id"], "--json").lines == turn.events
    escape = "\x1b]0;x\x07\x1b[31m"
    submit(
        workers.broker, {"session_id": escape, "turn_id": escape, "input": {"type": "text", "text": "go"}, escape: 1}
    )
    with RawNats(workers.broker.port) as raw:
        assert read_turn(raw, "s", "t").messages == []
        deadline = time.monotonic() + 20
        while SAYS.a_request_was_not_run not in workers.said():
            assert time.monotonic() < deadline
    assert "\x1b" not in workers.said()


def test_THR_queue_megabytes_and_a_flood_hold_up_nobody(workers: Workers) -> None:
    with RawNats(workers.broker.port) as raw:
        most = raw.info["max_payload"]
        for number, request in enumerate((b"x" * most, b"[" * most, json.dumps({"a": "x" * (most - 100)}).encode())):
            assert raw.request(f"remit.run.big.{number}", request) is not None
            deadline = time.monotonic() + 20
            while not (dead := list(kept(raw, f"remit.dead.big.{number}"))):
                assert time.monotonic() < deadline
            assert dead[0].data == request[: len(dead[0].data)]
        for number in range(2_000):
            raw.publish(f"remit.run.flood.{number}", b"{")
        for _ in range(2_000):
            raw.publish("remit.do.flood.x", b"{")
        raw.flush()
    with RawNats(workers.broker.port) as raw:
        raw.publish("remit.run.s.t", b"x" * (most + 1))
        deadline = time.monotonic() + 20
        while not raw.closed:
            assert time.monotonic() < deadline
    untouched(workers)
