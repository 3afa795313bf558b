"""Tools that answer other agents about policy and the audit log: what would be decided, why a call was decided so, and
how their own calls ended (TRN-23). Nothing here acts, and the input and outcome of a call are shown only to its own
client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from remit_governance.audit.reading.query import AuditFilter
from remit_governance.canonical import Json
from remit_governance.errors import ActionError
from remit_governance.permissions.permissions import settle
from remit_governance.policy.decision.recorded import explain
from remit_governance.policy.language.action_form import parse_question
from remit_governance.rulebook import Rulebook
from remit_governance.values import Intent
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.calls import tags_of
from remit_server.runtime.audit.audit_service import list_calls
from remit_server.runtime.audit.told_call import call_json, find_call, judge_now
from remit_server.runtime.settings import Settings
from remit_server.tools.spec import Arguments
from remit_server.transports.mcp.clients import McpClient

MOST_CALLS = 100
_SHOWN = (
    *("time", "tool_call_id", "tool_name", "intent", "policy_decision", "policy_rule_name", "denied_by"),
    *("failed", "came_to"),
)
"""The fields of a call that a list has; `audit_why` has the rest."""
_ITS_OWN = ("input", "deny_reason", "outcome")
"""The fields of a call that only the client that made it may see."""


_IntentWord = Annotated[
    Intent, Field(strict=False), WithJsonSchema({"type": "string", "enum": [intent.value for intent in Intent]})
]


class ActionQuestion(Arguments):
    """An action: what it does, and to what."""

    syscall: str = Field(
        min_length=1, max_length=40, description="fs.read, fs.write, fs.list, process.exec, net.connect …"
    )
    path: str | None = Field(default=None, max_length=4096, description="relative to the workspace")
    command: str | None = Field(default=None, max_length=20_000, description="a command line, for process.exec")
    cwd: str | None = Field(default=None, max_length=4096, description="the folder it runs in")
    host: str | None = Field(default=None, max_length=300, description="for net.connect")
    tool: str | None = Field(default=None, max_length=100, description="the tool that would do it")
    intent: _IntentWord | None = Field(default=None, description="the intent that it would be done under")


class CallNamed(Arguments):
    """One call of the audit log."""

    call: str = Field(
        min_length=1, max_length=200, description="the id that its result or its refusal names, or a record's number"
    )


class CallsWanted(Arguments):
    """Which of the client's own calls."""

    decision: str | None = Field(default=None, max_length=40, description="allowed, review_required or denied")
    tool: str | None = Field(default=None, max_length=100, description="only calls of this tool")
    limit: int = Field(default=20, ge=1, le=MOST_CALLS, description="how many, the newest first")


@dataclass(frozen=True, slots=True)
class Asking:
    """The client that asks, and the rules and the settings in force."""

    client: McpClient
    rulebook: Rulebook
    settings: Callable[[], Settings]


@dataclass(frozen=True, slots=True)
class GovernanceTool:
    """A tool that only answers: its arguments, and the function that returns the answer as JSON, which may read files
    and raise RemitError. `of_session` says that it answers about the client's session."""

    title: str
    summary: str
    arguments: type[Arguments]
    answer: Callable[[Any, Asking], Mapping[str, Json]]
    of_session: bool = False


def explain_action(asked: ActionQuestion, asking: Asking) -> Mapping[str, Json]:
    """Returns what policy and the person's standing answers make of an action of this agent. Raises ToolError if
    the fields make no action."""
    form = asked.model_dump(exclude_none=True) | {"caller_tags": sorted(tags_of("agent", asked.tool or ""))}
    try:
        rules = asking.rulebook
        return explain(rules.policy, *parse_question(form, rules.policy), partial(settle, rules.permissions))
    except ActionError as error:
        what, why = "the action cannot be judged", "its fields do not fit together"
        raise ToolError(what, why, "give what `syscall` is done to: a path, a command or a host") from error


def tell_why(asked: CallNamed, asking: Asking) -> Mapping[str, Json]:
    """Returns who decided a call of an agent, and how it would be decided now. Raises SetupError, or ToolError for a
    call that no agent made."""
    settings = asking.settings()
    call = find_call(settings.audit_database, asked.call)
    if call.announced.event.caller != "agent":
        raise ToolError(
            "this call is not shown here",
            "it is the person's own, or their model's",
            "a person can see it: `remit audit why`",
            code=ErrorCode.NOT_FOUND,
        )
    told = call_json(call, judge_now(call, settings))
    own = asking.client.owns(call.announced.event.session_id)
    return told if own else {name: value for name, value in told.items() if name not in _ITS_OWN}


def list_own_calls(asked: CallsWanted, asking: Asking) -> Mapping[str, Json]:
    """Returns the last calls of this client's own session."""
    wanted = AuditFilter(
        session_id=asking.client.session,
        policy_decision=asked.decision,
        tool_name=asked.tool,
        limit=asked.limit,
    )
    calls = list_calls(asking.settings().audit_database, wanted)
    listed = tuple({name: call[name] for name in _SHOWN if name in call} for call in calls)
    return {"session_id": asking.client.session, "calls": listed}


GOVERNANCE_TOOLS: Mapping[str, GovernanceTool] = MappingProxyType(
    {
        "policy_explain": GovernanceTool(
            "Explain policy",
            "What the person's policy would decide on an action of yours, with every rule and reason. Does nothing.",
            ActionQuestion,
            explain_action,
        ),
        "audit_why": GovernanceTool(
            "Explain a past call",
            "Why a call of yours was allowed or denied: the rule, where it is written, who said yes or no, and what "
            "would be decided now.",
            CallNamed,
            tell_why,
        ),
        "audit_log": GovernanceTool(
            "List past calls",
            "Your own last calls as the audit log has them, the newest first.",
            CallsWanted,
            list_own_calls,
            of_session=True,
        ),
    }
)
