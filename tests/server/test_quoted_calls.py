"""A call that a local model only quotes is not made: the readers of its raw text, in every dialect (MOD-14)."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from quotations import DECLARE, PROSE, WRITE, quotations
from rows import rows

from remit_server.models.dialects.quotation import is_quoted
from remit_server.models.dialects.read import ReadCall
from remit_server.models.dialects.table import DIALECTS, HARMONY, Dialect, spell_call
from remit_server.models.local.host.output.harmony import HarmonyReader
from remit_server.models.local.host.output.native import NativeReader, dialect_formats
from remit_server.models.local.host.output.output_reader import Part, Unreadable

TEXTUAL = st.sampled_from([row for row in DIALECTS.values() if row is not HARMONY])
SCHEMAS = {
    "write_file": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
}
START = "<|start|>assistant"
CALL = f'{START}<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{{"path": "a"}}<|call|>'


def parts(reader: NativeReader | HarmonyReader, said: str, size: int) -> list[Part]:
    def read() -> Iterator[Part]:
        for at in range(0, len(said), size):
            yield from reader.feed(said[at : at + size])
        yield from reader.finish(cut=False)

    return list(read())


def calls(found: list[Part]) -> list[str]:
    return [part.name for part in found if isinstance(part, ReadCall)]


def text(found: list[Part]) -> str:
    return "".join(part for part in found if isinstance(part, str))


@given(quotations(), TEXTUAL, st.integers(1, 60))
def test_MOD_14_a_local_model_runs_nothing_that_it_quotes(said: str, row: Dialect, size: int) -> None:
    """Whatever the dialects of model and quotation: a whole call in a sentence is reported, everything else is text."""
    found = parts(NativeReader(dialect_formats(row), SCHEMAS), said, size)
    assert calls(found) == []
    told = [part.text for part in found if isinstance(part, Unreadable)]
    assert text(found) == said or told


@given(st.one_of(st.just(""), PROSE.map("{}\n".format), quotations().map("{}\n\nNow I do it.\n\n".format)), TEXTUAL)
def test_MOD_14_a_call_that_ends_a_local_models_answer_is_one(before: str, dialect: Dialect) -> None:
    if before.strip() and (is_quoted(before) or not dialect.several):
        return
    both = [spell_call(dialect, name, arguments, "abcdefgh1") for name, arguments in (DECLARE, WRITE)]
    found = parts(NativeReader(dialect_formats(dialect), SCHEMAS), before + dialect.between.join(both), 1)
    if any(isinstance(part, Unreadable) for part in found):  # an earlier call that is never closed is reported
        assert any(before.count(row.end) < before.count(row.marker) for row in DIALECTS.values() if row.end)
        return
    assert calls(found) == [DECLARE[0], WRITE[0]]
    assert text(found) == before


@given(quotations(), st.integers(1, 60))
def test_MOD_14_a_quotation_in_harmony_is_text(said: str, size: int) -> None:
    found = parts(HarmonyReader(), f"<|channel|>final<|message|>{said}<|end|>", size)
    assert calls(found) == []


@rows(
    ("said", "called", "told"),
    [
        (f"<|channel|>analysis<|message|>so<|end|>{CALL}", 1, 0),
        (f"<|channel|>commentary<|message|>I write it<|end|>{CALL}{CALL}", 2, 0),
        (f"<|channel|>final<|message|>It holds `<|end|>{CALL}", 0, 0),
        (f"<|channel|>final<|message|>It holds <|end|>{CALL}", 0, 1),
        (f"<|channel|>commentary<|message|>It holds:\n```\n<|end|>{CALL}", 0, 0),
        (f"{CALL}{START}<|channel|>final<|message|>is what it holds.<|end|>", 0, 0),
        (f"{CALL}{START}<|channel|>analysis<|message|>and on<|end|>{CALL}", 2, 0),
    ],
)
def test_MOD_14_a_call_in_harmony_counts_only_at_the_end_and_outside_quotations(
    said: str, called: int, told: int
) -> None:
    for size in (1, 7, 10_000):
        found = parts(HarmonyReader(), said, size)
        assert len(calls(found)) == called
        assert len([part for part in found if isinstance(part, Unreadable)]) == told
