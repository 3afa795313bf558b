"""The pure parts of the gateway: lines, sessions, the text for the model; and its failures with a scripted model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows
from small_model import small_model

from remit_server.errors import ModelFailed
from remit_server.machine.installed import how_to_install
from remit_server.models.answers import Answered, value_of
from remit_server.models.availability import (
    memory_problem,
    missing_files,
    missing_packages,
    platform_problem,
    unavailable_because,
)
from remit_server.models.ports import AssistantMessage, Finished, SystemMessage, UserMessage
from remit_server.models.recorded.scripted import ScriptedProvider, ScriptedStep
from remit_server.streams.line_streams import LineBuffer
from remit_server.transports.gateway.conversation import (
    MOST_EXCHANGES,
    MOST_SESSIONS,
    Exchange,
    Listener,
    Session,
    Sessions,
    TooManySessions,
    converse,
)
from remit_server.transports.gateway.protocol import Ask, CloseSession, Failed, Piece, parse, spell
from remit_server.transports.gateway.server import Gateway, Limits


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"") + b"."), max_size=6), st.data())
def test_lines_are_the_same_however_the_bytes_arrive(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + data.draw(st.sampled_from([b"\n", b"\r\n"])) for line in lines) + b"last"
    buffer, found = LineBuffer(longest=8), list[bytes | None]()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += buffer.feed(stream[:cut])
        stream = stream[cut:]
    found += buffer.finish()
    # One byte of the limit may be the carriage return at the line's end.
    assert [line for line, given_ in zip(found, [*lines, b"last"], strict=True) if line not in {given_, None}] == []
    assert all(
        (line is None) == (len(given_) > 8) for line, given_ in zip(found, lines, strict=False) if len(given_) != 8
    )


@given(st.floats(0.001, 1e6), st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1e5)), max_size=30))
def test_sessions_are_idle_after_their_time_only(timeout: float, uses: list[tuple[int, float]]) -> None:
    """Compared with a dictionary of last uses: a session is idle if nobody used it for longer and none of its messages
    runs."""
    sessions, used, now = Sessions(), dict[str, float](), 0.0
    for number, later in uses:
        now += later
        name = f"s{number}"
        if name not in used:
            sessions.open(name, None, now)
        else:
            assert sessions.begin(name, now, 1) is not None
            assert name not in sessions.idle(now + 10 * timeout, timeout)
            sessions.end(name, now, 1, None)
        used[name] = now
        assert set(sessions.idle(now, timeout)) == {n for n, at in used.items() if now - at > timeout}
    assert sessions.idle(now + 0.0, float("inf")) == ()


def test_a_session_is_not_idle_at_its_very_time() -> None:
    sessions = Sessions()
    sessions.open("s", None, 0.0)
    assert sessions.idle(120.0, 120.0) == ()
    assert sessions.idle(120.001, 120.0) == ("s",)


def test_there_is_an_end_to_open_sessions() -> None:
    sessions = Sessions()
    for number in range(MOST_SESSIONS):
        sessions.open(str(number), None, 0.0)
    with pytest.raises(TooManySessions):
        sessions.open("more", None, 0.0)
    assert sessions.close("5")
    sessions.open("more", None, 0.0)


@rows(
    ("line", "code"),
    [
        (b"[]", "invalid_json"),
        (b"5", "invalid_json"),
        (b'{"command":"open-session","x":NaN}', "invalid_json"),
        (b'{"command":"open-session","instructions":"\\ud800"}', "invalid_json"),
        (b'{"command":"open-session","instructions":"\xff"}', "invalid_json"),
        (b'{"command":"open-session","instructions":"a\x00b"}', "invalid_json"),
        (b'{"command":"open-session","instructions":7}', "invalid_json"),
        (b'{"command":7}', "invalid_json"),
        (b'{"command":"message","stream":1}', "invalid_json"),
        (b'{"command":"shutdown","request_id":true}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b'\xef\xbb\xbf{"command":"shutdown"}', "invalid_json"),
        (b"{}", "command_required"),
        (b'{"command":""}', "unknown_command"),
        (b'{"command":"Shutdown"}', "unknown_command"),
    ],
)
def test_what_is_no_request_has_the_seeds_code(line: bytes, code: str) -> None:
    request = parse(line).request
    assert isinstance(request, Failed)
    assert request.code == code


def test_the_id_comes_back_also_with_an_error() -> None:
    assert parse(b'{"command":"x","request_id":"a"}').request_id == "a"
    assert parse(b'{"command":5,"request_id":7}').request_id == 7
    assert json.loads(spell(Failed("x"), 7)) == {"ok": False, "error": "x", "request_id": 7}


def test_content_is_cut_by_characters_and_a_schema_kept() -> None:
    sent = {"command": "message", "session_id": "s", "prompt": "p", "content": "😀" * 10_001, "output_format": {"a": 1}}
    asked = parse(json.dumps(sent).encode()).request
    assert isinstance(asked, Ask)
    assert (len(asked.content), asked.given, asked.wanted) == (10_000, 10_001, {"a": 1})
    assert parse(b'{"command":"close-session","session_id":""}').request == CloseSession("")


@given(st.text())
def test_a_response_is_one_line_however_it_is_split(text: str) -> None:
    line = spell(Piece(text))
    assert line.endswith(b"\n")
    assert len(line.decode().splitlines()) == 1


CUT, WHOLE = Finished("length", completion_tokens=5), Finished("stop")


def test_a_list_that_was_cut_off_loses_what_is_not_finished() -> None:
    assert value_of("string_list", Answered('["a","b', CUT)) == ["a"]
    assert value_of("string_list", Answered("[", CUT)) == []
    assert value_of("text", Answered("so f", CUT)) == "so f"
    with pytest.raises(ModelFailed, match="cut off after 5 tokens"):
        value_of({"type": "string"}, Answered('"so f', CUT))


@rows("text", ["", "no", "[1]", '{"a":"b"}', '["a"', '["a"] b'])
def test_a_model_that_breaks_its_format_is_not_believed(text: str) -> None:
    with pytest.raises(ModelFailed):
        value_of("string_list", Answered(text, WHOLE))


def before(count: int) -> tuple[Exchange, ...]:
    return tuple(Exchange(f"q{n}", f"a{n}") for n in range(count))


async def told(count: int, *steps: dict[str, Any]) -> tuple[ScriptedProvider, list[str]]:
    provider = ScriptedProvider([ScriptedStep.model_validate(step) for step in steps])
    heard: list[str] = []

    async def on_text(text: str) -> None:
        heard.append(text)

    async def on_restart() -> None:
        heard.append("RESTART")

    session = Session("be brief", 0.0, before(count))
    reply = await converse(provider, "s", session, "now", "text", max_tokens=9, listener=Listener(on_text, on_restart))
    assert reply.exchanges[-1] == Exchange("now", steps[-1]["text"])
    return provider, heard


async def test_a_session_remembers_and_its_instructions_stay_first() -> None:
    provider, _ = await told(1, {"text": "yes"})
    assert provider.requests[0].messages == (
        SystemMessage("be brief"),
        UserMessage("q0"),
        AssistantMessage("a0"),
        UserMessage("now"),
    )


async def test_what_cannot_be_answered_is_asked_with_the_older_half_left_out() -> None:
    provider, heard = await told(5, {"text": "half ", "error": "too long"}, {"error": "too long"}, {"text": "yes"})
    questions = [[m.text for m in r.messages if isinstance(m, UserMessage)] for r in provider.requests]
    assert questions == [["q0", "q1", "q2", "q3", "q4", "now"], ["q3", "q4", "now"], ["q4", "now"]]
    assert all(r.messages[0] == SystemMessage("be brief") for r in provider.requests)
    assert heard == ["half ", "RESTART", "RESTART", "yes"]


async def test_a_session_remembers_so_many_exchanges_and_no_more() -> None:
    provider, _ = await told(MOST_EXCHANGES, {"text": "yes"})
    assert len(provider.requests[0].messages) == MOST_EXCHANGES + 2


async def test_what_fails_by_itself_fails() -> None:
    with pytest.raises(ModelFailed, match="does not fit"):
        await told(1, {"error": "too long"}, {"error": "too long"}, {"text": "never"})
    with pytest.raises(ModelFailed, match="the model failed"):
        await told(5, {"error": "its answer is none"}, {"text": "never"})


@rows(
    "prompt, said, window, crowded",
    [(90, 9, 100, True), (60, 9, 100, False), (60, 9, None, True), (60, 20, 100, False)],
)
def test_an_answer_is_cut_for_want_of_room_or_for_its_own_length(
    prompt: int, said: int, window: int | None, crowded: bool
) -> None:
    answer = Answered("so f", Finished("length", prompt_tokens=prompt, completion_tokens=said))
    assert answer.crowded(20, window) == crowded


async def test_the_log_says_what_was_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    script = [{"text": "a"}, {"text": "b"}, {"error": "too long"}, {"text": "c"}, {"text": "d"}]
    provider = ScriptedProvider([ScriptedStep.model_validate(step) for step in script])
    ask = {"command": "message", "session_id": "S", "prompt": "say", "content": "x", "output_format": "text"}
    said = await answers(provider, ask, ask, ask, ask)
    assert [sorted(each) for each in said] == [["ok", "result"]] * 4
    assert [record.args[1] for record in caplog.records if record.levelname == "WARNING" and record.args] == [1]  # type: ignore[index]


async def answers(provider: ScriptedProvider, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what a gateway with a script answers; `S` stands for a session, which is opened first."""
    written: list[bytes] = []

    async def write(data: bytes) -> None:
        written.append(data)

    async def available() -> str | None:
        return None

    gateway = Gateway(provider, write, available, Limits())
    gateway.take(b'{"command":"open-session"}')
    while not written:
        await asyncio.sleep(0)
    session = json.loads(written.pop())["session_id"]
    for request in requests:
        gateway.take(json.dumps(request).replace('"S"', json.dumps(session)).encode())
    await gateway.finish()
    await gateway.ended.wait()
    return [json.loads(line) for line in written]


