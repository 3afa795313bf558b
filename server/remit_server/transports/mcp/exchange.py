"""One request as the SDK passes it on: the era of its protocol, its client, and what can be sent meanwhile (TRN-20).

Questions are forms that a client shows to its person: all that would be done, and the possible answers (TRN-22).
Anything but a clear yes is a no. If a form cannot show all of it, nobody is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from remit_governance.visible import visible
from remit_server.contract import AgentEvent, ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.approval.question import question_text
from remit_server.harness.ports import AskingStyle, CannotAsk
from remit_server.transports.mcp.clients import Clients, McpClient

EVENT = "remit/event"
"""The metadata key of a progress notification under which its event is."""
_MOST_NAME = 60
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class McpExchange:
    """One request, and the means to send to its client."""

    ctx: ServerRequestContext[Any, Any]
    responses: Mapping[str, object] | None = None
    """The client's answers to questions, by approval id."""

    @property
    def modern(self) -> bool:
        """Whether the protocol is of the newer era, since 2026-07-28: the server asks by the answer to a request, and
        the client brings the person's answer with its next request."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_ask(self) -> bool:
        """Whether the client has announced that it shows forms, and can be sent one."""
        known = self.ctx.session.client_capabilities
        asked = None if known is None else known.elicitation
        if asked is None or (asked.form is None and asked.url is not None):
            return False
        return self.modern or self.ctx.session.can_send_request

    @property
    def program(self) -> str:
        """The name and version by which the client introduced itself, which proves nothing."""
        known = self.ctx.session.client_params
        if known is None:
            return "unknown"
        return visible(f"{known.client_info.name} {known.client_info.version}"[:_MOST_NAME], "show")

    def client(self, clients: Clients) -> McpClient:
        """Returns the client that sent the request: the one on the pipe, the one of an HTTP session, or the shared
        client if there is no session, as always in the newer era."""
        if self.ctx.request is None:
            return clients.find(None)
        session = None if self.modern else self.ctx.request.headers.get("mcp-session-id")
        return clients.shared() if session is None else clients.find(session)

    async def tell(self, event: AgentEvent) -> None:
        """Sends an event as progress, if the client asked for progress. Waits if the client reads slowly."""
        token = progress_token_from_params(self.ctx.params)
        if token is None:
            return
        params = mcp.ProgressNotificationParams(
            progress_token=token,
            progress=event.seq,
            message=_in_words(event),
            _meta={EVENT: event.model_dump(mode="json")},
        )
        await self.ctx.session.send_notification(
            mcp.ProgressNotification(params=params), related_request_id=self.ctx.request_id
        )

    async def put(self, question: ApprovalRequired, form: Form) -> object:
        """Shows a form to the person, in the older era, and returns the client's answer. Raises MCPError or
        ValidationError if there is no usable answer."""
        del question
        return await self.ctx.session.elicit_form(form.message, form.schema, related_request_id=self.ctx.request_id)


def _in_words(event: AgentEvent) -> str:
    """Returns an event as a short text for the person."""
    match event.kind:
        case "approval_required":
            return f"asks: {event.title}"
        case "tool_output" | "token_delta":
            return event.text[-_MOST_SHOWN:]
        case "tool_call" | "tool_result":
            return f"{event.kind.replace('_', ' ')}: {event.tool}"
        case _:
            return event.kind.replace("_", " ")


MOST_SHOWN = 20_000
"""The most characters that a person can be expected to read in a form."""
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
        """Returns the form as a request of the protocol."""
        return mcp.ElicitRequest(params=mcp.ElicitRequestFormParams(message=self.message, requested_schema=self.schema))


def make_form(question: ApprovalRequired, *, once: bool) -> Form:
    """Returns the form of a question; with `once`, no answer for the whole session is offered. Raises CannotAsk if the
    question is too long."""
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
    """Returns the approval answer that a client's answer to the form means. Raises CannotAsk if the form was closed
    without an answer, because a client that has nobody to ask does that."""
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
    """Asks by forms: `put` shows a form to the person, and returns the client's answer."""

    put: Callable[[ApprovalRequired, Form], Awaitable[object]]
    once: bool
    style: AskingStyle = "callback"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Returns the person's answer. Raises CannotAsk if the client could not ask the question."""
        form = make_form(question, once=self.once)
        try:
            given = await self.put(question, form)
        except (MCPError, ValidationError) as error:
            why = "it needs approval, and the client that made the call could not ask"
            raise CannotAsk("not done", why, HOW_TO_ALLOW) from error
        return read_answer(question, given, once=self.once)
