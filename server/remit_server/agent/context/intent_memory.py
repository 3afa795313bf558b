"""The intents that a session has declared, as they were declared: what condensing keeps of them (INT-07).

They are read off the conversation itself, so that a session that is taken up again has them too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from remit_governance.intents import SELECT_INTENT, canonical_tool
from remit_server.agent.context.facts import answered_calls
from remit_server.models.ports import Message

MOST_KEPT = 12
"""Declarations, each once; one that says the same as an earlier one takes its place as the newest."""
_HEAD = "Intents that were declared, the oldest first:"


def recall_intents(messages: Sequence[Message]) -> str:
    """Returns the last declarations with all that each said, byte for byte as JSON; empty where there is none."""
    found: dict[str, None] = {}
    for call, refused in answered_calls(messages):
        if canonical_tool(call.name) == SELECT_INTENT and not refused:
            spelled = json.dumps(dict(call.arguments), ensure_ascii=False)
            found.pop(spelled, None)
            found[spelled] = None
    lines = "".join(f"\n- {each}" for each in list(found)[-MOST_KEPT:])
    return f"{_HEAD}{lines}" if lines else ""
