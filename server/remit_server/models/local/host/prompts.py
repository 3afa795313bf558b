"""Renders a conversation for one model, so that generated text stands unchanged in the next prompt, and spells a gap in
a document that the model is to fill (MOD-02). Pure.

Messages contain files and tool output, which may spell the model's control tokens; those are escaped first, so that a
file cannot speak as the person or as the model. A row of the table of gaps applies to a model whose tokenizer has each
marker of the row as one token. Prefixes and suffixes stand after their markers; the model continues at the end.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from remit_server.models.dialects.table import COMPACT, DIALECTS, SIGNS, Dialect, spell_call
from remit_server.models.local.host.grammar.schemas import SELECT, selection_schema
from remit_server.models.local.wire import ChatMessage
from remit_server.models.ports import Effort, Gap, ToolSpec
from remit_server.models.tool_words import matrix_lines, shown_parameters

TemplateMessage = dict[str, JsonValue]
Template = Callable[[list[TemplateMessage], list[TemplateMessage], Effort | None], str]
"""Renders messages and tool descriptions, up to where the assistant is to speak, with an effort if the template knows
of efforts. May raise anything.
"""

SEAM = "\ufdd0"
"""Splits a text in a prompt that looks like a marker: its parts are tokenized one by one, so that the model reads the
characters and not the marker. A seam in the text itself is doubled.
"""

_PROBE_CALL = ("probe_tool", {"path": "a/b.py"})


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders prompts for one model.

    `native_calls`: the template spells calls, as the dialect does; otherwise calls are spelled into the text. With
    `turns` the template knows only the roles of the person and the model.
    """

    template: Template
    markers: re.Pattern[str] | None
    dialect: Dialect
    native_calls: bool
    shows_tools: bool
    turns: bool = False

    def render(
        self,
        messages: Sequence[ChatMessage],
        intents: Mapping[str, Sequence[ToolSpec]],
        effort: Effort | None = None,
        work_items: Sequence[str] = (),
    ) -> str:
        """Returns the prompt text. Whatever the template raises is a defect of the model folder and is passed on."""
        tools = describe_tools(intents, work_items)
        shown = list(messages)
        if intents and not self.shows_tools:
            shown = with_tools(messages, intents, self.dialect, work_items)
        shown = join_requests(shown)
        if self.native_calls and not self.dialect.several:
            shown = one_call_a_message(shown)
        rendered = [self._message(message) for message in shown]
        described = [_as_object(self._defuse(tool)) for tool in tools]
        return self.template(as_turns(rendered) if self.turns else rendered, described, effort)

    def _message(self, message: ChatMessage) -> TemplateMessage:
        content = self.defuse(message.content)
        rendered: TemplateMessage = {"role": message.role, "content": content}
        if message.role == "tool":
            rendered |= {"name": message.name or "", "tool_call_id": _short(message.tool_call_id or "")}
        if message.tool_calls and self.native_calls:
            rendered["tool_calls"] = [
                _template_call(_short(call.id), call.name, self._defuse(dict(call.arguments)))
                for call in message.tool_calls
            ]
        elif message.tool_calls:
            rendered["content"] = content + self.dialect.between.join(
                spell_call(self.dialect, call.name, _as_object(self._defuse(dict(call.arguments))), _short(call.id))
                for call in message.tool_calls
            )
        return rendered

    def _defuse(self, value: JsonValue) -> JsonValue:
        """Defuses every string of a JSON value."""
        if isinstance(value, str):
            return self.defuse(value)
        if isinstance(value, list):
            return [self._defuse(part) for part in value]
        if isinstance(value, dict):
            return {key: self._defuse(part) for key, part in value.items()}
        return value

    def defuse(self, text: str) -> str:
        """Returns a text in which nothing is read as a marker."""
        whole = text.replace(SEAM, SEAM + SEAM)
        return self.markers.sub(_split, whole) if self.markers is not None else whole