def message(**more: Any) -> dict[str, Any]:
    asked = {"command": "message", "session_id": "S", "prompt": "p", "content": "c", "output_format": "text"}
    return asked | more


async def test_a_model_that_is_not_there_is_unavailable_and_the_session_goes_on() -> None:
    provider = ScriptedProvider([ScriptedStep(error="unavailable"), ScriptedStep(text="back")])
    assert await answers(provider, message(), message()) == [
        {"ok": False, "error": "model_unavailable"},
        {"ok": True, "result": "back"},
    ]


async def test_messages_of_one_session_keep_their_order_with_ids_too() -> None:
    provider = ScriptedProvider([ScriptedStep(text="one", delay_s=0.05), ScriptedStep(text="two")])
    sent = [message(request_id=1), message(request_id=2), {"command": "close-session", "session_id": "S"}]
    assert await answers(provider, *sent) == [
        {"ok": True, "result": "one", "request_id": 1},
        {"ok": True, "result": "two", "request_id": 2},
        {"ok": True},
    ]


async def test_a_request_with_an_id_does_not_wait_for_others() -> None:
    provider = ScriptedProvider([ScriptedStep(text="slow", delay_s=0.05)])
    assert await answers(provider, message(), {"command": "check-availability", "request_id": "now"}) == [
        {"ok": True, "available": True, "request_id": "now"},
        {"ok": True, "result": "slow"},
    ]


