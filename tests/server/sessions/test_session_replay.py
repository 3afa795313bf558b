"""SES-02: a session's file gives back the conversation that it was written from, and nothing of it runs again."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from programs_started import programs_started
from rows import rows

from remit_server.agent.context.conversation import Condensed, Conversation
from remit_server.contract import (
    AssistantSaid,
    CallAnswer,
    CallEnded,
    ModelConfig,
    QuestionAnswered,
    RunResult,
    Scope,
    TurnEnded,
)
from remit_server.harness.ports import NobodyToAsk
from remit_server.models.ports import (
    AssistantMessage,
    Message,
    ProposedCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from remit_server.sessions.answers import answer_words
from remit_server.sessions.export import to_markdown
from remit_server.sessions.folder import SessionFolder
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.replay import NOT_KEPT, replay
from remit_server.sessions.session_file import SessionError, SessionFile, read_session, to_lines

MODEL = ModelConfig(provider="script", model="m")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.dictionaries(
    TEXT, st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXT, st.lists(TEXT)), max_size=3
)


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """Draws an answer with its calls and their results."""
    numbers = itertools.count(draw(st.integers(0, 10**9)))
    calls = tuple(ProposedCall(f"c{next(numbers)}", draw(TEXT), draw(VALUES)) for _ in range(draw(st.integers(0, 3))))
    return [AssistantMessage(draw(TEXT), calls), *(ToolMessage(each.id, each.name, draw(TEXT)) for each in calls)]


TURNS = st.lists(st.tuples(TEXT, TEXT, st.lists(steps(), max_size=3), st.booleans()), max_size=4)


def recorder(path: Path) -> Recorder:
    return Recorder(SessionFile(path), "s", "/w", "0", lambda text: text)


def ended(turn: str) -> RunResult:
    return RunResult(session_id="s", turn_id=turn, status="completed", final_output="")


@given(TURNS.filter(bool))
@settings(max_examples=examples(200), deadline=None)
def test_SES_02_replay_is_the_conversation_that_was_had(
    turns: list[tuple[str, str, list[list[Message]], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        writer, had = recorder(path), Conversation()
        for number, (words, more, answers, condensed) in enumerate(turns):
            writer.begin(str(number), MODEL)
            had.keep = writer.keep
            had.say(SystemMessage("stay")) if not had.messages else None
            had.say(UserMessage(words + more), words)
            for message in itertools.chain.from_iterable(answers):
                had.say(message)
            had.pins += (words,)
            writer.keep_pins((words,))
            if condensed:
                had.condense(Condensed((had.messages[0], UserMessage("in short")), len(had.messages)))
            writer.end(ended(str(number)))
        writer.close("closed")
        found = replay(read_session(path).records).conversation()
        assert found.messages == had.messages
        assert found.sent == had.sent
        assert found.pins == had.pins


@given(TURNS.filter(bool), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_SES_02_a_file_that_ends_anywhere_leaves_no_call_open(
    turns: list[tuple[str, str, list[list[Message]], bool]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        writer = recorder(path)
        for number, (words, _, answers, _) in enumerate(turns):
            writer.begin(str(number), MODEL)
            for message in (UserMessage(words), *itertools.chain.from_iterable(answers)):
                writer.keep(message, None)
            writer.end(ended(str(number)))
        writer.file.close()
        records = read_session(path).records
    messages = replay(records[: data.draw(st.integers(0, len(records)))]).conversation().messages
    open_calls = [c.id for m in messages if isinstance(m, AssistantMessage) for c in m.calls]
    assert open_calls == [m.call_id for m in messages if isinstance(m, ToolMessage)]


READ = [intent("READ_FILE"), call("read_file", path="a.py")]


async def test_SES_02_a_new_process_goes_on_with_it_and_runs_nothing(make_bench: Any) -> None:
    first: Bench = await make_bench({"calls": READ}, {"text": "it adds up"}, {"text": "again"})
    await first.ask("what does it do?")
    before = first.runtime._sessions.by_id["s"].conversation.messages
    await first.runtime.close()
    records = len(first.audit())

    second: Bench = await make_bench({"text": "three"})
    assert (await second.ask("how many?")).final_output == "three"
    messages = second.runtime._sessions.by_id["s"].conversation.messages
    assert messages[: len(before)] == before
    assert [m.text for m in messages[len(before) :]] == ["how many?", "three"]
    kinds = [record.event.kind for record in second.audit()[records:]]
    assert "tool_intent" not in [kind.value for kind in kinds], "no call of the file was made again"


async def test_SES_02_loading_starts_no_process(make_bench: Any) -> None:
    command = {"calls": [intent("EXECUTE"), call("run_command", command="echo ran")]}
    first: Bench = await make_bench(command, {"text": "it ran"})
    with programs_started() as ran:
        await first.ask("run it")
    # Show that `programs_started` works: it counts a turn that runs a command.
    assert ran or first.of("tool_result")[-1].error is not None
    await first.runtime.close()
    with programs_started() as started:
        second: Bench = await make_bench({"text": "yes"})
        assert (await second.ask("did it run?")).final_output == "yes"
        (session,) = second.runtime.sessions.list()
        assert second.runtime.sessions.read(session)
    assert started == []


async def test_SES_02_two_processes_take_turns_in_one_session(make_bench: Any) -> None:
    first: Bench = await make_bench({"text": "one"}, {"text": "three"})
    second: Bench = await make_bench({"text": "two"}, script="second.json")
    await first.ask("1")
    await second.ask("2")
    await first.ask("3")
    said = [
        m.text for m in first.runtime._sessions.by_id["s"].conversation.messages if not isinstance(m, SystemMessage)
    ]
    assert said == ["1", "one", "2", "two", "3", "three"]


async def test_SES_03_a_turn_in_a_session_that_another_process_uses_is_refused(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "one"}, {"text": "two"})
    await bench.ask("1")
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    other = SessionFile(path)
    other.acquire()
    result = await bench.ask("2")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "busy"
    other.close()
    assert (await bench.ask("3")).status == "completed"


async def test_SES_01_the_file_says_what_was_said_called_and_answered(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": READ}, {"text": "it adds up"})
    await bench.ask("what does it do?")
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    records = read_session(path).records
    kinds = [record.type for record in records]
    assert kinds == [
        "session_start",
        "turn_start",
        "workflow",
        "system",
        "user",
        "assistant",
        "tool_call",
        "tool_call",
        "intent",
        "tool_result",
        "tool_result",
        "assistant",
        "turn_end",
    ]
    (read,) = [each for each in records if isinstance(each, CallEnded) and each.name == "read_file"]
    assert (read.success, read.decision, read.intent) == (True, "allowed", "READ_FILE")
    assert "total += n" in read.output
    (end,) = [each for each in records if isinstance(each, TurnEnded)]
    assert (end.status, end.final_output) == ("completed", "it adds up")
    assert [each.content for each in records if isinstance(each, AssistantSaid)] == ["", "it adds up"]


async def test_SES_02_the_file_says_what_a_turn_changed_and_what_takes_it_back(make_bench: Any) -> None:
    """A client that draws the session again shows what it showed before: the end of each turn, and who allowed what."""
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("write_file", path="b.py", content="x\n")]}, {"text": "done"}
    )
    turns = [await bench.ask("1"), await bench.ask(UNDO)]
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    records = read_session(path).records
    ends = [each for each in records if isinstance(each, TurnEnded)]
    assert [(each.changes, each.taken_back_by) for each in ends] == [
        (each.changes, each.taken_back_by) for each in turns
    ]
    assert [each.taken_back_by for each in ends] == ["undo", "redo"]
    wrote = next(each for each in records if isinstance(each, CallEnded) and each.name == "write_file")
    (asked,) = [each for each in records if isinstance(each, QuestionAnswered) and each.title]
    assert wrote.answer == CallAnswer(approval_id=asked.approval_id, decision="allow", by="person")


async def test_SES_02_what_a_turn_changed_is_told_of_a_session_that_an_older_version_kept(make_bench: Any) -> None:
    steps = [
        {"calls": [intent("CODE"), call("write_file", path="b.py", content="x\ny\n")]},
        {"calls": [intent("CODE"), call("write_file", path="a.py", content="total = 1\n")]},
        {"calls": [intent("CODE"), call("move_file", path="b.py", new_path="c.py")]},
        {"text": "done"},
    ]
    bench: Bench = await make_bench(*steps)
    turns = [await bench.ask("1"), await bench.ask(UNDO)]
    assert [len(each.changes) for each in turns] == [2, 2]
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    for record in kept:
        for name in ("changes", "taken_back_by") if record["type"] == "turn_end" else ():
            del record[name]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in kept))
    folder = SessionFolder(bench.settings.session_folder)
    ends = [each for each in folder.replayed(folder.find("last")) if isinstance(each, TurnEnded)]
    assert [(each.changes, each.taken_back_by) for each in ends] == [
        (each.changes, each.taken_back_by) for each in turns
    ]


UNDO = {"type": "call", "tool": "undo_changes", "arguments": {}, "intent": "CODE"}
SECRET = "ghp_" + "a1B2" * 9


async def test_SES_01_no_secret_is_in_the_file(make_bench: Any) -> None:
    """Whether it comes from the person, the model, a file or an argument."""
    write = call("write_file", path="b.py", content=f"token = '{SECRET}'")
    bench: Bench = await make_bench(
        {"text": f"I see {SECRET}", "calls": [intent("CODE"), write]}, {"text": f"done with {SECRET}"}
    )
    await bench.ask(f"my token is {SECRET}")
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    assert SECRET not in path.read_text()
    assert "my token is" in path.read_text()


async def test_SES_01_no_session_is_kept_where_that_is_off(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "one"}, save=False)
    assert (await bench.ask("1")).status == "completed"
    assert not bench.settings.session_folder.exists()


async def test_SES_02_a_call_without_a_result_is_told_as_such(tmp_path: Path) -> None:
    writer = recorder(tmp_path / "s.jsonl")
    writer.begin("1", MODEL)
    writer.keep(AssistantMessage("", (ProposedCall("c1", "read_file", {}),)), None)
    writer.file.close()
    again = recorder(tmp_path / "s.jsonl")
    conversation = await asyncio.to_thread(again.begin, "2", MODEL)
    assert conversation is not None
    assert conversation.messages[-1] == ToolMessage("c1", "read_file", NOT_KEPT)


# the folder


def made(folder: SessionFolder, session: str, words: str) -> None:
    writer = Recorder(SessionFile(folder.file_of(session)), session, "/w", "0", lambda text: text)
    writer.begin("1", MODEL)
    writer.keep(UserMessage(words), words)
    writer.end(ended("1"))
    writer.file.close()


def test_SES_04_sessions_are_listed_and_found_by_their_files_alone(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    assert folder.list() == []
    for name in ("a", "b", "c"):
        made(folder, name, f"words of {name}")
    listed = folder.list()
    assert {each.session_id for each in listed} == {"a", "b", "c"}
    assert folder.find("b").title == "words of b"
    assert folder.find("last") == folder.find("1") == listed[0]
    for damage in (b"", b"{", b"[1]", b'{"x": [1, 2, {}]}'):
        (tmp_path / "index.json").write_bytes(damage)
        assert folder.list() == listed
    (tmp_path / "index.json").unlink()
    assert folder.list() == listed


def test_SES_04_what_is_no_session_hinders_no_list(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    made(folder, "a", "words")
    (tmp_path / "session-1.jsonl").write_bytes(b"\xff\xfe")
    (tmp_path / "session-2.jsonl").mkdir()
    (tmp_path / "session-3.jsonl").write_bytes(to_lines([]))
    os.mkfifo(tmp_path / "session-4.jsonl")
    (tmp_path / "session-5.jsonl").symlink_to("/dev/zero")
    assert [each.session_id for each in folder.list()] == ["a"]
    folder.forget_contents()
    assert folder.prune(days=0, most=3) is not None


def test_SES_04_old_sessions_go_and_those_in_use_stay(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    for name in ("a", "b", "c"):
        made(folder, name, name)
        old = time.time() - 40 * 86_400
        os.utime(folder.file_of(name), (old, old))
    made(folder, "new", "new")
    used = SessionFile(folder.file_of("b"))
    used.acquire()
    assert len(folder.prune(days=30, most=100)) == 2
    assert {each.session_id for each in folder.list()} == {"b", "new"}
    used.close()
    assert folder.prune(days=0, most=1)
    assert [each.session_id for each in folder.list()] == ["new"]


async def test_SES_04_no_more_sessions_are_kept_than_are_set(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "one"}, {"text": "two"}, {"text": "three"}, count=2)
    for name in ("a", "b", "c"):
        await bench.ask("go", session=name)
    assert [each.session_id for each in bench.runtime.sessions.list()] == ["c", "b"]


@pytest.mark.parametrize("wanted", ["", "0", "9", "nobody", "../../etc/passwd", "*", "last"])
def test_SES_04_a_session_that_is_not_there(wanted: str, tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    if wanted != "last":
        made(folder, "a", "words")
    with pytest.raises(SessionError, match="there is no session"):
        folder.find(wanted)


async def test_SES_04_a_result_that_was_written_again_is_shown_once(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": [intent("CODE"), call("read_file", path="none.py")]}, {"text": "done"})
    await bench.ask("read it")
    (session,) = bench.runtime.sessions.list()
    page = to_markdown(bench.runtime.sessions.read(session))
    assert page.count("read_file:") == 1


async def test_SES_04_a_page_tells_an_intent_once_and_an_answer_in_words(make_bench: Any) -> None:
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("write_file", path="a.py", content="a = 1\n"), call("git_status")]},
        {"text": "done"},
    )
    await bench.ask("write it", asker=Answering())
    (session,) = bench.runtime.sessions.list()
    page = to_markdown(bench.runtime.sessions.read(session))
    assert ("→ select_active_intent" in page, page.count("Intent CODE")) == (False, 1)
    assert ("allowed once by you" in page, "(person, once)" in page) == (True, False)
    assert "{}" not in page


@pytest.mark.parametrize("asker", [Answering("deny"), NobodyToAsk()], ids=["no", "nobody"])
async def test_SES_04_a_refusal_is_told_once_and_not_in_the_words_for_the_model(asker: Any, make_bench: Any) -> None:
    write = call("write_file", path="a.py", content="a = 1\n")
    bench: Bench = await make_bench({"calls": [intent("CODE"), write]}, {"text": "done"})
    await bench.ask("write it", asker=asker)
    (result,) = bench.of("tool_result")
    (session,) = bench.runtime.sessions.list()
    records = bench.runtime.sessions.read(session)
    ended = [each for each in records if isinstance(each, CallEnded) and each.name == "write_file"]
    assert {each.output for each in ended} == {result.output}, "the model is told what became of its call"
    page = to_markdown(records)
    assert (page.count(result.error.why), "fix:" in page, f"error {result.error.code}" in page) == (1, False, False)
    assert ("Not asked" in page) == isinstance(asker, NobodyToAsk)


@rows(
    "told, words",
    {
        ("allow", "once", "person", None): "allowed once by you",
        ("deny", "once", "person", None): "denied by you",
        ("allow", "session", "standing_answer", None): "allowed for this session by an answer you gave before",
        ("allow", "once", "review", "the review was approved"): "allowed once: the review was approved",
        ("deny", "once", "deadline", None): "denied: nobody answered in time",
        ("deny", "once", "by_a_newer_version", None): "denied: by_a_newer_version",
    }.items(),
)
def test_CLI_05_how_a_question_ended_is_told_in_words(told: tuple[Any, str, str, str | None], words: str) -> None:
    decision, scope, by, reason = told
    assert answer_words(decision, Scope(scope), by, reason) == words
