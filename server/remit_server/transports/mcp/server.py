"""The MCP server of a runtime: lists its tools, and answers calls (TRN-20 to TRN-23)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import mcp_types as mcp
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue, ValidationError

from remit_governance.intents import SELECT_INTENT
from remit_governance.workflow.states import Mode
from remit_server import __version__
from remit_server.contract.refused import refuse_request
from remit_server.errors import RemitError
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.tools.spec import remove_titles
from remit_server.transports.mcp.calls import HOW_TO_DECLARE, Answer, Calls, TurnAsked, refuse
from remit_server.transports.mcp.clients import Clients, McpClient
from remit_server.transports.mcp.exchange import McpExchange
from remit_server.transports.mcp.governance import GOVERNANCE_TOOLS, Asking, GovernanceTool
from remit_server.transports.mcp.offered import RUN_TURN, Offered, governed_tools, list_governed

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
INSTRUCTIONS = (
    "Remit's tools work in one folder of the person's, under their policy: each call is judged, and may be denied, or "
    f"asked about. For each call, {HOW_TO_DECLARE}. A refusal says why, and what helps; do not work around it."
)
_LISTED_MS = 60_000


def make_server(
    runtime: Runtime, settings: Callable[[], Settings], *, asks: bool, turns: bool
) -> Server[dict[str, Any]]:
    """Returns the server of a runtime. Without `asks`, a call that needs approval is denied; with `turns`, clients can
    hand whole requests to Remit's own agent."""
    served = _Served(runtime, settings, asks=asks, turns=turns)
    server: Server[dict[str, Any]] = Server(
        "remit",
        version=__version__,
        title="Remit",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(_LISTED_MS), "server/discover": CacheHint(_LISTED_MS)},
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
    )
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(ttl=_STATE_S), default_audience="remit")
    server.middleware[:] = [_say_no_more, boundary]
    return server


_STATE_S = 24 * 3600.0
"""The seconds for which a question's state is valid, which is longer than any question is open."""


async def _say_no_more(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Replaces errors of the protocol that would repeat what the client sent, or describe an internal error."""
    try:
        return await call_next(ctx)
    except MCPError as error:
        if error.error.code == mcp.METHOD_NOT_FOUND:
            raise MCPError(mcp.METHOD_NOT_FOUND, "Method not found") from error
        raise
    except ValidationError:
        raise
    except Exception as error:
        log.exception("a request could not be answered")
        raise MCPError(mcp.INTERNAL_ERROR, "Internal error") from error


class _Served:
    def __init__(self, runtime: Runtime, settings: Callable[[], Settings], *, asks: bool, turns: bool) -> None:
        self._runtime, self._settings, self._takes_turns = runtime, settings, turns
        self._calls, self._clients = Calls(runtime, asks, self._offered), Clients()

    async def list_tools(self, ctx: Context, params: mcp.PaginatedRequestParams | None) -> mcp.ListToolsResult:
        """Returns the tools that this client may call, on one page."""
        del params
        client = McpExchange(ctx).client(self._clients)
        await self._calls.reload()
        items = self._runtime.dispatcher.parts.rulebook.policy.work_items or {}
        listed = list_governed(self._offered(), tuple(items), declares=not client.shared)
        for name, row in _telling(client).items():
            listed.append(_listed(name, row.title, row.summary, row.arguments))
        if self._takes_turns:
            listed.append(_listed(RUN_TURN, "Ask Remit's agent", _ABOUT_TURNS, TurnAsked, reads=False))
        return mcp.ListToolsResult(tools=listed)

    async def call_tool(self, ctx: Context, params: mcp.CallToolRequestParams) -> Answer:
        """Runs a call, or returns why it was refused. Raises MCPError for an unknown tool."""
        exchange = McpExchange(ctx, params.input_responses)
        client = exchange.client(self._clients)
        try:
            return await self._call(params, client, exchange)
        except RemitError as error:
            return refuse(error.payload())

    async def _call(self, params: mcp.CallToolRequestParams, client: McpClient, exchange: McpExchange) -> Answer:
        name, given = params.name, cast("Mapping[str, JsonValue]", params.arguments or {})
        if name in _telling(client):
            return await self._tell(name, given, client)
        turns = self._takes_turns and name == RUN_TURN
        declares = name == SELECT_INTENT and not client.shared
        if not turns and not declares and name not in self._offered():
            raise MCPError(mcp.INVALID_PARAMS, "Unknown tool")
        if params.request_state is not None:
            return await self._calls.go_on(None if turns else name, params.request_state, client, exchange)
        if not turns:
            return await self._calls.call(name, given, client, exchange)
        try:
            asked = TurnAsked.model_validate(given)
        except ValidationError as error:
            return _unusable(TurnAsked, error)
        return await self._calls.run_turn(asked, client, exchange)

    async def _tell(self, name: str, given: Mapping[str, JsonValue], client: McpClient) -> Answer:
        row = GOVERNANCE_TOOLS[name]
        try:
            asked = row.arguments.model_validate(given)
        except ValidationError as error:
            return _unusable(row.arguments, error)
        asking = Asking(client, self._runtime.dispatcher.parts.rulebook, self._settings)
        told = await asyncio.to_thread(row.answer, asked, asking)
        clean = self._runtime.dispatcher.parts.redactor.redact_json(json.loads(json.dumps(told)))
        return mcp.CallToolResult(
            content=[mcp.TextContent(text=json.dumps(clean, ensure_ascii=False))], structured_content=clean
        )

    def _offered(self) -> Offered:
        parts, strict = self._runtime.dispatcher.parts, self._runtime.status().mode == Mode.STRICT
        return governed_tools(parts.tools, self._runtime.matrix, strict=strict)


def _telling(client: McpClient) -> Mapping[str, GovernanceTool]:
    """Returns the tools that answer about policy and audit. A client without a session has no calls of its own, so the
    tools about these are left out."""
    return {name: row for name, row in GOVERNANCE_TOOLS.items() if not (client.shared and row.of_session)}


_ABOUT_TURNS = (
    "Hand a whole request to Remit's own agent and model, and get what came of it. Its calls are judged, asked about "
    "and recorded like all others."
)


def _listed(name: str, title: str, summary: str, arguments: Any, *, reads: bool = True) -> mcp.Tool:
    schema = remove_titles(arguments.model_json_schema())
    schema.pop("description", None)
    hints = mcp.ToolAnnotations(read_only_hint=reads, open_world_hint=False)
    return mcp.Tool(name=name, title=title, description=summary, input_schema=schema, annotations=hints)


def _unusable(form: Any, error: ValidationError) -> mcp.CallToolResult:
    """Returns a refusal that says what is wrong with the arguments. It has the tool's own names, never
    what was sent."""
    known = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"`{found['loc'][0]}`: {found['msg'][:1].lower()}{found['msg'][1:]}"
        if found["loc"] and found["loc"][0] in form.model_fields
        else "an argument that it does not have"
        for found in known[:5]
    ]
    why, fix = "; ".join(dict.fromkeys(told)), f"it takes: {', '.join(form.model_fields)}"
    return refuse(refuse_request("the arguments cannot be used", why, fix))
