"""Spells a ruling in the agent's own format (HOK-01): what goes to standard output, and the exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, assert_never

from remit_governance.secrets.cutting import shorten
from remit_governance.visible import visible
from remit_server.errors import RemitError
from remit_server.hooks.formats.agents import Agent, EventRow
from remit_server.hooks.judging.deciding import Ruling, Word

MOST_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What a hook's process prints and exits with."""

    out: str = ""
    err: str = ""
    code: int = 0


NOTHING = Reply()


def reply_to_call(agent: Agent, event: str, row: EventRow, ruling: Ruling) -> Reply:
    """Returns the answer to a call; for an agent that knows no *ask*, that is a deny which says how to allow it."""
    word, said = word_told(agent, row, ruling), _clean(ruling.told)
    if row.kind == "permission":
        return _permission(agent, event, word, said)
    match agent.style:
        case "claude":
            return _json({"hookSpecificOutput": _specific(event, word, said)})
        case "codex":
            # Codex takes no `allow` and no `ask`; to print nothing lets the call go on.
            return NOTHING if word == "allow" else _json({"hookSpecificOutput": _specific(event, "deny", said)})
        case "gemini":
            return _json({"decision": word} if word == "allow" else {"decision": "deny", "reason": said})
        case "copilot":
            flat = {"permissionDecision": word, "permissionDecisionReason": said}
            return _json(flat if event[:1].islower() else {"hookSpecificOutput": _specific(event, word, said)} | flat)
        case "cursor":
            told = {} if word == "allow" else {"user_message": said, "agent_message": said}
            return _json({"permission": word, **told})
        case _:
            assert_never(agent.style)


def word_told(agent: Agent, row: EventRow, ruling: Ruling) -> Word:
    """Returns what the agent is told: a deny in place of an *ask* that the agent or its event does not know."""
    unasked = ruling.word == "ask" and row.kind != "permission" and not (agent.asks and row.asks)
    return "deny" if unasked else ruling.word


def reply_to_failure(agent: Agent, event: str | None, error: RemitError) -> Reply:
    """Returns the answer if nothing could be judged: a deny in the agent's format, and what, why and fix."""
    told = f"{_clean(error.what)}: {_clean(error.why)}\nfix: {_clean(error.fix)}\n"
    row = agent.events.get(event or "") or EventRow("before")
    if row.kind in {"after", "failed", "start", "end", "other", "prompt"}:
        return Reply("", told, 1)
    ruling = Ruling("deny", "hook.failed", f"{error.what}: {error.why}", error.fix)
    said = reply_to_call(agent, event or _first_before(agent), row, ruling)
    return Reply(said.out, told, agent.failed)


def _first_before(agent: Agent) -> str:
    return next(name for name, row in agent.events.items() if row.kind == "before")


def _permission(agent: Agent, event: str, word: str, said: str) -> Reply:
    """Returns a deny, or nothing, so that the agent asks its person, in whose place nobody else may allow."""
    if word != "deny":
        return NOTHING
    decision = {"behavior": "deny", "message": said}
    if agent.style == "copilot" and event[:1].islower():
        return _json(decision)
    return _json({"hookSpecificOutput": {"hookEventName": event, "decision": decision}})


def _specific(event: str, word: str, said: str) -> dict[str, str]:
    return {"hookEventName": event, "permissionDecision": word, "permissionDecisionReason": said}


def _json(value: dict[str, Any]) -> Reply:
    return Reply(json.dumps(value) + "\n")


def _clean(text: str) -> str:
    """Returns the text with hidden characters spelled out, and no longer than a person reads."""
    return shorten(visible(text, "show"), MOST_REASON)
