"""MOD-21: a small model is shown examples of tool use, and their results are what the tools really return."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from bench_runtime import call, intent
from jsonschema import Draft202012Validator
from pydantic import JsonValue
from rows import rows

from remit_governance.intents import INTENT_TOOLS, SELECT_INTENT
from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Intent
from remit_server.agent.context.budget import count_chars
from remit_server.agent.context.conversation import Conversation
from remit_server.agent.context.generation import Generation
from remit_server.agent.context.tool_budget import LEADS_ON, fit_tools
from remit_server.agent.context.window import Window
from remit_server.errors import SetupError
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    GenerateRequest,
    Message,
    Nameable,
    PathsOnOffer,
    ProposedCall,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.profile import (
    LARGE,
    SMALL,
    SMALL_NATIVE,
    TINY,
    TINY_NATIVE,
    Profile,
    choose_profile,
    chosen_profile,
    named_parameters,
)
from remit_server.models.steps.held import StepReader, spell_conversation, spell_step
from remit_server.models.steps.schema import Form, nested_tools, step_schema
from remit_server.models.steps.telling import DIALOGUES, FILES, standing_messages
from remit_server.tools.table import ALL_FILE_ARGUMENTS, FILE_ARGUMENTS, TOOLS

SPECS = {
    name: ToolSpec(name, tool.summary, tool.schema)
    for name, tool in TOOLS.items()
    if not tool.person_only and name not in LEADS_ON
}
OFFER = fit_tools(
    {
        intent: tools
        for intent, row in INTENT_TOOLS.items()
        if (tools := tuple(SPECS[name] for name in row.tools if name in SPECS))
    },
    8_192,
    SMALL,
)
STANDING = standing_messages(SMALL, "the long instructions", OFFER)

NAMES = {
    "qwen2.5-coder:0.5b": 500_000_000,
    "Qwen2.5-Coder-1.5B-Instruct-GGUF": 1_500_000_000,
    "SmolLM2-135M-Instruct": 135_000_000,
    "llama-3.3-70b-versatile": 70_000_000_000,
    "gpt-4.1-mini": None,
    "claude-3b4": None,
    "gemma3:4b-it-q4_K_M": 4_000_000_000,
    "phi4": None,
}


@rows("name", NAMES)
def test_MOD_21_a_name_tells_how_large_a_model_is(name: str) -> None:
    assert named_parameters(name) == NAMES[name]


def test_MOD_21_the_profile_is_chosen_by_the_weights_and_by_what_holds_a_step() -> None:
    assert choose_profile(1_540_000_000, "coder", by_schema=True) is SMALL
    assert choose_profile(1_540_000_000, "coder", by_schema=False) is SMALL_NATIVE
    assert choose_profile(None, "smollm2:135m", by_schema=True) is TINY
    assert choose_profile(None, "smollm2:135m", by_schema=False) is TINY_NATIVE
    assert choose_profile(7_600_000_000, "coder-0.5b", by_schema=True) is LARGE, "what is said counts, not the name"
    assert choose_profile(None, "gpt-5", by_schema=True) is LARGE


def test_MOD_21_a_person_may_choose_the_profile() -> None:
    def chosen(name: str, *, by_schema: bool, parameters: int | None = None) -> Profile:
        return choose_profile(parameters, "m", by_schema=by_schema, chosen=chosen_profile({"REMIT_PROFILE": name}))

    assert chosen_profile({}) is None
    assert chosen("large", by_schema=True, parameters=630_000_000) is LARGE
    assert chosen("small", by_schema=True) is SMALL
    assert chosen("small", by_schema=True, parameters=630_000_000) is SMALL, "no smaller one than was asked for"
    assert chosen("tiny", by_schema=True) is TINY
    assert chosen("tiny", by_schema=False, parameters=7_600_000_000) is TINY_NATIVE
    with pytest.raises(SetupError):
        chosen_profile({"REMIT_PROFILE": "huge"})


async def test_MOD_21_every_result_that_is_shown_is_what_the_tool_says(make_bench: Any) -> None:
    steps = [
        {
            "calls": [
                {"name": SELECT_INTENT, "arguments": {"intent": each.use.intent.value}},
                {
                    "name": each.use.tool,
                    "arguments": {**each.use.arguments, **SMALL.given.get(each.use.tool, {})},
                },
            ]
        }
        for each in DIALOGUES
    ]
    bench = await make_bench(*steps, {"text": "Done."})
    for path in bench.workspace.iterdir():
        path.unlink()
    for name, text in FILES.items():
        (bench.workspace / name).write_text(text)
    assert (await bench.ask("show them all")).status == "completed"
    assert [event.output for event in bench.of("tool_result")] == [each.use.result for each in DIALOGUES]


def test_MOD_21_there_is_a_dialogue_for_each_tool_and_its_call_is_a_step() -> None:
    assert [each.use.tool for each in DIALOGUES] == list(SMALL.tools)
    request = GenerateRequest("s", (), OFFER)
    judge = Draft202012Validator(step_schema(request, Form.TOOL_FIRST))  # type: ignore[arg-type]
    steps = [json.loads(each.text) for each in spelled(STANDING) if isinstance(each, AssistantMessage)]
    assert len(steps) == 2 * len(DIALOGUES)
    assert [error for step in steps for error in judge.iter_errors(step)] == []


def spelled(messages: Sequence[Message]) -> tuple[Message, ...]:
    return spell_conversation((), messages, Form.TOOL_FIRST)


def test_MOD_21_the_instructions_are_short_and_the_same_each_time() -> None:
    assert isinstance(STANDING[0], SystemMessage)
    assert len(STANDING[0].text) < 150
    assert standing_messages(SMALL, "other instructions", OFFER) == STANDING


@pytest.mark.parametrize("must_answer", [False, True])
def test_MOD_21_a_step_is_an_answer_alone_where_only_that_may_be(must_answer: bool) -> None:
    request = GenerateRequest("s", (), OFFER, must_answer=must_answer)
    judge = Draft202012Validator(step_schema(request, Form.TOOL_FIRST))  # type: ignore[arg-type]
    call = {"read_file": "ANALYZE", "path": "a.py"}
    assert judge.is_valid(call) == (not must_answer)
    assert judge.is_valid({"answer": "It defines f."})


def test_MOD_21_only_files_that_are_there_can_be_named_and_any_file_written() -> None:
    paths = PathsOnOffer(FILE_ARGUMENTS, never)
    schema = step_schema(GenerateRequest("s", (), OFFER, paths=paths), Form.TOOL_FIRST, Nameable(frozenset({"a.py"})))
    judge = Draft202012Validator(schema)  # type: ignore[arg-type]
    step = {"read_file": "ANALYZE", "path": "b.py"}
    assert not judge.is_valid(step)
    assert judge.is_valid({**step, "path": "a.py"})
    assert judge.is_valid({"write_file": "CODE", "path": "b.py", "content": "x"})
    assert not judge.is_valid({"write_file": "ANALYZE", "path": "b.py", "content": ""})


def test_MOD_21_a_tiny_model_makes_only_files_that_the_person_named() -> None:
    paths, there = PathsOnOffer(ALL_FILE_ARGUMENTS, never), Nameable(frozenset({"a.py"}), ("new.py",))
    schema = step_schema(GenerateRequest("s", (), OFFER, paths=paths), Form.TOOL_FIRST, there)
    judge = Draft202012Validator(schema)  # type: ignore[arg-type]

    def makes(name: str) -> tuple[bool, bool]:
        write = {"write_file": "CODE", "path": name, "content": "x"}
        move = {"move_file": "CODE", "path": "a.py", "new_path": name}
        return judge.is_valid(write), judge.is_valid(move)

    assert makes("new.py") == (True, True)
    assert makes("made_up.py") == (False, False)


@pytest.mark.parametrize(
    ("model", "name"),
    [("smollm2:135m", "tiny"), ("qwen2.5:0.5b", "tiny"), ("qwen2.5:1.5b", "small"), ("x:7b", "large")],
)
def test_MOD_21_a_model_of_few_weights_is_tiny(model: str, name: str) -> None:
    assert choose_profile(None, model, by_schema=True).name == name
    assert choose_profile(None, model, by_schema=True).invents is (name != "tiny")


def test_MOD_21_who_names_a_file_does_not_ask_for_a_list() -> None:
    paths, there = PathsOnOffer(FILE_ARGUMENTS, never), Nameable(frozenset({"shop/a.py"}))

    def lists(*said: Message) -> bool:
        schema = step_schema(GenerateRequest("s", said, OFFER, paths=paths), Form.TOOL_FIRST, there)
        return Draft202012Validator(schema).is_valid({"list_files": "ANALYZE"})  # type: ignore[arg-type]

    assert lists(UserMessage("which files are there?"))
    assert lists(UserMessage("which files are there?\n\nWhat the editor shows:\nopen document: shop/a.py"))
    assert not lists(UserMessage("list the functions of shop/a.py"))
    assert lists(UserMessage("shop/a.py"), AssistantMessage(""), ToolMessage("1", "read_file", "shop/a.py (empty)"))


async def meet_small() -> Profile:
    return SMALL


async def meet_tiny() -> Profile:
    return replace(TINY, by_rules=False)


def writes(path: str, content: str) -> dict[str, Any]:
    return {"calls": [intent("CODE"), call("write_file", path=path, content=content)]}


@pytest.mark.parametrize("own", [True, False])
async def test_AGT_03_a_warning_that_comes_back_as_the_answer_is_told_as_such(make_bench: Any, own: bool) -> None:
    step = {"calls": [intent("ANALYZE"), call("list_files", pattern="*")]}
    warned = (
        "You made the same call with the same result, 2 times. Do something else now, or answer with what you know."
    )
    bench = await make_bench(step, step, {"text": "There are two files." if own else warned})
    bench.runtime._runner.agent.provider.meet = meet_small
    result = await bench.ask("which files are there?")
    assert result.status == "completed"
    assert [event.message.endswith("what Remit told it") for event in bench.of("warning")] == [not own]


TAKEN_AWAY = {
    "named": ("old_notes.txt", "remove old_notes.txt, please", True),
    "named without its ending": ("old_notes.txt", "can we get rid of the old notes?", True),
    "named before": ("old_notes.txt", "then that one can go", True),
    "not named": ("setup.py", "create a file that ignores what Python leaves", False),
    "a part of another word": ("notes.txt", "the footnotes are wrong", False),
}


@pytest.mark.parametrize("case", TAKEN_AWAY)
@pytest.mark.parametrize("tool", ["delete_file", "move_file"])
async def test_MOD_21_a_tiny_model_takes_away_only_files_that_the_person_named(
    make_bench: Any, case: str, tool: str
) -> None:
    path, request, done = TAKEN_AWAY[case]
    more = {"new_path": "elsewhere.txt"} if tool == "move_file" else {}
    step = {"calls": [intent("CODE"), call(tool, path=path, **more)]}
    bench = await make_bench({"text": "It is long."}, step, {"text": "Done."})
    bench.runtime._runner.agent.provider.meet = meet_tiny
    (bench.workspace / path).write_text("x\n")
    await bench.ask("how long is old_notes?" if case == "named before" else "hello")
    await bench.ask(request)
    assert (bench.workspace / path).exists() is not done


BROKEN = {
    "new Python": ("new.py", None, "def f(:\n", False),
    "Python that was right": ("a.py", "x = 1\n", "x = = 1\n", False),
    "Python that was wrong before": ("a.py", "x = =\n", "x = = 1\n", True),
    "JSON that was right": ("a.json", "{}", "{", False),
    "JSON that stays right": ("a.json", "{}", '{"a": 1}', True),
    "a language that is not known": ("a.ts", "let x", "let let", True),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_TOOL_13_a_careful_model_breaks_no_syntax(make_bench: Any, case: str) -> None:
    path, before, after, written = BROKEN[case]
    read = {"calls": [intent("ANALYZE"), call("read_file", path=path)]}
    bench = await make_bench(*([] if before is None else [read]), writes(path, after), {"text": "Done."})
    bench.runtime._runner.agent.provider.meet = meet_small
    if before is not None:
        (bench.workspace / path).write_text(before)
    await bench.ask("write it")
    place = bench.workspace / path
    assert (place.read_text() if place.exists() else None) == (after if written else before)


NOTEBOOK = '{\n "cells": [],\n "nbformat": 4\n}\n'
NO_DATA = {
    "an edit": ("p.ipynb", NOTEBOOK, call("edit_file", path="p.ipynb", old_text="[],", new_text="[]"), "line 3"),
    "a whole file": ("p.json", "{}", call("write_file", path="p.json", content='{\n"a": 1,\n}'), "line 3"),
    "an emptied file": ("p.json", "{}", call("write_file", path="p.json", content=""), "line 1"),
    "a patch": (
        "p.json",
        "[1]\n",
        call("apply_diff", diff="--- a/p.json\n+++ b/p.json\n@@ -1 +1 @@\n-[1]\n+[1\n"),
        "line 2",
    ),
    "a command": ("p.json", "[1]", call("run_command", command="echo '[1' > p.json"), "line 2"),
    "what was none before": ("p.json", "// a\n{}", call("write_file", path="p.json", content="// b\n{}"), None),
    "a new file": ("p.json", None, call("write_file", path="p.json", content="// b\n{}"), None),
    "data that stays data": ("p.json", "{}", call("write_file", path="p.json", content='{"a": 1}'), None),
    "code, between two edits": ("p.py", "x = 1\n", call("write_file", path="p.py", content="x = (\n"), None),
}


@pytest.mark.parametrize("when", ["each", "turn"])
@pytest.mark.parametrize("case", NO_DATA)
async def test_TOOL_13_a_file_of_data_that_can_no_longer_be_read_is_written_and_that_is_said(
    make_bench: Any, case: str, when: str
) -> None:
    path, before, made, line = NO_DATA[case]
    mode = "EXECUTE" if made["name"] == "run_command" else "CODE"
    bench = await make_bench({"calls": [intent(mode), made]}, {"text": "Done."}, when=when)
    if before is not None:
        (bench.workspace / path).write_text(before)
    await bench.ask("write it")
    ended = bench.of("tool_result")[0]
    notes = [note for note in (ended.data or {}).get("notes", []) if "JSON" in note]
    assert (ended.ok, ended.error) == (True, None)
    assert [f"{line}:" in note for note in notes] == ([] if line is None else [True])
    assert (bench.workspace / path).read_text() != before


async def test_MOD_21_it_writes_no_file_whole_that_it_has_not_read(make_bench: Any) -> None:
    bench = await make_bench(writes("a.py", "x = 2\n"), {"text": "Done."})
    bench.runtime._runner.agent.provider.meet = meet_small
    (bench.workspace / "a.py").write_text("x = 1\n")
    await bench.ask("set x to 2")
    assert bench.of("tool_result")[0].error.code == "stale"
    assert (bench.workspace / "a.py").read_text() == "x = 1\n"


async def never() -> Nameable | None:
    raise AssertionError("the list is given")


def test_MOD_21_what_a_step_did_is_told_as_steps_of_one_call_each() -> None:
    """Happens after a change of the model, or after a step whose declaration was refused."""
    calls = (
        ProposedCall("1", SELECT_INTENT, {"intent": "ANALYZE"}),
        ProposedCall("2", "read_file", {"path": "a.py"}),
        ProposedCall("3", "list_files", {}),
    )
    said = (
        SystemMessage("rules"),
        UserMessage("look"),
        AssistantMessage("", calls),
        ToolMessage("1", SELECT_INTENT, "intent ANALYZE is active; it opens read_file"),
        ToolMessage("2", "read_file", "a.py (empty)"),
        ToolMessage("3", "list_files", "1 file"),
        AssistantMessage("It is empty."),
    )
    told = spell_conversation(said, (SystemMessage("short"),), Form.TOOL_FIRST)
    assert [type(each) for each in told] == [
        SystemMessage,
        UserMessage,
        *[AssistantMessage, UserMessage] * 2,
        AssistantMessage,
    ]
    steps = [json.loads(each.text) for each in told if isinstance(each, AssistantMessage)]
    assert [next(iter(step.items())) for step in steps] == [
        ("read_file", "ANALYZE"),
        ("list_files", "ANALYZE"),
        ("answer", "It is empty."),
    ]
    refused = (*said[:2], AssistantMessage("", calls[:2]), ToolMessage("1", SELECT_INTENT, "error denied: …"))
    assert any("error denied" in each.text for each in spell_conversation(refused, (), Form.TOOL_FIRST))


@rows("form", Form)
def test_MOD_21_a_step_is_read_in_either_form_and_declares_first(form: Form) -> None:
    call = {"tool": "read_file", "arguments": {"path": "a.py"}}
    whole = {"intent": "ANALYZE", "calls": [call]}
    step = whole if form is Form.INTENT_FIRST else {"read_file": "ANALYZE", "path": "a.py"}
    reader = StepReader()
    assert list(reader.feed(json.dumps(step))) == []
    first, second = (event.call for event in reader.finish("stop"))  # type: ignore[union-attr]
    assert (first.name, first.arguments) == (SELECT_INTENT, {"intent": Intent.ANALYZE.value})
    assert (second.name, second.arguments) == ("read_file", {"path": "a.py"})


@pytest.mark.parametrize(("profile", "told"), [(TINY, False), (SMALL, True), (LARGE, True)])
async def test_MOD_21_a_tiny_model_is_not_told_what_the_editor_shows(
    make_bench: Any, profile: Profile, told: bool
) -> None:
    async def meet() -> Profile:
        return profile

    sent: list[GenerateRequest] = []
    bench = await make_bench({"text": "Done."})
    provider = bench.runtime._runner.agent.provider
    generate = provider.generate

    def noted(request: GenerateRequest) -> Any:
        sent.append(request)
        return generate(request)

    provider.meet, provider.generate = meet, noted
    await bench.ask("what is it?", context={"open_document": "a.py"})
    asked = next(
        each.text for each in sent[-1].messages if isinstance(each, UserMessage) and "what is it?" in each.text
    )
    assert ("open document: a.py" in asked) is told


@rows("tokens", [2_048, 4_096, 8_192, 32_768])
def test_AGT_09_a_small_window_is_filled_by_what_is_read_and_not_by_a_guess_of_what_is_told(tokens: int) -> None:
    said: list[Message] = [SystemMessage("the long instructions\n" * 200), UserMessage("what is in shop.py?")]
    provider: Any = SimpleNamespace(context_tokens=tokens)
    turn: Any = None
    window = Window(provider, Generation(max_tokens=2_048), Conversation(said), turn, Redactor().redact, SMALL)
    budget = window.budget(OFFER)
    assert budget is not None
    assert budget.standing <= count_chars(STANDING) / 3 + 1
    shown = window.result_chars(OFFER, AssistantMessage("", (ProposedCall("1", "read_file", {"path": "shop.py"}),)))
    assert shown is not None
    assert shown / 3 >= budget.room * 0.65
    assert shown / 3 <= budget.room


async def test_AGT_09_what_condensing_would_not_shorten_is_sent_as_it_is() -> None:
    call = AssistantMessage("", (ProposedCall("1", "read_file", {"path": "shop.py"}),))
    read = ToolMessage("1", "read_file", "total = 1\n" * 130)
    said: list[Message] = [SystemMessage("rules"), UserMessage("what is in shop.py?"), call, read]
    provider: Any = SimpleNamespace(context_tokens=2_048)
    told: list[Any] = []
    stamp = {"seq": 1, "session_id": "s", "turn_id": "t", "time": "2026-11-23T00:00:00Z"}
    turn: Any = SimpleNamespace(stamp=lambda: stamp, emit=told.append)
    window = Window(provider, Generation(max_tokens=2_048), Conversation(said), turn, Redactor().redact, SMALL)
    budget = window.budget(OFFER)
    assert budget is not None
    assert window._tokens(OFFER) > budget.threshold  # pyright: ignore[reportPrivateUsage]
    await window.fit(OFFER)
    assert (told, window.conversation.condensed) == ([], None)
    said[1:1] = [UserMessage("what does total do?" * 20), AssistantMessage("It adds. " * 200)]
    await window.fit(OFFER)
    assert [event.kind for event in told] == ["context_condensed"]
    assert len(window.conversation.sent) < len(said)


def test_MOD_21_arguments_stand_beside_the_intent_or_apart_where_they_could_be_mistaken() -> None:
    """A tool from outside may have an argument with the name of a part of a step, or a schema with definitions."""
    plain = ToolSpec("p", "", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
    named = ToolSpec("n", "", {"type": "object", "properties": {"intent": {"type": "string"}, "q": {"type": "string"}}})
    defined = ToolSpec(
        "d", "", {"type": "object", "properties": {"at": {"$ref": "#/$defs/at"}}, "$defs": {"at": {"type": "string"}}}
    )
    offer = {Intent.ANALYZE: [plain, named, defined]}
    judge = Draft202012Validator(step_schema(GenerateRequest("s", (), offer), Form.TOOL_FIRST))  # type: ignore[arg-type]
    assert nested_tools(offer) == {"n", "d"}
    given: dict[str, dict[str, JsonValue]] = {"p": {"city": "Ulm"}, "n": {"intent": "x"}}
    declared = ProposedCall("1", SELECT_INTENT, {"intent": "ANALYZE"})
    for name, arguments in (*given.items(), ("n", {"q": "x"}), ("d", {})):
        message = AssistantMessage("", (declared, ProposedCall("2", name, arguments)))
        text = spell_step(message, Form.TOOL_FIRST, nested_tools(offer))
        assert ("arguments" in json.loads(text)) == (name != "p")
        assert list(judge.iter_errors(json.loads(text))) == []
        reader = StepReader()
        read = [*reader.feed(text), *reader.finish("stop")]
        calls = [each.call for each in read if isinstance(each, CallProposed)]
        assert [(each.name, each.arguments) for each in calls] == [
            (SELECT_INTENT, {"intent": "ANALYZE"}),
            (name, arguments),
        ]