def renderer(
    template: Template | None,
    control_tokens: Sequence[str],
    begin: str,
    end: str,
    *,
    source: str = "",
    own: bool = False,
) -> Renderer:
    """Finds out how a template behaves by trying it; without one, or with one that fails, uses the plain template.

    `control_tokens` are the spellings of the tokenizer's own markers, `begin` and `end` of its first and last token,
    `source` is the template's text. With `own` the template spells calls in whatever format it has.
    """
    spellings = sorted((token for token in control_tokens if len(token) > 1), key=len, reverse=True)
    markers = re.compile("|".join(map(re.escape, spellings))) if spellings else None
    plain = plain_template(begin, end)
    for candidate, turns, signs in ((template, False, source), (template, True, source), (plain, False, "")):
        if candidate is None:
            continue
        try:
            dialect, native = _find_dialect(candidate, signs, turns=turns, own=own)
            return Renderer(candidate, markers, dialect, native, not turns and _shows_tools(candidate), turns)
        except Exception:  # noqa: S112 - a template is a program of the model folder; one that fails is not used
            continue
    raise AssertionError("the plain template renders every role")


def split_at_seams(text: str) -> list[str]:
    """Returns the parts of a prompt that are tokenized one by one."""
    parts = [""]
    for number, part in enumerate(re.split(f"({SEAM}{SEAM}|{SEAM})", text)):
        if number % 2 == 0:
            parts[-1] += part
        elif len(part) > 1:
            parts[-1] += SEAM
        else:
            parts.append("")
    return [part for part in parts if part]


def join_requests(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Joins requests that follow each other after a turn without an answer, because some templates refuse them."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1].role == message.role == "user":
            joined[-1] = joined[-1].model_copy(update={"content": f"{joined[-1].content}\n\n{message.content}"})
        else:
            joined.append(message)
    return joined


def one_call_a_message(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Gives each call a message of its own, followed by its result."""
    results = {message.tool_call_id: message for message in messages if message.role == "tool"}
    split: list[ChatMessage] = []
    for message in messages:
        if len(message.tool_calls) > 1:
            for number, call in enumerate(message.tool_calls):
                content = message.content if number == 0 else ""
                split.append(message.model_copy(update={"content": content, "tool_calls": (call,)}))
                if (result := results.pop(call.id, None)) is not None:
                    split.append(result)
        elif message.role != "tool" or results.pop(message.tool_call_id, None) is not None:
            split.append(message)
    return split


def as_turns(messages: Sequence[TemplateMessage]) -> list[TemplateMessage]:
    """Puts the system message and results into the person's turns, for templates that refuse them. Turns alternate."""
    turns: list[TemplateMessage] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "tool":
            content = f"<tool_response>\n{content}\n</tool_response>"
        role = "assistant" if role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] = f"{turns[-1]['content']}\n\n{content}"
        else:
            turns.append({"role": role, "content": content})
    return turns


def plain_template(begin: str, end: str) -> Template:
    """Returns the template for models without one: a heading for each role, `end` after the model's messages."""

    def template(messages: list[TemplateMessage], tools: list[TemplateMessage], effort: Effort | None) -> str:
        del tools, effort  # the tools are described in the system message instead
        turns = (
            f"### {message['role']}\n{message['content']}{end if message['role'] == 'assistant' else ''}\n\n"
            for message in messages
        )
        return begin + "".join(turns) + "### assistant\n"

    return template


def with_tools(
    messages: Sequence[ChatMessage],
    intents: Mapping[str, Sequence[ToolSpec]],
    dialect: Dialect,
    work_items: Sequence[str] = (),
) -> list[ChatMessage]:
    """Adds the tools to the system message, for templates that do not render them."""
    schemas = [json.dumps(tool, ensure_ascii=False) for tool in describe_tools(intents, work_items)]
    lines = [
        "Answer in plain text, or call tools. Before any other tool, declare an intent:",
        dialect.between.join(
            (
                spell_call(dialect, SELECT, {"intent": next(iter(intents))}),
                spell_call(dialect, "tool_name", {"argument": "value"}),
            )
        ),
        "Tools:",
        *schemas,
    ]
    return with_instruction(messages, "\n".join(lines))


def with_schema(messages: Sequence[ChatMessage], schema: Mapping[str, JsonValue]) -> list[ChatMessage]:
    """Adds a request for a value of a schema to the messages, where no grammar enforces it."""
    spelled = json.dumps(dict(schema), ensure_ascii=False)
    return with_instruction(messages, f"Answer with one JSON value of this schema, and with nothing else: {spelled}")


def with_instruction(messages: Sequence[ChatMessage], text: str) -> list[ChatMessage]:
    """Adds an instruction at the end of the system message."""
    if messages and messages[0].role == "system":
        first = messages[0].model_copy(update={"content": f"{messages[0].content}\n\n{text}"})
        return [first, *messages[1:]]
    return [ChatMessage(role="system", content=text), *messages]


def describe_tools(intents: Mapping[str, Sequence[ToolSpec]], work_items: Sequence[str] = ()) -> list[TemplateMessage]:
    """Describes the callable tools as chat templates take them, the declaration of an intent first."""
    if not intents:
        return []
    matrix = "; ".join(matrix_lines({intent: [tool.name for tool in offered] for intent, offered in intents.items()}))
    select = ToolSpec(
        name=SELECT,
        description=f"Declare what this step is about to do, before any other tool. Tools by intent: {matrix}",
        parameters=selection_schema(list(intents), work_items),
    )
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return [{"type": "function", "function": _describe_tool(tool)} for tool in (select, *tools.values())]


def _describe_tool(tool: ToolSpec) -> TemplateMessage:
    return {"name": tool.name, "description": tool.description, "parameters": shown_parameters(tool.parameters)}


def _find_dialect(template: Template, source: str, *, turns: bool, own: bool) -> tuple[Dialect, bool]:
    """Tries the template on a call; returns the dialect that it is spelled in, and whether the template spelled it.

    Raises what the template raises.
    """
    name, arguments = _PROBE_CALL
    call_id = _short("1")
    conversation: list[TemplateMessage] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [_template_call(call_id, name, dict(arguments))]},
        {"role": "tool", "content": "r", "name": name, "tool_call_id": call_id},
    ]
    said = template(as_turns(conversation) if turns else conversation, [], None)
    for dialect in DIALECTS.values():
        if spell_call(dialect, name, arguments, call_id) in said:
            return dialect, True
    return next((row for sign, row in SIGNS if sign in source), COMPACT), own and name in said


