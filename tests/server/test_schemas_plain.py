"""Schemas from outside become grammars that enforce them, or are refused with a reason; tested without a model."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import JsonValue
from rows import rows

if find_spec("llguidance") is None:
    pytest.skip("needs the mlx extra", allow_module_level=True)

from llguidance import LLMatcher, LLTokenizer

from remit_server.models.dialects.table import COMPACT
from remit_server.models.local.host.grammar.arguments import Spelling
from remit_server.models.local.host.grammar.guide import Guide
from remit_server.models.local.host.grammar.schemas import Bounds
from remit_server.models.local.host.grammar.step_grammar import GrammarError, Grammars, answer_grammar, answer_schema
from remit_server.models.ports import ToolSpec

TOKENIZER = LLTokenizer("byte")
END = TOKENIZER.eos_token

Object = dict[str, JsonValue]


def an(properties: Object, *required: str) -> Object:
    return {"type": "object", "properties": properties, "required": list(required)}


def admits(schema: Object, text: str) -> bool:
    matcher = LLMatcher(TOKENIZER, answer_grammar(answer_schema(schema, Bounds(200))), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return bool(matcher.consume_tokens(TOKENIZER.tokenize_str(text))) and bool(matcher.is_accepting())


def refusal(schema: Object) -> str:
    with pytest.raises(GrammarError) as raised:
        Grammars(TOKENIZER, Spelling(COMPACT)).answer(schema, 1000, 40)
    return str(raised.value)


REFUSED: list[tuple[Object, str]] = [
    ({"not": {"const": 1}}, "`not` cannot be guided"),
    ({"type": "array", "uniqueItems": True}, "`uniqueItems` cannot be guided"),
    ({"if": {"type": "string"}, "then": {"minLength": 3}}, "`if` cannot be guided"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "overlap"),
    ({"oneOf": [an({"a": {}}, "a"), an({"a": {}, "b": {}}, "a")]}, "overlap"),
    ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum"),
    ({"enum": []}, "empty"),
    (an({"a": False}, "a"), "unsatisfiable"),
    ({"$ref": "https://example.org/x"}, "outside"),
    ({"$ref": "#/$defs/none"}, "nothing"),
    ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "no value"),
    ({"$defs": {"n": an({"n": {"$ref": "#/$defs/n"}}, "n")}, "$ref": "#/$defs/n"}, "unsatisfiable"),
    ({"type": "string", "pattern": "^(?=a)b"}, "regex"),
    ({"type": "sting"}, "type"),
    ({"anyOf": 3}, "not a list"),
    ({"items": 3, "type": "array"}, "neither an object"),
]


@rows(("schema", "why"), REFUSED, ids=[json.dumps(schema)[:40] for schema, _ in REFUSED])
def test_what_cannot_be_held_is_refused_in_words(schema: Object, why: str) -> None:
    said = refusal(schema)
    assert why in said
    assert "\n" not in said


def test_schemas_that_explode_are_refused_at_once() -> None:
    doubled: Object = {f"d{n}": an({name: {"$ref": f"#/$defs/d{n + 1}"} for name in "ab"}) for n in range(30)}
    assert "parts" in refusal({"$defs": {**doubled, "d30": {}}, "$ref": "#/$defs/d0"})
    deep: Object = {"type": "integer"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    assert "deep" in refusal(deep)
    assert "parts" in refusal({"enum": list(range(30_000))})


ADMITTED: list[tuple[Object, str, bool]] = [
    ({"pattern": "^a+$"}, '"aa"', True),
    ({"pattern": "^a+$"}, '"b"', False),
    ({"allOf": [an({"a": {"type": "integer"}}, "a"), an({"b": {"type": "string"}}, "b")]}, '{"a":1,"b":"x"}', True),
    ({"allOf": [an({"a": {"type": "integer"}}, "a"), an({"b": {"type": "string"}}, "b")]}, '{"a":1}', False),
    (an({"a": {"type": "integer"}}, "a", "z"), '{"a":1,"z":null}', True),
    (an({"a": {"type": "integer"}}), '{"b":1}', False),
    ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, "0", False),
    ({"type": "array", "items": [{"type": "integer"}]}, "[1]", True),
    ({"type": "array", "items": [{"type": "integer"}]}, '["1"]', False),
    ({"type": "string", "format": "nobody-knows"}, '"x"', True),
    ({"type": "array", "minItems": 40, "items": {"const": 1}}, json.dumps([1] * 40, separators=(",", ":")), True),
    ({"const": "<tool_call>é"}, '"<tool_call>é"', True),
    (an({"c": {"type": "array", "items": {"$ref": "#"}}}), '{"c":[{"c":[{"c":[]}]}]}', True),
    ({"$defs": {"p": an({"x": {}}, "x")}, "$ref": "#/$defs/p", "required": ["y"]}, '{"y":2,"x":1}', True),
]


@rows(("schema", "text", "ok"), ADMITTED)
def test_what_a_grammar_admits(schema: Object, text: str, ok: bool) -> None:
    assert admits(schema, text) is ok


def landed(schema: Object, max_tokens: int, prefer: str) -> str:
    """Returns the text of a model that always chooses `prefer` if it may, and otherwise the lowest byte."""
    grammars = Grammars(TOKENIZER, Spelling(COMPACT))
    _, matcher, closer = grammars.answer(schema, 10_000, 40)
    closer.set_limit(max_tokens)
    guide = Guide(matcher, {END}, closer)
    tokens: list[int] = []
    wanted = TOKENIZER.tokenize_str(prefer)[0]
    while len(tokens) < max_tokens and (mask := guide.allowed()) is not None:
        allowed = [token for token in range(256) if mask[token >> 3] >> (token & 7) & 1]
        if not allowed:
            break
        tokens.append(wanted if wanted in allowed else allowed[0])
        guide.accept(tokens[-1])
    assert guide.complete
    return TOKENIZER.decode_str(tokens)


CASES: dict[str, Object] = json.loads((Path(__file__).parents[1] / "cases" / "guided" / "schemas.json").read_text())


@rows("prefer", ["a", "\\", "[", "1", ","])
def test_a_value_ends_within_its_tokens_whatever_the_model_wants(prefer: str) -> None:
    """A model that never closes a string, a list or a number still writes a whole value."""
    for name in ("string", "number", "string list", "anything", "person", "tree", "review", "map of integers"):
        json.loads(landed(CASES[name], 160, prefer))


def test_what_is_offered_again_is_not_rendered_again() -> None:
    grammars = Grammars(TOKENIZER, Spelling(COMPACT))

    def offered() -> dict[str, tuple[ToolSpec, ...]]:
        return {"CODE": (ToolSpec(name="t", description="d", parameters=an({"a": {"type": "string"}}, "a")),)}

    first, _ = grammars.step(offered(), 100)
    again, _ = grammars.step(offered(), 100)
    other, _ = grammars.step(offered(), 200)
    assert first is again
    assert other != first
