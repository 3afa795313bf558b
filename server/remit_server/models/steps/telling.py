"""What a model is told about its steps (MOD-20; MOD-21): rules, or examples, a short conversation for each tool. Every
result in the examples is what the tool really says.

This module also finds what a small model copies from the examples as if the person had named it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.models.ports import (
    UNREADABLE_CALL,
    AssistantMessage,
    Message,
    ProposedCall,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.profile import Profile, Telling
from remit_server.models.steps.schema import Form, Intents, opening
from remit_server.models.tool_words import matrix_lines

FORMS = {Telling.RULES: Form.INTENT_FIRST, Telling.EXAMPLES: Form.TOOL_FIRST}

_SMALL_PROMPT = "You are Remit, an agent in a code editor. Each step is one JSON object: a tool call, or an answer."


def standing_messages(profile: Profile, system: str, intents: Intents) -> tuple[Message, ...]:
    """Returns the messages that stand before a conversation; they are the same as long as the same tools are offered.

    `system` are the standing instructions; a profile with examples has its own, which are shorter.
    """
    if not intents:
        return (SystemMessage(system),) if system else ()
    if profile.telling is Telling.RULES:
        return (SystemMessage(f"{system}\n\n{describe_step(intents)}"),)
    shown = dialogues(intents)
    untold = [tool for tool in _tools(intents) if tool.name not in shown.tools]
    listed = "".join(f"\n- {signature(tool)}: {tool.description}" for tool in untold)
    more = f"\nFurther tools:{listed}" if untold else ""
    return (SystemMessage(_SMALL_PROMPT + more), *shown.messages)


def _tools(intents: Intents) -> Sequence[ToolSpec]:
    return tuple({tool.name: tool for offered in intents.values() for tool in offered}.values())


def describe_step(intents: Intents) -> str:
    """Returns how a step is written, and the tools; the text is the same as long as the same tools are offered."""
    matrix = "\n".join(matrix_lines({each.value: [tool.name for tool in offered] for each, offered in intents.items()}))
    listed = "\n".join(f"- {signature(tool)}: {tool.description}{_words(tool)}" for tool in _tools(intents))
    return (
        'Answer with one JSON object: {"intent": "INTENT", "calls": [{"tool": "NAME", "arguments": {…}}]} to act, or '
        '{"answer": "…"} when the work is done.\n'
        f"Intents and the tools they open:\n{matrix}\n"
        f"Tools (what has a question mark may be left out):\n{listed}{_example(intents)}"
    )


def signature(tool: ToolSpec) -> str:
    """Returns a tool written like a function, `read_file(path, offset?)`, because small models copy any notation that
    looks like the arguments themselves as their values."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    needed = required if isinstance(required, list) else []
    names = properties if isinstance(properties, dict) else {}
    return f"{tool.name}({', '.join(name if name in needed else f'{name}?' for name in names)})"


def _words(tool: ToolSpec) -> str:
    """Returns the descriptions of the arguments, which follow the description of the tool."""
    properties = tool.parameters.get("properties")
    said = {
        name: part["description"]
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "description" in part
    }
    return f" ({'; '.join(f'{name}: {words}' for name, words in said.items())})" if said else ""


_EXAMPLE_TOOL, _EXAMPLE_PATH = "read_file", "docs/intro.md"


def _example(intents: Intents) -> str:
    """Returns an example of a whole step with real arguments, or an empty string if reading is not offered."""
    open_it = opening(intents, _EXAMPLE_TOOL)
    if not open_it:
        return ""
    intent = Intent.READ_FILE if Intent.READ_FILE in open_it else open_it[0]
    step = {"intent": intent.value, "calls": [{"tool": _EXAMPLE_TOOL, "arguments": {"path": _EXAMPLE_PATH}}]}
    return f"\nA step that reads a file: {json.dumps(step)}"


