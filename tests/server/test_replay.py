"""Recording and replay: the same events for the same requests, no secrets, and no silent difference."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import project
from command_line import CommandLine
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Intent
from remit_server.contract import ErrorCode
from remit_server.errors import ModelFailed, ModelUnavailable, RemitError, SetupError
from remit_server.models.choose import choose_provider
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    ModelProvider,
    ModelState,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    Traits,
    UserMessage,
)
from remit_server.models.recorded.recorder import Recorder
from remit_server.models.recorded.replay import ReplayProvider

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
READ = ToolSpec("read_file", "Read.", {"type": "object"})


@dataclass(frozen=True)
class Answer:
    """An answer of the tests' model, and how it ends: by itself, with an error, or not at all."""

    events: Sequence[ModelEvent]
    error: RemitError | None = None
    heard: int | None = None
    """The reader stops after this many events."""


@dataclass
class Telling(ModelProvider):
    """A model that gives its answers in order."""

    answers: list[Answer]
    closed: bool = False
    asked: list[GenerateRequest] = field(default_factory=list)

    @property
    def traits(self) -> Traits:
        return Traits("telling", reads_context=False)

    @property
    def state(self) -> ModelState:
        return "ready"

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        self.asked.append(request)
        answer = self.answers[len(self.asked) - 1]
        for event in answer.events:
            yield event
        if answer.error is not None:
            raise answer.error

    async def close(self) -> None:
        self.closed = True


def ask(text: str, **more: Any) -> GenerateRequest:
    return GenerateRequest("s", (SystemMessage("be brief"), UserMessage(text)), {Intent.READ_FILE: (READ,)}, **more)


async def heard(provider: ModelProvider, request: GenerateRequest, most: int | None = None) -> tuple[Any, ...]:
    """Returns the events of a generation and the error at their end, if any; stops reading after `most` events."""
    found: list[Any] = []
    try:
        async with aclosing(provider.generate(request)) as events:
            if most == 0:
                return ()
            async for event in events:
                found.append(event)
                if len(found) == most:
                    break
    except RemitError as error:
        found.append((type(error), error.code, error.what, error.why, error.fix, error.retryable))
    return tuple(found)


def recorder(file: Path, *answers: Answer) -> Recorder:
    return Recorder(Telling(list(answers)), file, Redactor().redact)


def player(file: Path, *, timed: bool = False) -> ReplayProvider:
    return ReplayProvider.from_file(file, Redactor().redact, timed=timed)


WORDS = st.text(max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
CALLS = st.builds(ProposedCall, WORDS, WORDS, st.dictionaries(WORDS, JSON, max_size=3))
SAID = st.one_of(st.builds(TextDelta, WORDS), st.builds(ThinkingDelta, WORDS), st.builds(CallProposed, CALLS))
COUNTS = st.integers(0, 1 << 40)
ENDS = st.builds(Finished, st.sampled_from(["stop", "length", "declined"]), COUNTS, COUNTS, COUNTS)
ERRORS = st.builds(
    lambda kind, what, why, fix, code, again: kind(what, why, fix, code=code, retryable=again),
    st.sampled_from([ModelFailed, ModelUnavailable]), WORDS, WORDS, WORDS, st.sampled_from(ErrorCode), st.booleans(),
)  # fmt: skip
ANSWERS = st.one_of(
    st.builds(lambda said, end: Answer([*said, end]), st.lists(SAID, max_size=6), ENDS),
    st.builds(Answer, st.lists(SAID, max_size=6), ERRORS),
    st.builds(
        lambda said, n: Answer(said, heard=min(n, len(said))), st.lists(SAID, min_size=1, max_size=6), st.integers(1, 6)
    ),
)
MESSAGES = st.one_of(
    st.builds(UserMessage, WORDS),
    st.builds(AssistantMessage, WORDS, st.lists(CALLS, max_size=2).map(tuple)),
    st.builds(ToolMessage, WORDS, WORDS, st.text(st.characters(codec=None), max_size=12)),
)
REQUESTS = st.builds(
    GenerateRequest,
    WORDS,
    st.lists(MESSAGES, max_size=4).map(tuple),
    st.sampled_from([{}, {Intent.READ_FILE: (READ,)}]),
    answer_schema=st.none() | st.dictionaries(WORDS, JSON, max_size=2),
)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(REQUESTS, ANSWERS), max_size=4))
def test_what_was_recorded_is_played_back(
    tmp_path_factory: pytest.TempPathFactory, traffic: list[tuple[GenerateRequest, Answer]]
) -> None:
    file = tmp_path_factory.mktemp("r") / "recording"

    async def round_trip() -> None:
        recording = recorder(file, *(answer for _, answer in traffic))
        first = [await heard(recording, request, answer.heard) for request, answer in traffic]
        await recording.close()
        playing = player(file)
        again = [
            await heard(playing, replace(request, session_id="another"), answer.heard) for request, answer in traffic
        ]
        assert again == first

    asyncio.run(round_trip())


