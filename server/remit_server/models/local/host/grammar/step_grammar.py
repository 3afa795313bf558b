"""The grammar of a step, with its intent, for llguidance (MOD-03).

A step is text, or calls, or text and then calls; a model that thinks may do so first. Calls come in phases:
`select_active_intent` with one intent, then calls of that intent's tools only, with arguments of their schemas. So a
tool outside its intent cannot even be spelled.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from pydantic import JsonValue

from remit_server.models.limits import limit_properties
from remit_server.models.local.host.grammar.arguments import ArgumentRules, Spelling, literal, text_without
from remit_server.models.local.host.grammar.json_closer import JsonCloser, room_needed
from remit_server.models.local.host.grammar.json_schema import Schema, SchemaError, write_out
from remit_server.models.local.host.grammar.schemas import SELECT, Bounds, bound_schema, selection_schema
from remit_server.models.local.host.output.output_reader import ThinkMarkers
from remit_server.models.ports import ToolSpec

Intents = Mapping[str, Sequence[ToolSpec]]
"""The tools that each intent opens."""

MOST_PHASES = 4
MOST_CALLS = 4
"""The most calls in one phase, besides the selection."""

_COMPACT: Schema = {
    "whitespace_flexible": False,
    "item_separator": ",",
    "key_separator": ":",
    "coerce_one_of": True,
}
_LEXER_STATES = 100_000
_WORN_TOKENS = 20_000
_MOST_COMPILED = 16


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths that a tool's named arguments are limited to, in addition to its schema; None means no limit."""

    paths: tuple[str, ...] | None = None
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


ANY_PATH = Paths()


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thinking before the answer, of a limited number of tokens; `opened` by the template, or optional."""

    markers: ThinkMarkers
    most_tokens: int
    opened: bool


class GrammarError(ValueError):
    """The tools' schemas cannot be made into a grammar, or a grammar reached its limits."""


def intent_grammar(
    intents: Intents,
    spelling: Spelling,
    longest: int,
    paths: Paths = ANY_PATH,
    thinking: Thinking | None = None,
    *,
    work_items: Sequence[str] = (),
) -> str:
    """Returns the grammar of one step in llguidance's Lark dialect; strings without a bound get `longest` characters.

    An intent without tools may be declared, but no call can follow it; a tool without a possible path is left out.
    Without intents a step is text.
    """
    dialect = spelling.dialect
    thought = [] if thinking is None else [thinking.markers.open, thinking.markers.close]
    # The markers are banned without their last character, so that text that looks like a broken marker is banned too.
    plain_text = text_without([dialect.marker[:-1], dialect.end[:-1], *thought] if intents else thought)
    if not intents:
        return "\n".join([*_thinking_rules(thinking), *_answer(spelling, "body"), f"TEXT: {plain_text}"]) + "\n"
    written = {tool.name: _argument_schema(tool, longest, paths) for offered in intents.values() for tool in offered}
    tools = {name: arguments for name, arguments in written.items() if arguments is not None}
    rule = {name: f"tool_{number}" for number, name in enumerate(tools)}
    arguments = ArgumentRules(spelling, longest)
    marker, again = spelling.literal(dialect.marker), spelling.literal(dialect.between + dialect.marker)
    lines = [
        *_thinking_rules(thinking),
        *_body(spelling, plain_text),
        f"phases: {marker} first more{{0,{MOST_PHASES - 1}}}",
        f"more: {again} first",
        "first: " + " | ".join(f"rest_{number}" for number in range(len(intents))),
    ]
    for number, (intent, specs) in enumerate(intents.items()):
        offered = [tool for tool in specs if tool.name in tools]
        calls = f" call_{number}{{1,{MOST_CALLS}}}" if offered else ""
        lines.append(f"rest_{number}: select_{number}{calls}")
        selection = selection_schema([intent], work_items)
        lines.append(f"select_{number}: {_call(SELECT, f'intent_{number}', selection, arguments)}")
        if offered:
            alternatives = " | ".join(dict.fromkeys(rule[tool.name] for tool in offered))
            lines.append(f"call_{number}: {again} ({alternatives})")
    lines += [f"{rule[name]}: {_call(name, f'{rule[name]}_with', schema, arguments)}" for name, schema in tools.items()]
    return "\n".join([*lines, *arguments.lines]) + "\n"


def answer_schema(schema: Mapping[str, JsonValue], bounds: Bounds) -> Schema:
    """Returns the schema of one JSON value, normalised and bounded.

    Raises GrammarError for what a grammar cannot express, because nothing checks an answer again.
    """
    try:
        return bound_schema(write_out(schema, strict=True), bounds)
    except SchemaError as error:
        raise GrammarError(str(error)) from error


def answer_grammar(schema: Schema) -> str:
    """Returns the grammar of one JSON value; `schema` is from `answer_schema`."""
    return f"start: %json {json.dumps({'x-guidance': _COMPACT, **schema})}\n"


def _argument_schema(tool: ToolSpec, longest: int, paths: Paths) -> Schema | None:
    """Returns a tool's argument schema, or None if no path satisfies both its schema and `paths`."""
    try:
        schema = write_out(tool.parameters, strict=False)
        names = paths.arguments.get(tool.name)
        if paths.paths is None or names is None:
            return bound_schema(schema, Bounds(longest))
        # llguidance cannot force a text that spells a marker (`<tool_call>`), as a hostile name might.
        left = limit_properties(schema, names, [path for path in paths.paths if "<" not in path])
        return None if left is None else bound_schema(left, Bounds(longest))
    except SchemaError as error:
        raise GrammarError(f"`{tool.name}`: {error}") from error


