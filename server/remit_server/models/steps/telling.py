"""What a model is told of its steps: rules, or a conversation in which they are taken (MOD-20; MOD-21)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from remit_governance.values import Intent
from remit_server.models.ports import Message, SystemMessage, ToolSpec
from remit_server.models.profile import Profile, Telling
from remit_server.models.steps.dialogues import dialogues
from remit_server.models.steps.schema import Form, Intents, opening
from remit_server.models.tool_words import matrix_lines

FORMS = {Telling.RULES: Form.INTENT_FIRST, Telling.EXAMPLES: Form.TOOL_FIRST}

_SMALL_PROMPT = "You are Remit, an agent in a code editor. Each step is one JSON object: a tool call, or an answer."


def standing_messages(profile: Profile, system: str, intents: Intents) -> tuple[Message, ...]:
    """Returns what stands before a conversation: the same messages as long as the same is offered.

    `system` are the standing instructions; a profile of examples has its own, which are shorter.
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
    """Returns how a step is written, and the tools: the same text as long as the same is offered."""
    matrix = "\n".join(matrix_lines({each.value: [tool.name for tool in offered] for each, offered in intents.items()}))
    listed = "\n".join(f"- {signature(tool)}: {tool.description}{_words(tool)}" for tool in _tools(intents))
    return (
        'Answer with one JSON object: {"intent": "INTENT", "calls": [{"tool": "NAME", "arguments": {…}}]} to act, or '
        '{"answer": "…"} when the work is done.\n'
        f"Intents and the tools they open:\n{matrix}\n"
        f"Tools (what has a question mark may be left out):\n{listed}{_example(intents)}"
    )


def signature(tool: ToolSpec) -> str:
    """Returns a tool as a function is written, `read_file(path, offset?)`: small models copy any notation that looks
    like the arguments themselves as their values."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    needed = required if isinstance(required, list) else []
    names = properties if isinstance(properties, dict) else {}
    return f"{tool.name}({', '.join(name if name in needed else f'{name}?' for name in names)})"


def _words(tool: ToolSpec) -> str:
    """What is said of the arguments, behind what is said of the tool."""
    properties = tool.parameters.get("properties")
    said = {
        name: part["description"]
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "description" in part
    }
    return f" ({'; '.join(f'{name}: {words}' for name, words in said.items())})" if said else ""


_EXAMPLE_TOOL, _EXAMPLE_PATH = "read_file", "docs/intro.md"


def _example(intents: Intents) -> str:
    """One whole step, where reading is offered: what a step looks like, with arguments that are real ones."""
    open_it = opening(intents, _EXAMPLE_TOOL)
    if not open_it:
        return ""
    intent = Intent.READ_FILE if Intent.READ_FILE in open_it else open_it[0]
    step = {"intent": intent.value, "calls": [{"tool": _EXAMPLE_TOOL, "arguments": {"path": _EXAMPLE_PATH}}]}
    return f"\nA step that reads a file: {json.dumps(step)}"
