"""The gateway as a process: how it ends, what it survives, and what it offers beyond the seed (GW-01)."""

from __future__ import annotations

import itertools
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gateway_process import GatewayProcess
from random_model import kept_model

pytestmark = [pytest.mark.model, pytest.mark.slow]

LONG = ("--model", kept_model(), "--max-tokens", "4000")
ENDLESS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "minLength": 90, "maxLength": 99},
    "minItems": 30,
}


def message(session: str, wanted: Any = "text", **more: Any) -> dict[str, Any]:
    asked = {"command": "message", "session_id": session, "prompt": "say", "content": "this", "output_format": wanted}
    return asked | more


def generating(gateway: GatewayProcess) -> str:
    """Lets the gateway generate an answer that does not end soon; returns the session."""
    session = gateway.open()
    gateway.send(message(session, ENDLESS, stream=True))
    assert "delta" in gateway.answer()
    return session


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("state", [lambda gateway: gateway.logged("Gateway ready"), generating], ids=["idle", "busy"])
def test_a_signal_ends_it_with_0(number: signal.Signals, state: Callable[[GatewayProcess], Any]) -> None:
    with GatewayProcess(*LONG) as gateway:
        state(gateway)
        gateway.signal(number)
        assert gateway.wait() == 0
        assert all("result" not in line for line in gateway.rest())
        gateway.logged("Shutdown complete")


def test_the_end_of_input_answers_what_came_before_it_and_ends_with_0() -> None:
    with GatewayProcess("--model", kept_model(), "--max-tokens", "8") as gateway:
        session = gateway.open()
        gateway.send(message(session), message(session, "string_list"))
        gateway.send_bytes(b'{"command":"check-availability"}')  # the last line has no line end
        gateway.end_input()
        text, items, available = gateway.rest()
        assert isinstance(text["result"], str)
        assert isinstance(items["result"], list)
        assert available == {"ok": True, "available": True}
        assert gateway.wait() == 0


def test_shutdown_is_answered_last_and_ends_it_with_0() -> None:
    with GatewayProcess("--model", kept_model(), "--max-tokens", "8") as gateway:
        session = gateway.open()
        gateway.send(message(session), {"command": "shutdown"}, {"command": "open-session"})
        answer, done = gateway.rest()
        assert isinstance(answer["result"], str)
        assert done == {"ok": True}
        assert gateway.wait() == 0


def test_a_client_that_is_gone_ends_it_also_while_it_generates() -> None:
    with GatewayProcess(*LONG) as gateway:
        session = gateway.open()
        gateway.send(message(session, ENDLESS, stream=True))
        gateway.answer()
        model = gateway.model_process()
        gateway.stop_reading()
        assert gateway.wait() == 0
        with pytest.raises(ProcessLookupError):
            os.kill(model, 0)


def test_a_model_process_that_dies_is_model_unavailable_and_the_next_message_works() -> None:
    with GatewayProcess(*LONG) as gateway:
        session = generating(gateway)
        os.kill(gateway.model_process(), signal.SIGKILL)
        while "delta" in (answer := gateway.answer()):
            pass
        assert answer == {"ok": False, "error": "model_unavailable"}
        gateway.logged("SIGKILL")
        assert isinstance(gateway.ask(message(session, "string_list"))["result"], list)


def test_a_model_that_is_not_there_is_told_by_availability_and_by_a_message(tmp_path: Path) -> None:
    with GatewayProcess("--model", str(tmp_path / "nowhere")) as gateway:
        available = gateway.ask({"command": "check-availability"})
        assert available["available"] is False
        assert "not downloaded" in available["reason"]
        assert gateway.ask(message(gateway.open())) == {"ok": False, "error": "model_unavailable"}


def test_GW_01_a_server_that_is_not_there_is_told_by_availability() -> None:
    ask = {"command": "check-availability"}
    with socket.create_server(("127.0.0.1", 0)) as server:
        model = f"openai:m@http://127.0.0.1:{server.getsockname()[1]}/v1"
        with GatewayProcess("--model", model) as gateway:
            assert gateway.ask(ask) == {"ok": True, "available": True}
    with GatewayProcess("--model", model) as gateway:
        available = gateway.ask(ask)
    assert (available["available"], "nothing listens at 127.0.0.1:" in available["reason"]) == (False, True), available