async def test_a_recorder_changes_nothing(tmp_path: Path) -> None:
    model = Telling([Answer([TextDelta("hi"), Finished("stop", 3, 1, 2)])])
    recording = Recorder(model, tmp_path / "r", Redactor().redact)
    assert (recording.name, recording.state, recording.reads_context) == ("telling", "ready", False)
    assert await heard(recording, ask("x")) == (TextDelta("hi"), Finished("stop", 3, 1, 2))
    await recording.close()
    assert model.closed
    assert player(tmp_path / "r").reads_context is False
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o600


async def test_no_secret_is_recorded_and_the_rest_still_matches(tmp_path: Path) -> None:
    pieces = [SECRET[:9], SECRET[9:20], SECRET[20:]]
    call = CallProposed(ProposedCall("c1", "write_file", {"path": "a", SECRET: [SECRET]}))
    said = [TextDelta("the token is "), *map(TextDelta, pieces), call, Finished("stop")]
    failure = ModelFailed("it failed", f"with {SECRET}", "ask again")
    recording = recorder(tmp_path / "r", Answer(said), Answer([TextDelta("x")], failure))
    first = ask(f"use {SECRET}")
    second = replace(first, messages=(*first.messages, ToolMessage("c1", "read_file", f"K={SECRET}")))
    assert (await heard(recording, first))[-1] == Finished("stop")
    await heard(recording, second)
    await recording.close()
    kept = (tmp_path / "r").read_text()
    assert SECRET not in kept
    assert not any(piece in kept for piece in pieces)

    playing = player(tmp_path / "r")
    text, played, _ = await heard(playing, first)
    assert text == TextDelta("the token is [redacted github token]")
    assert played.call.arguments == {"path": "a", "[redacted github token]": ["[redacted github token]"]}
    assert (await heard(playing, second))[0] == TextDelta("x")