def _thinking_rules(thinking: Thinking | None) -> list[str]:
    """Returns the rules for what precedes the answer's body. Thinking that reaches its token limit is closed."""
    if thinking is None:
        return ["start: body"]
    begin, end = literal(thinking.markers.open_pieces), literal(thinking.markers.close_pieces)
    text = text_without([thinking.markers.open, thinking.markers.close], "*")
    return [
        f"start: thought {end} body" if thinking.opened else f"start: body | {begin} thought {end} body",
        f"thought[max_tokens={thinking.most_tokens}]: {text}",
    ]


def _answer(spelling: Spelling, rule: str) -> list[str]:
    """Returns the rule of an answer in text, in the frame that the dialect puts around one."""
    return [f"{rule}: {spelling.literal(spelling.dialect.answer)} TEXT" if spelling.dialect.answer else f"{rule}: TEXT"]


def _body(spelling: Spelling, text: str) -> list[str]:
    """Returns the rules for the text and the calls. A marker of plain text ends the preceding text lazily."""
    dialect = spelling.dialect
    written = f"TEXT: {text}"
    if not dialect.several:
        return ["body: answer | phases", *_answer(spelling, "answer"), written]
    marker = spelling.pieces(dialect.marker)
    if isinstance(marker[0], int):
        return ["body: TEXT phases | TEXT | phases", written]
    lead = f"lead[suffix={json.dumps(dialect.marker)}]: {text.replace('+', '*', 1)}"
    return [f"body: TEXT | lead first more{{0,{MOST_PHASES - 1}}}", lead, written]


def _call(name: str, rule: str, schema: Schema, arguments: ArgumentRules) -> str:
    """Returns the expression of one call without its marker."""
    spelling, dialect = arguments.spelling, arguments.spelling.dialect
    head = spelling.literal(f"{dialect.before_name}{name}{dialect.after_name}")
    if dialect.call_id:
        opening = spelling.literal(f"{dialect.before_name}{name}{dialect.call_id}")
        head = f"{opening} /[a-zA-Z0-9]{{9}}/ {spelling.literal(dialect.after_name)}"
    tail = spelling.pieces(dialect.after_arguments + dialect.end)
    return f"{head} {arguments.write(rule, schema)} {literal(tail)}".rstrip()


@dataclass(slots=True)
class _Compiled:
    matcher: LLMatcher
    tokens: int = 0


_Offer: TypeAlias = "tuple[Intents, int, Paths, Thinking | None, tuple[str, ...]]"


class Grammars:
    """The compiled grammars of one tokenizer, cached by content.

    Copies of a matcher share its lexer, which grows, and stays unusable after an error; so after many tokens, or an
    error, a grammar is compiled anew.
    """

    def __init__(self, tokenizer: LLTokenizer, spelling: Spelling) -> None:
        self._tokenizer = tokenizer
        self._spelling = spelling
        self._compiled: OrderedDict[str, _Compiled] = OrderedDict()
        self._rendered: deque[tuple[_Offer, str]] = deque(maxlen=4)

    def step(
        self,
        intents: Intents,
        longest: int,
        paths: Paths = ANY_PATH,
        thinking: Thinking | None = None,
        work_items: tuple[str, ...] = (),
    ) -> tuple[str, LLMatcher]:
        """Returns a new matcher of one step, and the key for `used`. Raises GrammarError."""
        return self._matcher(self._text((intents, longest, paths, thinking, work_items)))

    def answer(self, schema: Mapping[str, JsonValue], longest: int, matched: int) -> tuple[str, LLMatcher, JsonCloser]:
        """Returns a new matcher of one JSON value, the key for `used`, and the closer that ends the value in time.

        Strings get `longest` characters, those with a pattern or format `matched` if that suffices. Raises
        GrammarError.
        """
        try:
            return self._answer(answer_schema(schema, Bounds(longest, matched)))
        except GrammarError:
            return self._answer(answer_schema(schema, Bounds(longest)))

    def _answer(self, written: Schema) -> tuple[str, LLMatcher, JsonCloser]:
        return *self._matcher(answer_grammar(written)), JsonCloser(self._tokenizer, room_needed(written))

    def _text(self, wanted: _Offer) -> str:
        """Returns the grammar of the offer, from a cache if possible, because rendering takes longer."""
        intents, longest, paths, thinking, work_items = wanted
        for rendered, text in self._rendered:
            if rendered == wanted:
                return text
        text = intent_grammar(intents, self._spelling, longest, paths, thinking, work_items=work_items)
        self._rendered.appendleft((wanted, text))
        return text

    def _matcher(self, key: str) -> tuple[str, LLMatcher]:
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = _Compiled(self._compile(key))
            if len(self._compiled) > _MOST_COMPILED:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(key)
        return key, compiled.matcher.deep_copy()

    def used(self, key: str, tokens: int, *, failed: bool) -> None:
        """Records the number of tokens that the key's matcher accepted, and whether it failed."""
        compiled = self._compiled.get(key)
        if compiled is None:
            return
        compiled.tokens += tokens
        if failed or compiled.tokens > _WORN_TOKENS:
            del self._compiled[key]

    def _compile(self, grammar: str) -> LLMatcher:
        limits = LLParserLimits(max_lexer_states=_LEXER_STATES, verbose_errors=False)
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=limits)
        if matcher.is_error():
            raise GrammarError(_shorten(matcher.get_error()))
        return matcher


def _shorten(error: str) -> str:
    """Returns the first line of llguidance's message, without the position in the generated grammar."""
    return error.split("\n", 1)[0].split("JSON schema: ", 1)[-1][:300]
