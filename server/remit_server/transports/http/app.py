"""The routes (TRN-06): runs and their events, answers, status, sessions, and the same over one WebSocket.

The built-in page is served too; its files are part of the package.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from importlib.resources import files
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from remit_governance.audit.reading.query import AuditFilter
from remit_server import contract
from remit_server.contract.refused import describe_problems
from remit_server.contract.streamed import ServerMessage
from remit_server.errors import RemitError
from remit_server.harness.approval.shown_parts import describe_hunks
from remit_server.harness.ports import NEVER_ASK, NobodyToAsk, StreamAsker
from remit_server.json_bounds import has_too_many_values
from remit_server.local_http.guard import Refusal, answer_refusal
from remit_server.local_http.serving import MOST_BYTES
from remit_server.runtime.audit.agent_sessions import agent_sessions
from remit_server.runtime.audit.audit_service import DECISIONS, list_calls
from remit_server.runtime.audit.told_call import call_json, find_call, judge_now, tell_call
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.streamed_client import StreamedClient
from remit_server.runtime.turns.turn_streams import TurnStream, TurnStreams
from remit_server.transports.http.openapi import AUDIT_QUERY, openapi
from remit_server.uninterrupted import wait_for_any

_SCRIPTS = ("page", "common", "questions", "chat", "audit", "agents")

PAGE: Mapping[str, tuple[str, str]] = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in _SCRIPTS},
}
"""The parts of the page by path: each with its file and its type. The files do nothing by themselves and
hold no token."""


def read_page(path: str) -> tuple[str, str]:
    """Returns the text and the type of a part of the page."""
    name, kind = PAGE[path]
    return (files("remit_server.transports.http") / "page" / name).read_text(encoding="utf-8"), kind


MOST_CALLS = 500
PING_S = 15
Form = TypeVar("Form", bound=BaseModel)
_HELD = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


def make_app(runtime: Runtime, settings: Settings, *, asks: bool) -> Starlette:
    """Returns the application for a runtime and the audit log of its folder. Without `asks`, a call that needs approval
    is denied."""
    served = _Served(runtime, settings, TurnStreams(runtime), asks=asks)
    routes = [
        *(Route(path, served.page, methods=["GET"]) for path in PAGE),
        Route("/v1/runs", served.run, methods=["POST"]),
        Route("/v1/runs/{session}/{turn}/events", served.follow, methods=["GET"]),
        Route("/v1/runs/{session}/{turn}", served.cancel, methods=["DELETE"]),
        Route("/v1/approvals", served.waiting, methods=["GET"]),
        Route("/v1/approvals/{approval}", served.approve, methods=["POST"]),
        Route("/v1/status", served.status, methods=["GET"]),
        Route("/v1/sessions", served.sessions, methods=["GET"]),
        Route("/v1/agents", served.agents, methods=["GET"]),
        Route("/v1/audit", served.audit, methods=["GET"]),
        Route("/v1/audit/{call}", served.why, methods=["GET"]),
        Route("/v1/openapi.json", served.openapi, methods=["GET"]),
        WebSocketRoute("/v1/ws", served.converse),
    ]
    handlers = {RemitError: _failed, _Refused: _refused, HTTPException: _no_route}
    return Starlette(routes=routes, exception_handlers=handlers)


class _Served:
    def __init__(self, runtime: Runtime, settings: Settings, turns: TurnStreams, *, asks: bool) -> None:
        self._runtime, self._settings, self._turns, self._asks = runtime, settings, turns, asks

    async def run(self, request: Request) -> Response:
        """Runs a turn, or finds the turn that the same request began, and streams it from its first event on."""
        asked = await _read(request, contract.RunRequest)
        await self._runtime.reload()
        turn = self._turns.run(asked, StreamAsker() if self._asks else NobodyToAsk(NEVER_ASK))
        return _stream(turn, 0)

    async def follow(self, request: Request) -> Response:
        """Streams the events of a turn that come after the one that `Last-Event-ID` or `after` names."""
        named = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        if not (named.isascii() and named.isdigit() and len(named) < 10):
            raise _Refused(
                Refusal(
                    400, f"`{named[:40]}` is not the number of an event", "send `after=0`, or the last one you have"
                )
            )
        return _stream(self._turns.find(request.path_params["session"], request.path_params["turn"]), int(named))

    async def cancel(self, request: Request) -> Response:
        """Cancels a turn."""
        told = self._runtime.cancel(request.path_params["session"], request.path_params["turn"])
        return _json({"cancelled": told})

    async def approve(self, request: Request) -> Response:
        """Answers a question."""
        given = await _body(request)
        if not isinstance(given, dict) or "approval_id" in given:
            raise _Refused(
                Refusal(400, "an answer is an object without `approval_id`", "name the question in the address")
            )
        answer = _parse(
            {**cast("dict[str, object]", given), "approval_id": request.path_params["approval"]},
            contract.ApprovalAnswer,
        )
        return _json(self._runtime.answer(answer).model_dump(mode="json"))

    async def waiting(self, request: Request) -> Response:
        """Returns the questions that wait for an answer, each with its hunks (TRN-40)."""
        del request
        return _json([_with_hunks(question) for question in self._turns.waiting()])

    async def audit(self, request: Request) -> Response:
        """Returns the last calls that match, newest first, whichever agent made them (TRN-41)."""
        wanted = _audit_filter(request)
        database = self._settings.audit_database
        found = await asyncio.to_thread(list_calls, database, wanted) if database.exists() else ()
        return _json([*found])

    async def why(self, request: Request) -> Response:
        """Returns which rule decided one call, what was answered, and how it would be decided now."""

        def look() -> dict[str, object]:
            call = find_call(self._settings.audit_database, request.path_params["call"])
            now = judge_now(call, self._settings)
            return {**call_json(call, now), "told": [*tell_call(call, now)]}

        return _json(await asyncio.to_thread(look))

    async def agents(self, request: Request) -> Response:
        """Returns the sessions of all agents in the folder, the last active one first."""
        del request
        listed = await asyncio.to_thread(self._runtime.sessions.list)
        titles = {each.session_id: each.name or each.title for each in listed}
        found = await asyncio.to_thread(agent_sessions, self._settings.audit_database, titles)
        return _json([each.model_dump(mode="json") for each in found])

    async def status(self, request: Request) -> Response:
        """Returns what a status bar shows."""
        return _json(self._runtime.status(request.query_params.get("session_id")).model_dump(mode="json"))

    async def sessions(self, request: Request) -> Response:
        """Returns the sessions of the folder, the last used first."""
        del request
        listed = await asyncio.to_thread(self._runtime.sessions.list)
        return _json([each.model_dump(mode="json") for each in listed])

    async def openapi(self, request: Request) -> Response:
        """Returns the description of these routes in OpenAPI 3.1."""
        del request
        return _json(openapi())

    async def page(self, request: Request) -> Response:
        """Returns a part of the built-in page."""
        text, kind = read_page(request.url.path)
        return Response(text, media_type=kind, headers=_HELD)

    async def converse(self, socket: WebSocket) -> None:
        """Takes the messages of `remit stdio` over a WebSocket, until a `shutdown` or until either end closes it.

        Turns go on after that, unless a `shutdown` has cancelled them.
        """
        named = next((each for each in socket.scope.get("subprotocols", ()) if each == "remit"), None)
        await socket.accept(subprotocol=named)

        async def send(message: ServerMessage) -> None:
            await socket.send_text(message.to_json().decode())

        async def take_all() -> None:
            with suppress(WebSocketDisconnect, KeyError):  # a binary message has no text
                while True:
                    client.take((await socket.receive_text()).encode())

        client = StreamedClient(self._runtime, self._turns, send, "ask" if self._asks else "never")
        taking = asyncio.create_task(take_all())
        try:
            await wait_for_any(taking, client.shut_down)
            if client.shut_down.is_set():
                await wait_for_any(taking, asyncio.create_task(client.finish()))
            if not taking.done():
                await send(ServerMessage(bye=True))
                await socket.close()
        finally:
            taking.cancel()
            await client.close()


def _stream(turn: TurnStream, after: int) -> Response:
    async def events() -> AsyncGenerator[ServerSentEvent]:
        async with aclosing(turn.after(after)) as found:
            async for event in found:
                yield ServerSentEvent(event.model_dump_json(), id=str(event.seq), event=event.kind)
        try:
            result = await turn.result()
        except RemitError as error:
            yield ServerSentEvent(error.payload().model_dump_json(), event="refused")
            return
        yield ServerSentEvent(result.model_dump_json(), event="result")

    headers = {"X-Accel-Buffering": "no", **_HELD}
    return EventSourceResponse(events(), ping=PING_S, headers=headers)


def _with_hunks(question: contract.ApprovalRequired) -> object:
    return contract.WaitingQuestion(question=question, hunks=describe_hunks(question, {})).model_dump(mode="json")


def _audit_filter(request: Request) -> AuditFilter:
    """Returns the filter of the audit log that a request asks for. Raises `_Refused` for an invalid query."""
    given = request.query_params
    names, limit = {*given.keys()}, given.get("limit", "100")
    why = None
    if names - {*AUDIT_QUERY} or len(names) < len(given.multi_items()):
        why = f"it takes only {', '.join(AUDIT_QUERY)}, each once"
    elif given.get("decision") not in {None, *DECISIONS}:
        why = f"a decision is one of {', '.join(DECISIONS)}"
    elif not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= MOST_CALLS):
        why = f"a limit is a number from 1 to {MOST_CALLS}"
    if why is not None:
        raise _Refused(Refusal(400, why, "see `/v1/openapi.json`"))
    return AuditFilter(
        session_id=given.get("session"),
        tool_name=given.get("tool"),
        policy_decision=given.get("decision"),
        policy_rule_name=given.get("rule"),
        limit=int(limit),
    )


def _json(value: object, status: int = 200) -> Response:
    return JSONResponse(value, status, headers=_HELD)


async def _body(request: Request) -> object:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _Refused(Refusal(415, "its content is not JSON", "send `Content-Type: application/json`"))
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            raise _Refused(Refusal(413, f"it has more than {MOST_BYTES >> 20} MiB", "attach files by their names"))
    if has_too_many_values(bytes(data)):
        raise _Refused(Refusal(413, "it holds too many values", "send less in one request"))
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _Refused(Refusal(400, f"it is not JSON: {error}", "send one JSON object")) from error


async def _read(request: Request, form: type[Form]) -> Form:
    return _parse(await _body(request), form)


def _parse(given: object, form: type[Form]) -> Form:
    try:
        return form.model_validate(given)
    except ValidationError as error:
        why = describe_problems(error)
        raise _Refused(Refusal(400, why, "send what `/v1/openapi.json` describes")) from error


async def _refused(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, _Refused), "the table says so"
    return answer_refusal(error.refusal)


async def _failed(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RemitError), "the table says so"
    payload = error.payload()
    status = 404 if payload.code is contract.ErrorCode.NOT_FOUND else 409
    return _json({"error": payload.model_dump(mode="json")}, status)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "the table says so"
    why = f"there is no `{request.method} {request.url.path[:100]}`"
    return answer_refusal(Refusal(error.status_code, why, "see `/v1/openapi.json`"))