def test_streamed_pieces_are_the_result_and_carry_the_id(gateway: GatewayProcess) -> None:
    gateway.send(message(gateway.open(), stream=True, request_id="r"))
    pieces = []
    while "delta" in (answer := gateway.answer()):
        assert answer.keys() == {"ok", "delta", "request_id"}
        pieces.append(answer["delta"])
    assert answer == {"ok": True, "result": "".join(pieces), "request_id": "r"}
    assert pieces


def test_a_json_schema_holds_the_answer(gateway: GatewayProcess) -> None:
    schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    answer = gateway.ask(message(gateway.open(), schema))
    assert answer["ok"], answer
    result = answer["result"]
    assert list(result) == ["yes"]
    assert isinstance(result["yes"], bool)


def test_messages_with_ids_of_different_sessions_are_all_answered(gateway: GatewayProcess) -> None:
    sessions = [gateway.open() for _ in range(8)]
    gateway.send(*[message(session, request_id=number) for number, session in enumerate(sessions)])
    answers = [gateway.answer() for _ in sessions]
    assert sorted(answer["request_id"] for answer in answers) == list(range(8))
    assert len({answer["result"] for answer in answers}) == 1


def test_a_full_context_loses_its_oldest_turns_and_never_fails(narrow: GatewayProcess) -> None:
    """Each message fits by itself, but all together are many times what the model can read."""
    session = narrow.open(instructions="be brief")
    remembered = []
    for number in range(40):
        content = f"number {number} and some more words"
        assert isinstance(narrow.ask(message(session, content=content))["result"], str)
        found = narrow.logged(rf"session={session}.*prompt_tokens=(\d+).*exchanges=(\d+)", len(narrow.log) - 1)
        assert int(found[1]) < 400
        remembered.append(int(found[2]))
    assert max(remembered) > 2
    assert any(later < earlier for earlier, later in itertools.pairwise(remembered))


def test_a_huge_line_is_an_error_and_the_next_line_works(gateway: GatewayProcess) -> None:
    for _ in range(17):
        gateway.send_bytes(b"x" * (1 << 20))
    gateway.send_bytes(b"\n")
    assert gateway.answer() == {"ok": False, "error": "invalid_json"}
    assert gateway.ask({"command": "check-availability"})["ok"] is True
    session = gateway.open()
    assert gateway.ask(message(session, content="x" * (5 << 20)))["error"].startswith("execution_failed: ")
    assert isinstance(gateway.ask(message(session))["result"], str)


def test_a_client_that_does_not_read_is_not_heard_either_and_misses_nothing() -> None:
    """There are more answers than all buffers hold: the gateway stops reading until its answers are read."""
    with GatewayProcess("--model", kept_model(), reads=False) as gateway:
        count, line = 20_000, b'{"command":"no-such-command","request_id":"%b"}\n' % (b"r" * 100)
        writing = gateway.in_thread(lambda: gateway.send_bytes(line * count))
        gateway.logged("unknown_command")
        writing.join(2.0)
        assert writing.is_alive(), "everything was taken in though nothing was read"
        gateway.start_reading()
        for _ in range(count):
            assert gateway.answer()["error"] == "unknown_command"
        writing.join()
        gateway.end_input()
        assert gateway.wait() == 0


def test_a_signal_ends_it_also_where_nobody_reads() -> None:
    with GatewayProcess("--model", kept_model(), reads=False) as gateway:
        line = b'{"command":"no-such-command","request_id":"%b"}\n' % (b"r" * 100)
        gateway.in_thread(lambda: gateway.send_bytes(line * 20_000))
        gateway.logged("unknown_command")
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0


def test_a_client_that_never_reads_the_log_is_served_all_the_same() -> None:
    """More log than the pipe of standard error holds; the rest is dropped, and a signal still works."""
    with GatewayProcess("--model", kept_model(), reads_log=False) as gateway:
        for _ in range(30):
            gateway.send(*[message("x" * 200)] * 40)
            assert all(gateway.answer() == {"ok": False, "error": "session_not_found"} for _ in range(40))
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0
