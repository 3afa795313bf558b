"""What holds for every transport, over its real wire and a real process (TRN-01 to TRN-04, TRN-07): one suite for
all."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from doors import DOORS, opened, request

pytestmark = pytest.mark.slow


def step(intent: str, tool: str, **arguments: Any) -> Any:
    """Returns a step of a model: it declares the intent and makes one call."""
    return {
        "calls": [
            {"name": "select_active_intent", "arguments": {"intent": intent}},
            {"name": tool, "arguments": arguments},
        ]
    }


def write(path: str) -> Any:
    return step("CODE", "write_file", path=path, content="x = 1\n")


def read(path: str) -> Any:
    return step("ANALYZE", "read_file", path=path)


every_door = pytest.mark.parametrize("kind", DOORS)
resuming = pytest.mark.parametrize("kind", [name for name, door in DOORS.items() if door.resumes])
naming = pytest.mark.parametrize("kind", [name for name, door in DOORS.items() if door.names_questions])
telling = pytest.mark.parametrize("kind", [name for name, door in DOORS.items() if door.tells_of_cancelled])


def whole(events: list[Any], result: Any) -> None:
    """Asserts that all events of a turn came, once each and in order, and end with the result."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["kind"] for event in events].count("run_completed") == 1
    assert events[-1]["kind"] == "run_completed"
    assert events[-1]["result"] == result


@every_door
def test_TRN_01_a_turn_is_its_events_in_order_and_ends_once(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, read("a.py"), {"text": "done"}) as door:
        name = door.run(request("t"))
        result = door.result(name)
        whole(door.events(name), result)
        assert (result["status"], result["final_output"]) == ("completed", "done")
        assert [trace["tool"] for trace in result["tool_trace"]] == ["read_file"]


@every_door
def test_TRN_01_the_same_ids_are_the_same_turn_and_another_request_by_them_is_none(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, {"text": "one"}, {"text": "two"}) as door:
        first = door.result(door.run(request("t")))
        assert door.result(door.run(request("t"))) == first
        other = door.run(request("t", "something else"))
        assert "error" in door.until(lambda: door.answer(other))
        assert door.result(door.run(request("u")))["final_output"] == "two"


@telling
@pytest.mark.parametrize("at", ["run_started", "intent_selected", "tool_call", "approval_required", "token_delta"])
def test_TRN_01_a_turn_that_is_cancelled_ends_once_wherever_it_is(kind: str, at: str, tmp_path: Path) -> None:
    slow = {"text": "one two three four", "pace_s": 5.0}
    steps = (write("b.py"), slow) if at == "approval_required" else (read("a.py"), slow)
    with opened(kind, tmp_path, *steps) as door:
        asked = request("t")
        name = door.run(asked)
        door.until(lambda: at in door.kinds(name))
        door.cancel(name, asked)
        door.until(lambda: "run_completed" in door.kinds(name))
        events = door.events(name)
        whole(events, events[-1]["result"])
        assert events[-1]["result"]["status"] == "cancelled"
        assert not (door.workspace / "b.py").exists()


@naming
def test_TRN_03_a_question_is_answered_once_in_time_for_what_was_shown(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, write("b.py"), {"text": "done"}) as door:
        name = door.run(request("t"))
        question = door.question(name)
        assert door.approve({**question, "digest": "sha256:" + "0" * 64})["accepted"] is False
        assert door.approve({**question, "approval_id": "another"})["accepted"] is False
        assert not (door.workspace / "b.py").exists()
        assert door.approve(question)["accepted"] is True
        assert door.approve(question)["accepted"] is False
        assert door.result(name)["status"] == "completed"
        assert (door.workspace / "b.py").read_text() == "x = 1\n"
        assert door.approve(question, "deny")["accepted"] is False


@every_door
def test_TRN_03_questions_of_several_turns_do_not_cross(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, write("b.py"), {"text": "done"}) as door:
        names = {each: door.run(request("t", session=each)) for each in "abcdefgh"}
        questions = {each: door.question(name) for each, name in names.items()}
        assert len({question["approval_id"] for question in questions.values()}) == len(names)
        for number, each in enumerate(reversed(names)):
            assert door.approve(questions[each], "deny" if number % 2 else "allow")["accepted"] is True
        for each, name in names.items():
            result = door.result(name)
            whole(door.events(name), result)
            answers = [event for event in door.events(name) if event["kind"] == "approval_resolved"]
            assert [answer["approval_id"] for answer in answers] == [questions[each]["approval_id"]]


