"""How text without a grammar is read: calls in the models' own formats, thinking, and values of a schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_runtime import call, intent
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from pydantic import JsonValue
from rows import rows

from remit_server.models.dialects import table as spell
from remit_server.models.dialects.read import Schemas
from remit_server.models.dialects.table import COMPACT, DIALECTS
from remit_server.models.local.host.output.native import (
    FOREIGN,
    NativeReader,
    ToolFormat,
    dialect_formats,
    foreign_format,
)
from remit_server.models.local.host.output.output_reader import OutputReader
from remit_server.models.local.host.token_caches import load_mlx_lm
from remit_server.models.local.wire import Call, Delta, Frame, ThinkingFrame, UnreadableFrame
from remit_server.models.ports import UNREADABLE_CALL
from remit_server.models.thinking import ThoughtReader

pytestmark = pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra")

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "calls" / "formats.yaml").read_text("utf-8")
)
STRING = {"type": "string"}
TOOLS: Schemas = {
    name: {"type": "object", "properties": properties}
    for name, properties in {
        "select_active_intent": {"intent": STRING},
        "read_file": {"path": STRING, "offset": {"type": "integer"}},
        "write_file": {"path": STRING, "content": STRING},
        "delete_file": {"path": STRING},
        "edit_file": {"path": STRING, "old_text": STRING, "new_text": STRING, "replace_all": {"type": "boolean"}},
    }.items()
}


OWN = dialect_formats(COMPACT)


def spell_call(name: str, arguments: dict[str, JsonValue]) -> str:
    return spell.spell_call(COMPACT, name, arguments)


def formats(name: str) -> tuple[ToolFormat, ...]:
    if name in DIALECTS:
        return dialect_formats(DIALECTS[name])
    load_mlx_lm()
    module = import_module(f"mlx_lm.tool_parsers.{name}")
    return foreign_format(name, module.tool_call_start, module.tool_call_end, module.parse_tool_call), *OWN


@dataclass
class Heard:
    text: str = ""
    thought: str = ""
    calls: list[list[Any]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def heard(frames: Iterator[Frame], into: Heard) -> Heard:
    for frame in frames:
        match frame:
            case Delta(text=text):
                into.text += text
            case ThinkingFrame(text=text):
                into.thought += text
            case Call(name=name, arguments=arguments):
                into.calls.append([name, arguments])
            case UnreadableFrame(why=why):
                into.unreadable.append(why)
            case _:
                raise AssertionError(frame)
    return into


def hear(
    pieces: Sequence[str], reader: NativeReader, *, thoughts: ThoughtReader | None = None, cut: bool = False
) -> Heard:
    output, found = OutputReader("1", reader, thoughts), Heard()
    for piece in pieces:
        heard(output.feed(piece), found)
    return heard(output.finish(cut=cut), found)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['format']}: {case['about']}")
def test_004_calls_of_models_formats(case: dict[str, Any], size: int) -> None:
    """Whole calls are read, and no others, however the text is cut into pieces."""
    said: str = case["said"]
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    found = hear(pieces, NativeReader(formats(case["format"]), TOOLS), cut=case.get("cut", False))
    assert found.calls == case.get("calls", [])
    assert len(found.unreadable) == case.get("unreadable", 0), found
    assert found.text == case.get("text", "")


def test_every_format_that_is_known_has_samples() -> None:
    assert {case["format"] for case in CASES} | {"compact", "harmony"} == FOREIGN | DIALECTS.keys()


@pytest.mark.slow
@given(st.data(), st.sampled_from([case for case in CASES if case.get("calls")]))
def test_004_a_damaged_call_is_never_another_tool(data: st.DataObject, case: dict[str, Any]) -> None:
    """If a part is cut out of the text, each argument is still whole, or the call is refused."""
    said: str = case["said"]
    start = data.draw(st.integers(0, len(said) - 1))
    end = data.draw(st.integers(start + 1, len(said)))
    found = hear([said[:start] + said[end:]], NativeReader(formats(case["format"]), TOOLS))
    left = said[:start] + said[end:]
    for _, arguments in found.calls:
        for name, value in arguments.items():
            assert name in left
            if isinstance(value, str):
                assert all(word in left for word in re.findall(r"\w+", value))


def split(said: str, size: int, *, opened: bool = False) -> Heard:
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    return hear(pieces, NativeReader(OWN, TOOLS), thoughts=ThoughtReader(opened=opened))


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_thr_model_call_in_thinking_is_no_call(size: int) -> None:
    """THR-model-call-in-thinking: everything between the markers is thinking."""
    spelled = spell_call("delete_file", {"path": "a"})
    found = split(f"<think>\nshall I {spelled}?\n</think>\n\nNo.{spell_call('read_file', {'path': 'b'})}", size)
    assert found.calls == [["read_file", {"path": "b"}]]
    assert found.thought == f"shall I {spelled}?\n"
    assert found.text == "No."


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_thinking_that_the_template_began(size: int) -> None:
    assert split("hm</think>\nYes.", size, opened=True) == Heard("Yes.", "hm")


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_thinking_that_is_cut_off_stays_thinking(size: int) -> None:
    spelled = spell_call("delete_file", {"path": "a"})
    assert split(f"<think>so {spelled} </thi", size) == Heard("", f"so {spelled} </thi")


def test_only_the_first_words_can_be_thinking() -> None:
    assert split("I <think> so</think>.", 3) == Heard("I <think> so</think>.")
    assert split("<thin", 1) == Heard("<thin")


@given(st.text(alphabet="<think>/ \nax", max_size=40), st.booleans(), st.integers(1, 9))
def test_how_text_arrives_changes_nothing(said: str, opened: bool, size: int) -> None:
    assert split(said, size, opened=opened) == split(said, 1000, opened=opened)


async def test_thr_model_unreadable_call_runs_nothing_and_the_model_is_told(make_bench: Any) -> None:
    """THR-model-half-a-call: a broken call is refused with the reason and audited, and the turn goes on."""
    bad = call(UNREADABLE_CALL, why="an argument is given twice", spelled='{"name":"read_file"}')
    bench = await make_bench(
        {"calls": [intent("READ_FILE"), bad]},
        {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]},
        {"text": "Read."},
    )
    result = await bench.ask("read a.py")
    assert result.status == "completed"
    refused, read = bench.of("tool_result")
    assert (refused.ok, read.ok) == (False, True)
    assert refused.error.code == "invalid_arguments"
    assert SAYS.an_argument_stands_in_it in refused.output
    assert any(UNREADABLE_CALL in str(record.event) for record in bench.audit())


@pytest.mark.slow
async def test_thr_model_tool_outside_the_intent_unguided(make_bench: Any) -> None:
    """THR-model-outside-intent: calls read from a model's own format meet the same gate, and nothing is changed."""
    said = '[TOOL_CALLS]select_active_intent[ARGS]{"intent": "READ_FILE"}[TOOL_CALLS]delete_file[ARGS]{"path": "a.py"}'
    found = hear([said], NativeReader(formats("mistral"), TOOLS))
    bench = await make_bench({"calls": [call(name, **arguments) for name, arguments in found.calls]}, {"text": "No."})
    before = (bench.workspace / "a.py").read_text()
    await bench.ask("delete a.py")
    assert (bench.workspace / "a.py").read_text() == before
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "tool_not_allowed_for_intent"


@rows(
    ("said", "spelled"),
    [
        (' {"n": 1}\n', '{"n": 1}'),
        ('```json\n{"n": 1}\n```', '{"n": 1}'),
        ('{"n": "1"}', None),
        ('{"n": 1} and more', None),
        ('{"n": NaN}', None),
        ("[" * 100_000, None),
        ("", None),
    ],
)
def test_a_value_without_a_grammar_is_checked(said: str, spelled: str | None) -> None:
    from remit_server.models.local.host.grammar.guide import AnswerReader
    from remit_server.models.local.host.grammar.step_grammar import GrammarError

    schema: dict[str, JsonValue] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    reader = AnswerReader(schema)
    assert not list(reader.feed(said))
    if spelled is None:
        with pytest.raises(GrammarError):
            list(reader.finish(cut=False))
    else:
        assert list(reader.finish(cut=False)) == [spelled]
