"""A short conversation for each tool, in which it is used (MOD-21). Every result is what the tool really says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, UserMessage
from remit_server.models.steps.schema import Intents, opening


@dataclass(frozen=True, slots=True)
class Use:
    """One call, under the intent that it is declared with where that is offered, and its result."""

    tool: str
    intent: Intent
    arguments: Mapping[str, JsonValue]
    result: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a person asks, the call, and what is answered then."""

    ask: str
    use: Use
    answer: str


FILES: Mapping[str, str] = {
    "cart.py": "class Cart:\n    pass\n",
    "tax.py": "RATE = 2\ndef tax(price):\n    return price * RATE\n",
    "old.py": "",
    "notes.txt": "buy milk\n",
}
"""The workspace that they take place in, one after the other."""

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
