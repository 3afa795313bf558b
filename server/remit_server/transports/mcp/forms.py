"""Questions as forms, which a client puts to its person: all of what would be done, and what may be answered (TRN-22).

Anything but a clear yes is a no; where not all of it can be shown, nobody is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as mcp
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.approval.question_text import question_text
from remit_server.harness.ports import AskingStyle, CannotAsk

MOST_SHOWN = 20_000
"""Characters that a person can be expected to read in a form."""
DENY = "Deny"
ANSWERS: Mapping[Scope, str] = {
    Scope.ONCE: "Allow once",
    Scope.SESSION: "Allow for this session",
    Scope.EDITS: "Allow all edits this session",
}
HOW_TO_ALLOW = (
    "tell the person: they can allow it in their policy (`remit policy update`), or use a client that shows forms "
    "(elicitation)"
)


@dataclass(frozen=True, slots=True)
class Form:
    """What a client shows, and the JSON Schema of what it sends back."""

    message: str
    schema: dict[str, Any]

    def request(self) -> mcp.ElicitRequest:
        """Returns the same as a request of the protocol."""
        return mcp.ElicitRequest(params=mcp.ElicitRequestFormParams(message=self.message, requested_schema=self.schema))


def make_form(question: ApprovalRequired, *, once: bool) -> Form:
    """Returns the form of a question; with `once` no answer stands for a session. Raises CannotAsk where it is too
    long."""
    text = question_text(question)
    if len(text) > MOST_SHOWN:
        why = f"it needs approval, and the question has {len(text)} characters: more than a form has room for"
        raise CannotAsk("not done", why, f"do it in smaller parts, or {HOW_TO_ALLOW}")
    end = f"Answer by {question.deadline}. This answer is for {question.digest} alone."
    answers = [ANSWERS[scope] for scope in _offered(question, once=once)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "title": "Remit asks", "enum": [DENY, *answers]},
            "comment": {
                "type": "string",
                "title": "For the agent",
                "description": "What the agent should know, with a yes or a no",
                "maxLength": 2_000,
            },
        },
        "required": ["answer"],
    }
    return Form(f"Remit asks: {text}\n\n{end}", schema)


def read_answer(question: ApprovalRequired, given: object, *, once: bool) -> ApprovalAnswer:
    """Returns what a client's answer to the form means. Raises CannotAsk where the form was closed without one, as a
    client does that has nobody to ask."""
    if isinstance(given, mcp.ElicitResult) and given.action == "cancel":
        raise CannotAsk("not done", "it needs approval, and the question was closed without an answer", HOW_TO_ALLOW)
    content = given.content or {} if isinstance(given, mcp.ElicitResult) and given.action == "accept" else {}
    chosen = next((scope for scope in _offered(question, once=once) if content.get("answer") == ANSWERS[scope]), None)
    comment = content.get("comment")
    return ApprovalAnswer(
        approval_id=question.approval_id,
        decision="deny" if chosen is None else "allow",
        scope=chosen or Scope.ONCE,
        digest=question.digest,
        comment=comment[:2_000] if isinstance(comment, str) and comment else None,
    )


def _offered(question: ApprovalRequired, *, once: bool) -> list[Scope]:
    return [scope for scope in ANSWERS if scope in question.scopes and (scope is Scope.ONCE or not once)]


@dataclass(frozen=True, slots=True)
class FormAsker:
    """Asks by forms: `put` brings one to the person, and returns what came back."""

    put: Callable[[ApprovalRequired, Form], Awaitable[object]]
    once: bool
    style: AskingStyle = "callback"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Returns the person's answer. Raises CannotAsk where the client could not put the question."""
        form = make_form(question, once=self.once)
        try:
            given = await self.put(question, form)
        except (MCPError, ValidationError) as error:
            why = "it needs approval, and the client that made the call could not ask"
            raise CannotAsk("not done", why, HOW_TO_ALLOW) from error
        return read_answer(question, given, once=self.once)
