"""How models spell a gap in a document that they are to fill (MOD-02). Pure.

A row counts for a model whose tokenizer has each of its markers as one token. Prefixes and suffixes stand behind their
markers; the model goes on behind the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from remit_server.models.local.wire import GapFrame


@dataclass(frozen=True, slots=True)
class FillIn:
    """The markers of one family; without a `middle` the prefix comes last, and the model goes on behind it."""

    prefix: str
    suffix: str
    middle: str | None

    @property
    def markers(self) -> tuple[str, ...]:
        """All markers."""
        return (self.prefix, self.suffix, *([] if self.middle is None else [self.middle]))

    def spell(self, before: str, after: str) -> str:
        """Returns the prompt for what stands between two texts."""
        if self.middle is None:
            return f"{self.suffix}{after}{self.prefix}{before}"
        return f"{self.prefix}{before}{self.suffix}{after}{self.middle}"


FILL_IN: tuple[FillIn, ...] = (
    # Qwen 2.5 and 3 (Coder), CodeGemma, Granite from 3.3 on
    FillIn("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    # StarCoder and StarCoder 2, Stable Code, Granite Code, CodeQwen 1.5
    FillIn("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    # SantaCoder
    FillIn("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    # DeepSeek Coder, with bars of full width
    FillIn("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
    # Code Llama
    FillIn("\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"),
    # GLM 4
    FillIn("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    # Codestral
    FillIn("[PREFIX]", "[SUFFIX]", None),
)
"""The families, by their markers."""


def find_fill_in(is_one_token: Callable[[str], bool]) -> FillIn | None:
    """Returns the row of a tokenizer; None where it has none, and can only go on behind a text."""
    return next((row for row in FILL_IN if all(map(is_one_token, row.markers))), None)


def spell_gap(row: FillIn | None, begin: str, gap: GapFrame, defuse: Callable[[str], str]) -> str:
    """Returns a prompt for a gap, from the token that begins a text; what in the document looks like a marker is
    defused. Without a row the model goes on behind the prefix alone.
    """
    before = defuse(gap.before)
    return begin + (before if row is None else row.spell(before, defuse(gap.after)))
