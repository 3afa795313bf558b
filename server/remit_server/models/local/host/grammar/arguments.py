"""The grammar of a call's arguments in a dialect, as rules in llguidance's Lark dialect (MOD-03)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never, cast

from pydantic import JsonValue

from remit_server.models.dialects.read import can_be_text
from remit_server.models.dialects.table import Dialect, JsonObject, PythonKeywords, QuotedKeys, Tagged
from remit_server.models.local.host.grammar.json_schema import Schema, values_of

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
        """Returns the text as an expression, which is an empty literal if there is no text."""
        return literal(self.pieces(text)) or '""'


def literal(pieces: Sequence[Piece]) -> str:
    """Returns pieces as an expression."""
    return " ".join(f"<[{piece}]>" if isinstance(piece, int) else json.dumps(piece) for piece in pieces)


def text_without(banned: Sequence[str], least: str = "+") -> str:
    """Returns the expression of text that spells none of `banned`, because in plain text those have no effect and must
    not seem to have one.
    """
    every = f"/{ANYTHING}{least}/"
    alternatives = "|".join(escaped(each) for each in banned if each)
    return f"{every} & ~/{ANYTHING}*({alternatives}){ANYTHING}*/" if alternatives else every


def escaped(text: str) -> str:
    """Returns a text as a regular expression between slashes."""
    return re.escape(text).replace("/", r"\/")


def joined(name: str, items: Sequence[tuple[str, bool]], separator: str) -> list[str]:
    """Returns the rules of a sequence, the first of them named `name`. `items` are its expressions in order, and
    whether each is required; `separator` stands between those that are there.
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


_WIDEST_REPETITION = 4_000
"""The longest string with a bound in the grammar: counting longer ones costs more than it is worth, and the tool checks
them anyway."""