@dataclass(frozen=True, slots=True)
class Use:
    """One call and its result, and the intent that is declared for it if that intent is offered."""

    tool: str
    intent: Intent
    arguments: Mapping[str, JsonValue]
    result: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a person asks, the call, and the answer after it."""

    ask: str
    use: Use
    answer: str


FILES: Mapping[str, str] = {
    "cart.py": "class Cart:\n    pass\n",
    "tax.py": "RATE = 2\ndef tax(price):\n    return price * RATE\n",
    "old.py": "",
    "notes.txt": "buy milk\n",
}
"""The workspace in which the dialogues take place, one after the other."""

DIALOGUES = (
    Dialogue(
        "Where is the class Cart defined?",
        Use(
            "search_files",
            Intent.ANALYZE,
            {"pattern": "class Cart"},
            "1 match for `class Cart` in 1 file\ncart.py\n1:class Cart:",
        ),
        "Cart is defined in cart.py, line 1.",
    ),
    Dialogue(
        "What does tax.py do?",
        Use(
            "read_file",
            Intent.ANALYZE,
            {"path": "tax.py"},
            "tax.py (lines 1-3 of 3)\n1|RATE = 2\n2|def tax(price):\n3|    return price * RATE",
        ),
        "tax.py computes the tax of a price.",
    ),
    Dialogue(
        "Set RATE in tax.py to 3",
        Use(
            "edit_file",
            Intent.CODE,
            {"path": "tax.py", "old_text": "RATE = 2", "new_text": "RATE = 3"},
            "edited tax.py: 1 replacement",
        ),
        "RATE is 3 now.",
    ),
    Dialogue(
        "Put a function one() into a new file one.py",
        Use(
            "write_file",
            Intent.CODE,
            {"path": "one.py", "content": "def one():\n    return 1\n"},
            "wrote one.py: 24 bytes",
        ),
        "one.py has one() now.",
    ),
    Dialogue(
        "Run `wc -l tax.py`",
        Use("run_command", Intent.EXECUTE, {"command": "wc -l tax.py"}, "exit code 0\nstdout:\n3 tax.py"),
        "It says: 3 tax.py",
    ),
    Dialogue(
        "Delete old.py",
        Use("delete_file", Intent.CODE, {"path": "old.py"}, "deleted old.py, 0 bytes"),
        "old.py is deleted.",
    ),
    Dialogue(
        "Rename notes.txt to todo.txt",
        Use("move_file", Intent.CODE, {"path": "notes.txt", "new_path": "todo.txt"}, "moved notes.txt to todo.txt"),
        "It is todo.txt now.",
    ),
    Dialogue(
        "Which files are there?",
        Use("list_files", Intent.ANALYZE, {}, "4 files match `*` in .\ncart.py\none.py\ntax.py\ntodo.txt"),
        "cart.py, one.py, tax.py and todo.txt.",
    ),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The messages of some dialogues, and the tools that they use."""

    messages: tuple[Message, ...]
    tools: frozenset[str]


def dialogues(intents: Intents) -> Shown:
    """Returns the dialogues whose tools are offered."""
    offered = {tool.name for tools in intents.values() for tool in tools}
    fitting = [each for each in DIALOGUES if each.use.tool in offered]
    messages = tuple(message for each in fitting for message in _messages(each, intents))
    return Shown(messages, frozenset(each.use.tool for each in fitting))


def _messages(dialogue: Dialogue, intents: Intents) -> Iterator[Message]:
    use = dialogue.use
    open_it = opening(intents, use.tool)
    intent = use.intent if use.intent in open_it else open_it[0]
    declared = ProposedCall("example", SELECT_INTENT, {"intent": intent.value})
    yield UserMessage(dialogue.ask)
    yield AssistantMessage("", (declared, ProposedCall("example-call", use.tool, use.arguments)))
    yield ToolMessage("example-call", use.tool, use.result)
    yield AssistantMessage(dialogue.answer)


EXAMPLE_TEXTS = frozenset(
    value for each in DIALOGUES for value in each.use.arguments.values() if isinstance(value, str)
) | frozenset(FILES)
"""The texts of the examples that could be taken for arguments."""
COPIED = "`{text}` is of the examples: nothing in this conversation names it"
_NAMES = re.compile(r"\w+\.\w+|\w+\(\)|\b[A-Z]{2,}\b")
ANSWER_NAMES = tuple(dict.fromkeys(name for each in DIALOGUES for name in _NAMES.findall(each.answer)))
"""The names in the answers of the examples."""


def find_copied(arguments: Mapping[str, JsonValue], messages: Sequence[Message]) -> str | None:
    """Returns the first argument that is a text of the examples, and neither said nor shown in the conversation, or
    None if there is none.

    An error about a copied text does not count as showing that text, so the same call is found again.
    """
    shown = [each.text for each in messages if _shows(each)]
    texts = (value for value in arguments.values() if isinstance(value, str) and value in EXAMPLE_TEXTS)
    return next((text for text in texts if not any(text in each for each in shown)), None)


def find_copied_name(answer: str, messages: Sequence[Message]) -> str | None:
    """Returns the first name in an answer that only the examples have, or None if there is none."""
    shown = [each.text for each in messages if _shows(each)]
    named = (each for each in ANSWER_NAMES if re.search(rf"(?<![\w./]){re.escape(each)}(?!\w)", answer))
    return next((name for name in named if not any(name in each for each in shown)), None)


def _shows(message: Message) -> bool:
    match message:
        case UserMessage():
            return True
        case ToolMessage(tool=tool):
            return tool != UNREADABLE_CALL
        case _:
            return False
