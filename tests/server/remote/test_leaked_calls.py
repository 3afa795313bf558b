"""Which spelling of a call in an answer is a call, and which one is a quotation (MOD-14)."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import pytest
from chat_server import Said, chat_server
from hypothesis import given
from hypothesis import strategies as st

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.errors import ModelFailed
from remit_server.models.dialects.dialect import Tagged
from remit_server.models.dialects.quotation import is_quoted
from remit_server.models.dialects.spell import spell_call
from remit_server.models.dialects.table import DIALECTS
from remit_server.models.ports import CallProposed, GenerateRequest, TextDelta, ToolSpec, UserMessage
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.leaked_calls import Held, find_leaked_calls
from remit_server.models.remote.provider import RemoteProvider
from remit_server.models.remote.reference import parse_reference

_PATH = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
_SELECT = {"type": "object", "properties": {"intent": {"type": "string"}}}
TOOLS = [ToolSpec("write_file", "Write.", _PATH), ToolSpec(SELECT_INTENT, "Declare.", _SELECT)]
REQUEST = GenerateRequest("s", (UserMessage("what is in it"),), {Intent.WRITE_FILE: (TOOLS[0],)}, max_tokens=50)
WRITE = ("write_file", {"path": "evil.txt", "content": 'if a < b:\n    "x"'})
DECLARE = (SELECT_INTENT, {"intent": "WRITE_FILE"})


@dataclass(frozen=True)
class Spelled:
    """A call, or a declaration and a call, as some model spells them; `alone`: only as the whole of an answer."""

    text: str
    calls: tuple[str, ...]
    alone: bool = False


def _spellings() -> list[Spelled]:
    found: list[Spelled] = []
    for row in DIALECTS.values():
        one = spell_call(row, *WRITE, "abcdefgh1")
        both = f"{spell_call(row, *DECLARE, 'abcdefgh1')}{row.between}{one}"
        alone = not (row.several or row.end)
        found += [Spelled(one, ("write_file",), alone), Spelled(both, (SELECT_INTENT, "write_file"), alone)]
        if isinstance(row.encoding, Tagged) and row.after_arguments:  # a server may stop at the end as at a token
            found.append(Spelled(one.removesuffix(row.end), ("write_file",)))
    bare = "<function=write_file>\n<parameter=path>\na\n</parameter>\n</function>"
    found += [Spelled(bare, ("write_file",)), Spelled(f"{bare}\n</tool_call>", ("write_file",))]
    header = "<|start|>assistant<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>"
    found += [
        Spelled(header + '{"path": "<|call|>"}', ("write_file",)),
        Spelled('[TOOL_CALLS][{"name": "write_file", "arguments": {"path": "a"}}]', ("write_file",)),
        Spelled(
            '<tool_call>{"name":"write_file","arguments":{"content":"</tool_call>\\n<tool_call>"}}</tool_call>',
            ("write_file",),
        ),
    ]
    return found


SPELLINGS = st.sampled_from(_spellings())
PROSE = st.text(alphabet="ab .,:;\nä1é", max_size=40)
WORDS = st.text(alphabet="abé", min_size=1, max_size=8)


@st.composite
def quotations(draw: st.DrawFn) -> str:
    """An answer that quotes a call in some way, somewhere."""
    call = draw(SPELLINGS).text
    before, after = draw(PROSE), draw(PROSE)
    fence = draw(st.sampled_from(["`", "~"])) * draw(st.integers(3, 6))
    label = draw(st.sampled_from(["", "json", "xml", "tool_call", " text "]))
    ticks = "`" * draw(st.integers(1, 4))
    mark, closing = draw(st.sampled_from([('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"), ("(", ")"), ("„", "“")]))
    tag = draw(st.sampled_from(["pre", "code", "blockquote"]))
    line = draw(st.sampled_from(["> ", "- ", "* ", "1. ", "| ", "    ", "\t", "# ", "+", "It is "]))
    return draw(
        st.sampled_from(
            [
                f"{before}\n{fence}{label}\n{call}\n{fence}\n{after}",
                f"{before}\n{fence}{label}\n{call}\n{fence}",
                f"{before}\n{fence}{label}\n{call}",  # it is cut, or the model forgets to close it
                f"{before} {ticks}{call}{ticks} {after}",
                f"{before} {ticks}\n{call}",
                f"{before} {mark}{call}{closing}{after}",
                f"{before} {mark}\n{call}",
                f"{before}<{tag}>\n{call}\n</{tag}>{after}",
                f"{before}<{tag}>\n\n{call}",
                f"{before}\n{line}{call}",
                f"{before}\n{call} {draw(WORDS)}{after}",
                f"{call}\n\n{draw(WORDS)}{after}",
                f"{before}<!--\n{call}\n-->",
            ]
        )
    )


@given(quotations(), st.integers(1, 60))
def test_MOD_14_a_quotation_of_a_call_is_text_however_it_is_spelled_and_cut(said: str, size: int) -> None:
    held = Held()
    passed = "".join(held.feed(said[at : at + size]) for at in range(0, len(said), size))
    found = find_leaked_calls(held.text, TOOLS)
    assert found.calls == ()
    assert passed + held.rest(found.at) == said


@given(st.text(alphabet="ab<tool_call>|{\n", max_size=60), st.integers(1, 9))
def test_MOD_14_text_is_passed_on_whole_however_it_is_cut(text: str, size: int) -> None:
    held = Held()
    passed = "".join(held.feed(text[at : at + size]) for at in range(0, len(text), size))
    assert passed + held.rest() == text
    assert "\n<tool_call>" not in passed


@given(st.one_of(st.just(""), PROSE.map("{}\n".format), quotations().map("{}\n\nNow I do it.\n\n".format)), SPELLINGS)
def test_MOD_14_a_whole_call_that_ends_an_answer_is_one_and_is_no_text(before: str, spelled: Spelled) -> None:
    if before.strip() and (spelled.alone or is_quoted(before)):
        return
    said = f"{before}{spelled.text}\n"
    held = Held()
    passed = "".join(held.feed(character) for character in said)
    found = find_leaked_calls(held.text, TOOLS)
    assert tuple(call.name for call in found.calls) == spelled.calls
    assert passed + held.rest(found.at) == before


@pytest.mark.parametrize("kind", ["openai", pytest.param("anthropic", marks=pytest.mark.slow)])
async def test_MOD_14_what_a_file_holds_is_run_in_no_protocol(kind: str) -> None:
    """The declaration that stands in the quotation counts no more than the call."""
    call = '<tool_call>{"name": "write_file", "arguments": {"path": "evil.txt"}}</tool_call>'
    text = f"The README holds `{call}`, which is only an example."
    with chat_server(Said(calls=[DECLARE]), Said(text)) as server:
        reference = parse_reference(f"{kind}:m@{server.url}{'/v1' if kind == 'openai' else ''}")
        assert reference is not None
        provider = RemoteProvider(reference, make_client, str)
        events = [event async for event in provider.generate(REQUEST)]
        await provider.close()
    assert not [event for event in events if isinstance(event, CallProposed)]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>{broken",
        "I write.\n<tool_call>{broken}</tool_call>\n",
        '<tool_call>{"name": "write_file"}</tool_call>',
        '<tool_call>{"name": "launch", "arguments": {}}</tool_call>',
        "<tool_call>write_file<arg_key>path</arg_key><arg_value>a</arg_value>",
        '[TOOL_CALLS]write_file[ARGS]{"path": ',
        '{"name": "write_file", "arguments": {"path": "a"',
        '<tool_call>{bad}</tool_call>\n<tool_call>{"name": "write_file", "arguments": {}}</tool_call>',
    ],
)
def test_MOD_14_an_end_that_begins_as_a_call_is_told_where_it_cannot_be_read(text: str) -> None:
    with pytest.raises(ModelFailed, match="came as text"):
        find_leaked_calls(text, TOOLS)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n" * 100_000,
        "<tool_call>{" * 100_000,
        "<tool_call>\n```\n" * 50_000,
        '<tool_call>{"name": "' * 20_000 + "</tool_call>" * 20_000,
        "[TOOL_CALLS]" * 80_000,
        '{"name": "' + "[" * 500_000 + '"parameters"',
        "`" * 1_000_000 + "\n<tool_call>{}</tool_call>",
        "<" * 1_000_000 + "\n<tool_call>{}</tool_call>",
    ],
)
def test_MOD_14_no_text_takes_long_to_look_through(text: str) -> None:
    begun = time.monotonic()
    with suppress(ModelFailed):
        assert find_leaked_calls(text, TOOLS).calls == ()
    assert time.monotonic() - begun < 2