def _shows_tools(template: Template) -> bool:
    name, _ = _PROBE_CALL
    tool: TemplateMessage = {
        "type": "function",
        "function": {"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}},
    }
    return name in template([{"role": "user", "content": "u"}], [tool], None)


def _template_call(call_id: str, name: str, arguments: JsonValue) -> TemplateMessage:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _short(call_id: str) -> str:
    """Returns a call's id as nine letters and digits, because some templates accept no other."""
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


def _split(match: re.Match[str]) -> str:
    spelled = match.group()
    return f"{spelled[0]}{SEAM}{spelled[1:]}"


def _as_object(value: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(value, dict)
    return value


@dataclass(frozen=True, slots=True)
class FillIn:
    """The markers of one family; without a `middle` the prefix comes last, and the model continues it."""

    prefix: str
    suffix: str
    middle: str | None

    @property
    def markers(self) -> tuple[str, ...]:
        """All markers."""
        return (self.prefix, self.suffix, *([] if self.middle is None else [self.middle]))

    def spell(self, before: str, after: str) -> str:
        """Returns the prompt for the gap between two texts."""
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
    """Returns the row of a tokenizer, or None if it has none, so that the model can only continue a text."""
    return next((row for row in FILL_IN if all(map(is_one_token, row.markers))), None)


def spell_gap(row: FillIn | None, begin: str, gap: Gap, defuse: Callable[[str], str]) -> str:
    """Returns a prompt for a gap, beginning with `begin`, the token that begins a text; whatever looks like a marker in
    the document is defused. Without a row the model only continues the text before the gap.
    """
    before = defuse(gap.before)
    return begin + (before if row is None else row.spell(before, defuse(gap.after)))