CHANGES = {
    "text": (lambda r: replace(r, messages=(r.messages[0], UserMessage("rename b"))), ("message 2", "`rename a`", "`rename b`")),
    "more": (lambda r: replace(r, messages=(*r.messages, UserMessage("and"))), ("2 messages", "has 3")),
    "tool": (lambda r: replace(r, intents={Intent.READ_FILE: (replace(READ, name="r"),)}), ("READ_FILE differs", '"r"')),
    "role": (lambda r: replace(r, messages=(r.messages[0], SystemMessage("rename a"))), ("message 2", "user", "system")),
    "tools": (lambda r: replace(r, intents={}), ("intents had READ_FILE",)),
    "schema": (lambda r: replace(r, answer_schema={"type": "null"}), ("answer_schema differs", "null")),
    "tokens": (lambda r: replace(r, max_tokens=5), ("max_tokens differs", "`1024`", "`5`")),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_another_request_is_refused_with_the_first_difference(tmp_path: Path, change: str) -> None:
    recording = recorder(tmp_path / "r", Answer([Finished("stop")]), Answer([Finished("length")]))
    await heard(recording, ask("something quite different"))
    await heard(recording, ask("rename a"))
    await recording.close()
    changed, words = CHANGES[change]
    playing = player(tmp_path / "r")
    with pytest.raises(ModelFailed) as refused:
        await heard_or_raise(playing, changed(ask("rename a")))
    assert all(word in refused.value.why for word in words), refused.value.why
    if change != "more":
        assert "answer" in refused.value.why
    assert await heard(playing, ask("rename a")) == (Finished("length"),)


async def heard_or_raise(provider: ModelProvider, request: GenerateRequest) -> list[ModelEvent]:
    return [event async for event in provider.generate(request)]


async def test_equal_requests_are_answered_in_order_and_each_once(tmp_path: Path) -> None:
    recording = recorder(tmp_path / "r", *(Answer([TextDelta(str(n)), Finished("stop")]) for n in range(3)))
    for _ in range(3):
        await heard(recording, ask("again"))
    await recording.close()
    playing = player(tmp_path / "r")
    assert [(await heard(playing, ask("again")))[0].text for _ in range(3)] == ["0", "1", "2"]
    with pytest.raises(ModelFailed, match="all of its 3 answers"):
        await heard_or_raise(playing, ask("again"))


async def test_what_was_cancelled_goes_on_for_ever(tmp_path: Path) -> None:
    recording = recorder(tmp_path / "r", Answer([TextDelta("a"), TextDelta("b")]))
    await heard(recording, ask("x"), 1)
    await recording.close()
    events = player(tmp_path / "r").generate(ask("x"))
    assert await anext(events) == TextDelta("a")
    waiting = asyncio.ensure_future(anext(events))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    waiting.cancel()
    await asyncio.wait([waiting])
    await events.aclose()


async def test_pauses_are_played_where_they_are_asked_for(tmp_path: Path) -> None:
    recording = recorder(tmp_path / "r", Answer([TextDelta("a"), Finished("stop")]))
    await heard(recording, ask("x"))
    await recording.close()
    lines = [json.loads(line) for line in (tmp_path / "r").read_bytes().splitlines()]
    for line in lines:
        line.update({"at_s": 0.3} if "at_s" in line else {})
    (tmp_path / "r").write_text("".join(json.dumps(line) + "\n" for line in lines))
    began = time.monotonic()
    await heard(player(tmp_path / "r", timed=True), ask("x"))
    assert time.monotonic() - began >= 0.3


async def test_a_later_recording_is_added_and_a_torn_line_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "r"
    for text in ("one", "two"):
        recording = recorder(file, Answer([TextDelta(text), Finished("stop")]))
        await heard(recording, ask(text))
        await recording.close()
        with file.open("ab") as torn:
            torn.write(b'{"kind": "request", "id": "x", "dig')
    playing = player(file)
    assert [(await heard(playing, ask(text)))[0].text for text in ("two", "one")] == ["two", "one"]


async def test_every_cut_of_a_recording_plays_what_is_whole(tmp_path: Path) -> None:
    recording = recorder(tmp_path / "r", Answer([TextDelta("a"), TextDelta("b"), Finished("stop")]))
    whole = await heard(recording, ask("x"))
    await recording.close()
    data = (tmp_path / "r").read_bytes()
    cut = tmp_path / "cut"
    header = data.index(b"\n") + 1
    for size in range(header, len(data) + 1, 7):
        cut.write_bytes(data[:size])
        played = await heard(player(cut), ask("x"))
        assert played == whole if size == len(data) else played[:-1] == whole[: len(played) - 1]
        assert size == len(data) or played[-1][0] is ModelFailed or played == whole


@pytest.mark.parametrize("damage", ["other", "changed", "later", "empty", "missing", "event"])
def test_what_is_no_recording_is_refused(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "r"
    recording = recorder(file, Answer([TextDelta("a"), Finished("stop")]))
    asyncio.run(heard(recording, ask("rename a")))
    asyncio.run(recording.close())
    text = file.read_text()
    damaged = {
        "other": '[{"text": "hello"}]\n',
        "changed": text.replace("rename a", "rename b"),
        "later": text.replace('"kind": "end"', '"kind": "rest"'),
        "empty": "",
        "missing": text.split("\n", 1)[1],
        "event": text.replace('"text": "a"', '"text": 5'),
    }
    file.write_text(damaged[damage])
    with pytest.raises(SetupError):
        choose_provider(f"replay:{file}")


def test_no_other_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("key", "link", "folder", "pipe", "none/below"):
        with pytest.raises(SetupError):
            recorder(tmp_path / name)
    assert (tmp_path / "key").read_text() == "precious"


@pytest.mark.slow
def test_kill_9_leaves_a_recording_that_plays(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from remit_governance.secrets.redaction import Redactor
from remit_server.models.ports import *
from remit_server.models.recorded.recorder import Recorder
class Endless(ModelProvider):
    traits, state = Traits("endless"), "ready"
    async def generate(self, request):
        while True:
            yield CallProposed(ProposedCall("c", "read_file", {"path": "x" * 200}))
            print(flush=True)
async def main():
    request = GenerateRequest("s", (UserMessage("go"),), {})
    async for _ in Recorder(Endless(), Path(sys.argv[1]), Redactor().redact).generate(request):
        pass
asyncio.run(main())
"""
    file = tmp_path / "r"
    for events in (1, 7, 40):
        file.unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(events):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        *played, end = asyncio.run(heard(player(file), GenerateRequest("t", (UserMessage("go"),), {})))
        assert len(played) >= events
        assert end[:3] == (ModelFailed, ErrorCode.MODEL_FAILED, SAYS.the_recording_ends_here)


# the whole program


def comparable(events: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns a turn's events without times, ids of this run, and the model's name."""
    varying = {
        "time",
        "session_id",
        "turn_id",
        "duration_ms",
        "approval_id",
        "deadline",
        "digest",
        "workspace",
        "always_rule",
        "model",
    }

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items() if key not in varying}
        return [without(item) for item in value] if isinstance(value, list) else value

    return [without(event.model_dump(mode="json")) for event in events]


async def run_turn(folder: Path, model: str, record: Path | None = None) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Runs a rename in a workspace of its own; returns the events and the files that it left."""
    files = {"src/cart.py": "total = 0\nfor n in (1, 2):\n    total += n\n"}
    async with project(folder, files, name=model, record=record) as bench:
        await bench.ask("rename total to subtotal in src/cart.py", session=folder.name)
    return comparable(bench.events), {path.name: path.read_text() for path in bench.workspace.rglob("*.py")}


@pytest.mark.slow
async def test_a_turn_of_the_built_in_model_is_played_back(tmp_path: Path) -> None:
    file = tmp_path / "turn.jsonl"
    events, files = await run_turn(tmp_path / "first", "built-in", file)
    assert "subtotal" in files["cart.py"], "the model did its work, or there is nothing to compare"
    again, same = await run_turn(tmp_path / "second", f"replay:{file}")
    assert again == events
    assert same == files


async def test_the_person_s_patterns_and_environment_are_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "correct-horse-battery")
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "it is correct-horse-battery"}]))
    file = tmp_path / "turn.jsonl"
    events, _ = await run_turn(tmp_path / "first", f"script:{script}", file)
    assert "correct-horse" not in file.read_text()
    assert "[redacted secret]" in file.read_text()
    again, _ = await run_turn(tmp_path / "second", f"replay:{file}")
    assert [event["kind"] for event in again][-1] == events[-1]["kind"] == "run_completed"
    assert again[-1]["result"]["final_output"] == "it is [redacted secret]"


@pytest.mark.slow
def test_a_recording_is_made_and_played_from_the_command_line(tmp_path: Path) -> None:
    remit = CommandLine.alone(tmp_path, tmp_path)
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "Hello there."}]))
    first = remit("say hello", "--json", "--model", f"script:{script}", "--record", "turn.jsonl")
    assert first.code == 0, first
    played = remit("say hello", "--json", REMIT_MODEL=f"replay:{tmp_path / 'turn.jsonl'}")
    assert played.code == 0, played
    assert played.of("run_completed")[0]["result"]["final_output"] == "Hello there."
    other = remit("hello you", "--json", REMIT_MODEL=f"replay:{tmp_path / 'turn.jsonl'}")
    assert other.code == 1
    assert "message 2 differs" in other.of("run_completed")[0]["result"]["error"]["why"]
    assert remit("model", "check", f"replay:{tmp_path / 'turn.jsonl'}").code == 0
