"""What of the tools is offered to a model with a small window (AGT-11)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from remit_governance.values import Intent
from remit_server.agent.context.budget import GUESSED_TOKENS_PER_CHAR
from remit_server.models.ports import ToolSpec
from remit_server.models.tool_words import shown_parameters, without_words

Intents = Mapping[Intent, tuple[ToolSpec, ...]]

MOST_TOOL_TOKENS = 3_000
_SHARE = 0.2
"""Of the window: what the descriptions of tools may take."""

EXACT_EDITS = ("edit_file", "apply_diff")
EDITS_BY_NUMBER = ("replace_lines",)

DROPPED_FIRST = (
    "get_references",
    "get_definition",
    "git_commit",
    "get_symbols",
    "git_diff",
    "git_status",
    "get_diagnostics",
    "move_file",
    "apply_diff",
    "repo_map",
    "delete_file",
    "run_tests",
    "list_files",
    "search_files",
    "run_command",
)
"""Which tools a small window goes without, the first of them first. What is left reads, writes and edits files, and
leads on in the workflow where that is enforced."""


def context_cost(tool: ToolSpec) -> int:
    """Returns the tokens that a tool's description takes, roughly."""
    spelled = json.dumps(shown_parameters(tool.parameters))
    return round((len(tool.name) + len(tool.description) + len(spelled)) * GUESSED_TOKENS_PER_CHAR)


def fit_tools(intents: Intents, window: int | None, *, small: bool = False) -> Intents:
    """Returns what a model that reads `window` tokens is offered of the tools; a `small` one edits lines by their
    numbers, others exact texts.

    Words on arguments go first, then tools. The same window gives the same offer: a session's prompt stays as it is.
    """
    intents = _without_tools(intents, EXACT_EDITS if small else EDITS_BY_NUMBER)
    room = MOST_TOOL_TOKENS if window is None else min(MOST_TOOL_TOKENS, int(window * _SHARE))
    return next((offer for offer in _smaller(intents) if _cost(offer) <= room), _last(intents))


def _smaller(intents: Intents) -> Iterator[Intents]:
    yield intents
    bare = _without_words(intents)
    for number in range(len(DROPPED_FIRST)):
        yield _without_tools(bare, DROPPED_FIRST[:number])


def _last(intents: Intents) -> Intents:
    return _without_tools(_without_words(intents), DROPPED_FIRST)


def _cost(intents: Intents) -> int:
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return sum(map(context_cost, tools.values()))


def _without_words(intents: Intents) -> Intents:
    bare = {
        tool.name: replace(tool, parameters=without_words(tool.parameters))
        for offered in intents.values()
        for tool in offered
    }
    return {intent: tuple(bare[tool.name] for tool in offered) for intent, offered in intents.items()}


def _without_tools(intents: Intents, names: tuple[str, ...]) -> Intents:
    left = {intent: tuple(tool for tool in offered if tool.name not in names) for intent, offered in intents.items()}
    return {intent: offered for intent, offered in left.items() if offered}