@every_door
def test_TRN_02_a_reader_that_stops_for_a_while_gets_ten_megabytes_whole(kind: str, tmp_path: Path) -> None:
    text = " ".join(f"{number:010000}" for number in range(190))
    with opened(kind, tmp_path, {"text": text}) as door:
        names = [door.run(request("t", session=each)) for each in "abcdef"]
        door.until(lambda: "token_delta" in door.kinds(names[0]))
        door.pause_reading()
        door.run(request("u", session="last"))
        door.go_on_reading()
        for name in names:
            result = door.result(name)
            whole(door.events(name), result)
            told = (event["text"] for event in door.events(name) if event["kind"] == "token_delta")
            assert "".join(told) == text


@resuming
def test_TRN_02_a_turn_is_resumed_after_any_event(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, read("a.py"), {"text": "done"}) as door:
        asked = request("t")
        name = door.run(asked)
        result, events = door.result(name), door.events(name)
        for after in range(len(events) + 3):
            again = door.resume(asked, after)
            assert door.result(again) == result
            assert door.events(again) == events[after:]
        gone = door.resume(request("never"), 0)
        assert "error" in door.until(lambda: door.answer(gone))


@resuming
def test_TRN_02_a_running_turn_is_followed_from_where_a_reader_was(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, write("b.py"), {"text": "done"}) as door:
        asked = request("t")
        name = door.run(asked)
        question = door.question(name)
        again = door.resume(asked, question["seq"] - 1)
        assert door.question(again) == question
        door.approve(question)
        assert door.result(again) == door.result(name)
        assert door.events(again) == door.events(name)[question["seq"] - 1 :]


@every_door
def test_TRN_01_a_client_that_is_gone_leaves_no_process(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, write("b.py"), {"text": "done"}) as door:
        door.question(door.run(request("t")))
        door.leave()
        door.process.wait(20)
        assert not (door.workspace / "b.py").exists()


def test_TRN_04_input_that_ends_leaves_what_runs_and_nobody_to_ask(tmp_path: Path) -> None:
    with opened("stdio", tmp_path, write("b.py"), write("c.py"), {"text": "done"}) as door:
        name = door.run(request("t"))
        door.question(name)
        door.process.stdin.close()
        door.until(lambda: door.received[-1].get("bye"))
        assert door.process.wait(20) == 0
        whole(door.events(name), door.answer(name)["result"])
        assert [path.name for path in sorted(door.workspace.glob("*.py"))] == ["a.py"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, None], ids=["SIGTERM", "SIGINT", "shutdown"])
def test_TRN_04_a_process_that_is_told_to_end_ends_its_turns(number: signal.Signals | None, tmp_path: Path) -> None:
    with opened("stdio", tmp_path, write("b.py"), {"text": "done"}) as door:
        name = door.run(request("t"))
        door.question(name)
        door.send({"shutdown": {}}) if number is None else door.process.send_signal(number)
        door.until(lambda: door.received[-1].get("bye"))
        assert door.process.wait(20) == 0
        assert door.answer(name)["result"]["status"] == "cancelled"
        whole(door.events(name), door.answer(name)["result"])