@dataclass(slots=True)
class ArgumentRules:
    """Writes the rules of arguments; `lines` are the rules so far. A string of `longest` or more has no bound."""

    spelling: Spelling
    longest: int
    lines: list[str] = field(default_factory=list[str])

    def write(self, name: str, schema: Schema) -> str:
        """Returns the name of the rule of an object of `schema`; the rules are written to `lines`."""
        forms = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(forms, list) and not isinstance(self.spelling.dialect.encoding, JsonObject):
            written = [self.write(f"{name}_form_{n}", form) for n, form in enumerate(forms) if isinstance(form, dict)]
            return self._add(name, " | ".join(written))
        match self.spelling.dialect.encoding:
            case JsonObject() as encoding:
                self._add(name, self._json(schema, encoding))
            case Tagged() as encoding:
                self._write_tagged(name, schema, encoding)
            case QuotedKeys(quote=quote):
                self._add(name, self._quoted(name, schema, quote))
            case PythonKeywords():
                pairs = [
                    (self._keyword(f"{name}_{number}", key, value), required)
                    for number, (key, value, required) in enumerate(_properties(schema))
                ]
                self.lines += joined(name, pairs, '", "')
            case _:
                assert_never(self.spelling.dialect.encoding)
        return name

    def _add(self, name: str, expression: str) -> str:
        """Writes a rule, and returns its name."""
        self.lines.append(f"{name}: {expression}")
        return name

    def _json(self, schema: Schema, encoding: JsonObject) -> str:
        item, key = encoding.separators
        guidance = {
            "whitespace_flexible": False,
            "item_separator": item,
            "key_separator": key,
            "coerce_one_of": True,
            # Keywords that a grammar cannot express are checked again when the call is dispatched.
            "lenient": True,
        }
        return f"%json {json.dumps({'x-guidance': guidance, **schema})}"

    def _write_tagged(self, name: str, schema: Schema, encoding: Tagged) -> None:
        parts: list[str] = []
        for number, (key, value, required) in enumerate(_properties(schema)):
            rule = f"{name}_{number}"
            opening = self.spelling.literal(f"{encoding.open_key}{key}{encoding.open_value}")
            self._add(rule, f"{opening} {self._tagged(f'{rule}_value', value, encoding)}")
            parts.append(rule if required else f"{rule}?")
        self._add(name, " ".join(parts) or '""')

    def _tagged(self, rule: str, schema: Schema, encoding: Tagged) -> str:
        closing = self.spelling.literal(encoding.close_value)
        if (options := values_of(schema)) is not None:
            spelled = [_word(option, encoding) for option in options]
            fitting = [each for each in spelled if encoding.close_value.strip() not in each]
            return f"({' | '.join(map(json.dumps, fitting))}) {closing}"
        if can_be_text(schema):
            return self._raw(rule, schema, encoding.close_value)
        if encoding.python_words and schema.get("type") == "boolean":
            return f'("True" | "False") {closing}'
        return f"{self._add(rule, self._json(schema, JsonObject()))} {closing}"

    def _raw(self, rule: str, schema: Schema, closing: str) -> str:
        """Returns the expression of a string without escapes, followed by what closes the string."""
        pieces = self.spelling.pieces(closing)
        least, most = _bounds(schema, self.longest)
        if isinstance(pieces[0], int):
            self.lines.append(f"{rule.upper()}: {text_without([closing.strip()], _repetition(max(least, 1), most))}")
            return f"{rule.upper()}{'?' if least == 0 else ''} {literal(pieces)}"
        text = text_without([closing.strip()], _repetition(least, most))
        self.lines.append(f"{rule}[suffix={json.dumps(closing)}]: {text}")
        return rule

    def _keyword(self, rule: str, key: str, schema: Schema) -> str:
        if (options := values_of(schema)) is not None:
            return f"({' | '.join(json.dumps(f'{key}={_python_word(option)}') for option in options)})"
        if schema.get("type") == "boolean":
            return f"({json.dumps(f'{key}=True')} | {json.dumps(f'{key}=False')})"
        return f"{json.dumps(f'{key}=')} {self._add(rule, self._json(schema, JsonObject()))}"

    def _quoted(self, rule: str, schema: Schema, quote: str) -> str:
        if (options := values_of(schema)) is not None:
            spelled = [f"{quote}{o}{quote}" if isinstance(o, str) else json.dumps(o) for o in options]
            return f"({' | '.join(self.spelling.literal(each) for each in spelled)})"
        if can_be_text(schema):
            return f"{self.spelling.literal(quote)} {self._raw(f'{rule}_text', schema, quote)}"
        match schema.get("type"):
            case "object":
                pairs: list[tuple[str, bool]] = []
                for number, (key, value, required) in enumerate(sorted(_properties(schema), key=lambda each: each[0])):
                    inner = self._add(f"{rule}_{number}", self._quoted(f"{rule}_{number}_in", value, quote))
                    pairs.append((f"{json.dumps(f'{key}:')} {inner}", required))
                self.lines += joined(f"{rule}_pairs", pairs, '","')
                return f'"{{" {rule}_pairs "}}"'
            case "array" if isinstance(items := schema.get("items"), dict):
                item = self._add(f"{rule}_item", self._quoted(f"{rule}_item_in", items, quote))
                most = max(0, int(cast("int", schema.get("maxItems", 32))) - 1)
                return f'"[" ({item} ("," {item}){{0,{most}}})? "]"'
            case _:
                return self._add(f"{rule}_json", self._json(schema, JsonObject(compact=True)))


def _properties(schema: Schema) -> list[tuple[str, Schema, bool]]:
    """Returns each argument's name, schema, and whether it is required, in the schema's order."""
    properties = cast("Mapping[str, Schema]", schema.get("properties") or {})
    required = cast("list[str]", schema.get("required") or [])
    return [(key, value, key in required) for key, value in properties.items()]


def _word(value: JsonValue, encoding: Tagged) -> str:
    if isinstance(value, str):
        return value
    return str(value) if encoding.python_words else json.dumps(value)


def _python_word(value: JsonValue) -> str:
    return str(value) if value is None or isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def _bounds(schema: Schema, longest: int) -> tuple[int, int | None]:
    least, most = schema.get("minLength"), schema.get("maxLength")
    bounded = isinstance(most, int) and most < min(longest, _WIDEST_REPETITION)
    return (1 if isinstance(least, int) and least > 0 else 0), cast("int", most) if bounded else None


def _repetition(least: int, most: int | None) -> str:
    return ("+" if least else "*") if most is None else f"{{{least},{most}}}"
