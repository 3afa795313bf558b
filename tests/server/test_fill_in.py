"""How models spell a gap, with special tokens of their tokenizers, which no document can contain (LSP-12)."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from model_parts import bytes_tokenizer
from rows import rows

from remit_server.models.local.host.prompts import (
    FILL_IN,
    SEAM,
    FillIn,
    find_fill_in,
    plain_template,
    renderer,
    spell_gap,
    split_at_seams,
)
from remit_server.models.ports import Gap

WORDS = ("a", " ", "\n", "é", SEAM, *(marker for row in FILL_IN for marker in row.markers))
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)


TOKENIZERS = [(row, bytes_tokenizer(row.markers)) for row in FILL_IN]


@rows(("row", "tokenizer"), TOKENIZERS, ids=lambda each: getattr(each, "prefix", ""))
def test_LSP_12_a_family_is_known_by_its_markers(row: FillIn, tokenizer: Any) -> None:
    assert find_fill_in(lambda marker: len(tokenizer.encode(marker).ids) == 1) is row
    assert find_fill_in(lambda _: False) is None


@given(st.sampled_from(TOKENIZERS), TEXTS, TEXTS)
def test_LSP_12_a_prompt_has_each_marker_once_whatever_the_document_says(
    family: tuple[FillIn, Any], before: str, after: str
) -> None:
    row, tokenizer = family
    defuse = renderer(plain_template("", ""), row.markers, "", "").defuse
    text = spell_gap(row, "", Gap(before=before, after=after), defuse)
    ids = [token for part in split_at_seams(text) for token in tokenizer.encode(part).ids]
    assert sorted(ids.count(tokenizer.token_to_id(marker)) for marker in row.markers) == [1] * len(row.markers)
    read = tokenizer.decode(ids, skip_special_tokens=False)
    assert read == row.spell(before, after)


def test_LSP_12_without_markers_a_model_goes_on_behind_the_text_before() -> None:
    gap = Gap(before="x = ", after="\ny")
    assert spell_gap(None, "<s>", gap, lambda text: re.sub("=", "==", text)) == "<s>x == "
