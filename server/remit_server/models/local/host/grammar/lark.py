"""Parts of grammars in llguidance's Lark dialect (MOD-03)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remit_server.models.dialects.dialect import Dialect

Piece = int | str
"""A part of a text: a single token, or characters."""

ANYTHING = r"(.|\n)"


@dataclass(frozen=True, slots=True)
class Spelling:
    """A dialect as one tokenizer spells it: `tokens` are the markers that it has single tokens for."""

    dialect: Dialect
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """Splits a text into single tokens and the characters between them."""
        if not self.tokens:
            return (text,) if text else ()
        marker = "|".join(re.escape(token) for token in sorted(self.tokens, key=len, reverse=True))
        parts = re.split(f"({marker})", text)
        return tuple(self.tokens.get(part, part) for part in parts if part)

    def literal(self, text: str) -> str:
        """Returns the text as an expression; an empty one where there is none."""
        return literal(self.pieces(text)) or '""'


def literal(pieces: Sequence[Piece]) -> str:
    """Returns pieces as an expression."""
    return " ".join(f"<[{piece}]>" if isinstance(piece, int) else json.dumps(piece) for piece in pieces)


def text_without(banned: Sequence[str], least: str = "+") -> str:
    """Returns the expression of text that spells none of `banned`: as plain text they have no effect, and must not
    seem to.
    """
    every = f"/{ANYTHING}{least}/"
    alternatives = "|".join(escaped(each) for each in banned if each)
    return f"{every} & ~/{ANYTHING}*({alternatives}){ANYTHING}*/" if alternatives else every


def escaped(text: str) -> str:
    """Returns a text as a regular expression between slashes."""
    return re.escape(text).replace("/", r"\/")


def joined(name: str, items: Sequence[tuple[str, bool]], separator: str) -> list[str]:
    """Returns rules of a sequence in order, `name` being its first: `items` are expressions, and whether each has to
    be there; what is there is separated.
    """
    count = len(items)
    rules = [f'{name}_more_{count}: ""']
    for at in range(count - 1, -1, -1):
        expression, required = items[at]
        skip = "" if required else f" | {name}_more_{at + 1}"
        rules.append(f"{name}_more_{at}: {separator} {expression} {name}_more_{at + 1}{skip}")
    firsts: list[str] = []
    for at, (expression, required) in enumerate(items):
        firsts.append(f"{expression} {name}_more_{at + 1}")
        if required:
            break
    else:
        firsts.append('""')
    return [f"{name}: {' | '.join(firsts)}", *rules]
