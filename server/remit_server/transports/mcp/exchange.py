"""One request of a client as the SDK hands it over: its era, who sent it, and what can be sent meanwhile (TRN-20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit_governance.visible import visible
from remit_server.contract import AgentEvent, ApprovalRequired
from remit_server.transports.mcp.clients import Clients, McpClient
from remit_server.transports.mcp.forms import Form

EVENT = "remit/event"
"""Where a progress notification has the event that it tells of."""
_MOST_NAME = 60
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class McpExchange:
    """One request and its way back."""

    ctx: ServerRequestContext[Any, Any]
    responses: Mapping[str, object] | None = None
    """What the client brings for questions, by their ids."""

    @property
    def modern(self) -> bool:
        """Whether the server asks by what it answers, and the client comes back: since 2026-07-28."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_ask(self) -> bool:
        """Whether the client has announced forms, and can be sent one."""
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
        """Returns who sent it: the other end of the pipe, or a session of HTTP, of which the newer era has none."""
        if self.ctx.request is None:
            return clients.find(None)
        session = None if self.modern else self.ctx.request.headers.get("mcp-session-id")
        return clients.shared() if session is None else clients.find(session)

    async def tell(self, event: AgentEvent) -> None:
        """Sends an event as progress, where the client asked for that; waits where it reads slowly."""
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
        """Puts a form to the person, in the older era, and returns what came back. Raises MCPError or ValidationError
        where nothing did."""
        del question
        return await self.ctx.session.elicit_form(form.message, form.schema, related_request_id=self.ctx.request_id)


def _in_words(event: AgentEvent) -> str:
    """Returns what a person is shown of an event."""
    match event.kind:
        case "approval_required":
            return f"asks: {event.title}"
        case "tool_output" | "token_delta":
            return event.text[-_MOST_SHOWN:]
        case "tool_call" | "tool_result":
            return f"{event.kind.replace('_', ' ')}: {event.tool}"
        case _:
            return event.kind.replace("_", " ")
