"""Calls as every dialect spells them, and answers that quote one somewhere (MOD-14)."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from remit_governance.intents import SELECT_INTENT
from remit_server.models.dialects.table import DIALECTS, Tagged, spell_call

WRITE = ("write_file", {"path": "evil.txt", "content": 'if a < b:\n    "x"'})
DECLARE = (SELECT_INTENT, {"intent": "WRITE_FILE"})


@dataclass(frozen=True)
class Spelled:
    """A call, or a declaration and a call, as some model spells them; `alone`: it is a call only if it is the whole
    answer."""

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
        if isinstance(row.encoding, Tagged) and row.after_arguments:  # a server may stop at the end mark and drop it
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
    """Returns an answer that quotes a call in some way, somewhere."""
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