async def test_shutdown_answers_what_it_stops() -> None:
    """Running messages with an id are stopped, and each gets its one response before that of `shutdown`."""
    provider = ScriptedProvider([ScriptedStep(hang=True)])
    stopped = "execution_failed: the gateway was shut down"
    assert await answers(provider, message(request_id=1), {"command": "shutdown"}, message()) == [
        {"ok": False, "error": stopped, "request_id": 1},
        {"ok": True},
    ]


def test_why_a_model_is_not_available(tmp_path: Path) -> None:
    assert platform_problem("linux", "x86_64") is None
    assert platform_problem("darwin", "arm64") is None
    assert "darwin x86_64" in str(platform_problem("darwin", "x86_64"))
    missing = str(missing_packages(("json", "no_such_package")))
    assert missing.startswith("not installed: no_such_package; ")
    assert missing.endswith(how_to_install("mlx"))
    assert "not downloaded" in str(missing_files(tmp_path / "nowhere"))
    (tmp_path / "config.json").touch()
    assert "lacks tokenizer.json, model*.safetensors" in str(missing_files(tmp_path))
    assert memory_problem(10, 10) is None
    assert memory_problem(10, None) is None
    assert SAYS.not_enough_memory in str(memory_problem(3 << 20, 1 << 20))
    for played in ("script:anything", "replay:anything", "replay-timed:anything"):
        assert unavailable_because(played) is None


@pytest.mark.model
def test_a_model_of_the_hub_is_looked_for_where_pull_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway once looked for a folder `org/name` below its own."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    why = str(unavailable_because("org/name"))
    assert why.startswith("the model is not downloaded: it was not pulled; run `remit model pull org/name`")
    commit = "c" * 40
    repository = tmp_path / "hub" / "models--org--name"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    for name, data in small_model().items():
        (snapshot / name).write_bytes(data)
    assert unavailable_because("org/name") is None