def test_TRN_06_a_shutdown_over_one_websocket_ends_its_own_turns_only(tmp_path: Path) -> None:
    with opened("websocket", tmp_path, write("b.py"), {"text": "done"}) as door:
        other, first = door.run(request("other")), door.socket
        question = door.question(other)
        door.connect()
        name = door.run(request("t", session="mine"))
        door.question(name)
        door.send({"shutdown": {}})
        door.until(lambda: door.received[-1].get("bye"))
        assert door.answer(name)["result"]["status"] == "cancelled"
        door.socket = first
        door.approve(question)
        assert door.until(lambda: door.answer(other))["result"]["status"] == "completed"


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b'"run"',
        b"{}",
        b'{"run": {}}',
        b'{"nonsense": 1}',
        b'{"cancel": {}, "status": {}}',
        b'{"run": {"session_id": "", "turn_id": "t", "input": {"type": "text", "text": "x"}}}',
        b'{"id": 1, "status": {}}',
        b"[" * 100_000,
        b"[" + b"0," * 600_000 + b"0]",
        b"\xff\xfe",
        b'{"status": {"session_id": "' + b"x" * (17 << 20) + b'"}}',
    ],
    ids=lambda line: line[:30].decode(errors="replace"),
)
def test_TRN_04_a_line_that_is_no_message_is_answered_and_the_next_one_counts(line: bytes, tmp_path: Path) -> None:
    with opened("stdio", tmp_path) as door:
        door.process.stdin.write(line + b"\n")
        door.process.stdin.flush()
        (answer,) = door.until(lambda: list(door.received))
        assert answer["error"]["code"] == "invalid_request"
        assert all(answer["error"][part] for part in ("what", "why", "fix"))
        door.send({"id": "next", "status": {}})
        assert door.until(lambda: door.answer("next"))["status"]["workspace"] == str(door.workspace)


def test_TRN_04_yes_and_no_can_be_said_beforehand(tmp_path: Path) -> None:
    for approve, status, names in (("never", "denied", ["a.py"]), ("session", "completed", ["a.py", "b.py"])):
        folder = tmp_path / approve
        folder.mkdir()
        with opened("stdio", folder, write("b.py"), {"text": "done"}, options=("--approve", approve)) as door:
            assert door.result(door.run(request("t")))["status"] == status
            assert sorted(path.name for path in door.workspace.glob("*.py")) == names


def test_TRN_04_nothing_but_messages_is_on_standard_output(tmp_path: Path) -> None:
    with opened("stdio", tmp_path, read("missing.py"), {"text": json.dumps({"a": "\n"})}) as door:
        door.result(door.run(request("t")))
        assert all(set(each) - {"id"} <= {"event", "result"} for each in door.received)


def test_TRN_07_in_the_terminal_a_turn_is_its_events_in_order_and_ends_once(tmp_path: Path) -> None:
    with opened("terminal", tmp_path, read("a.py"), write("b.py"), {"text": "done"}) as door:
        name = door.run(request("t"))
        result = door.result(name)
        whole(door.events(name), result)
        assert [trace["tool"] for trace in result["tool_trace"]] == ["read_file", "write_file"]
        assert result["status"] == "denied", "nobody can be asked"
        assert (door.process.wait(20), sorted(path.name for path in door.workspace.glob("*.py"))) == (3, ["a.py"])


@pytest.mark.parametrize("at", ["run_started", "intent_selected", "tool_call", "tool_result", "token_delta"])
def test_TRN_07_in_the_terminal_an_interrupt_ends_a_turn_once_wherever_it_is(at: str, tmp_path: Path) -> None:
    with opened("terminal", tmp_path, read("a.py"), {"text": "one two three four", "pace_s": 5.0}) as door:
        name = door.run(request("t"))
        door.until(lambda: at in door.kinds(name))
        door.cancel(name, request("t"))
        result = door.result(name)
        whole(door.events(name), result)
        assert (result["status"], door.process.wait(20)) == ("cancelled", 130)


def test_TRN_07_in_the_terminal_a_reader_that_stops_for_a_while_gets_ten_megabytes_whole(tmp_path: Path) -> None:
    text = " ".join(f"{number:010000}" for number in range(190))
    with opened("terminal", tmp_path, *([read("a.py") | {"text": text}] * 5), {"text": "done"}) as door:
        name = door.run(request("t"))
        door.until(lambda: "token_delta" in door.kinds(name))
        door.pause_reading()
        time.sleep(1.0)  # by now the pipe is full
        door.go_on_reading()
        whole(door.events(name), door.result(name))
        told = "".join(event["text"] for event in door.events(name) if event["kind"] == "token_delta")
        assert told == text * 5 + "done"


def test_TRN_07_in_the_terminal_a_reader_that_is_gone_leaves_no_process(tmp_path: Path) -> None:
    with opened("terminal", tmp_path, {"text": "one two three four " * 20, "pace_s": 0.1}) as door:
        door.leave()
        door.process.wait(20)
