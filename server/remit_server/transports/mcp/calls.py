"""Runs a client's calls, each as a turn of the client's session, through the one dispatcher (TRN-21, TRN-22).

A turn can outlive a request. If the person has to be asked in the newer era of the protocol, the question is the answer
to the request, and the client's next request goes on with the turn.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import mcp_types as mcp
from mcp.shared.exceptions import MCPError
from pydantic import Field, JsonValue, ValidationError

from remit_governance.intents import SELECT_INTENT, IntentState
from remit_governance.visible import visible_again
from remit_server.contract import (
    ApprovalRequired,
    CallInput,
    ErrorCode,
    ErrorPayload,
    IntentSelected,
    RunRequest,
    RunResult,
    TextInput,
    ToolResultEvent,
)
from remit_server.contract.refused import describe_problems, refuse_request
from remit_server.errors import RemitError
from remit_server.harness.ports import NEVER_ASK, Asker, CannotAsk, NobodyToAsk, Unasked
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.turns.turn_streams import TurnStream, TurnStreams
from remit_server.tools.spec import Arguments
from remit_server.transports.mcp.clients import McpClient
from remit_server.transports.mcp.exchange import HOW_TO_ALLOW, Form, FormAsker, McpExchange, make_form
from remit_server.transports.mcp.offered import INTENT, Offered

log = logging.getLogger(__name__)

CALL = "remit/call"
"""The metadata key of a result under which it names its call in the audit log, and the decision."""
HOW_TO_DECLARE = f"declare the intent first: by `{SELECT_INTENT}`, or by the argument `{INTENT}` of the call"
MOST_AT_ONCE = 50
"""The most calls of clients without sessions that can run or wait for an answer at the same time."""
Answer = mcp.CallToolResult | mcp.InputRequiredResult


class TurnAsked(Arguments):
    """A request for Remit's own agent. The same conversation and turn, sent again, is the same turn."""

    prompt: str = Field(min_length=1, max_length=200_000, description="what to do, in words")
    conversation: str = Field(default="turns", pattern=r"^[\w-]{1,40}$", description="what goes on, where several do")
    turn: str | None = Field(default=None, pattern=r"^[\w-]{1,100}$", description="a name for this very request")


@dataclass(slots=True)
class _Seen:
    """The events of a turn that a request needs for its answer."""

    result: ToolResultEvent | None = None
    declared: IntentSelected | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a turn waits: for the answer to `question`, which is the turn's event number `seq`."""

    session: str
    turn: str
    question: str
    seq: int


_NO_FORMS = Unasked("the client shows no forms, so nobody can be asked", HOW_TO_ALLOW)
_NEVER = Unasked(
    NEVER_ASK.why,
    "tell the person: they can allow it in their policy (`remit policy update`), or start the server without"
    " `--approve never`",
)


@dataclass(frozen=True, slots=True)
class Calls:
    """Runs the calls of one server's clients to the `offered` tools. Without `asks`, a call that needs approval is
    denied."""

    runtime: Runtime
    asks: bool
    offered: Callable[[], Offered]
    _turns: TurnStreams = field(init=False)
    _last: dict[str, TurnStream] = field(default_factory=dict[str, TurnStream])
    """The last turn of each session that clients share."""
    _brought: dict[str, asyncio.Future[object]] = field(default_factory=dict[str, "asyncio.Future[object]"])
    """The answers that clients bring to open questions, by approval id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_turns", TurnStreams(self.runtime))

    async def call(self, name: str, given: Mapping[str, JsonValue], client: McpClient, exchange: McpExchange) -> Answer:
        """Runs a call of one of Remit's tools. Raises RemitError if the turn was refused."""
        known = self.offered().get(name)
        part = _parse_call(name, given, client, brings=known is not None and known.takes_intent)
        request = RunRequest(
            session_id=self._free(client) if client.shared else client.session,
            turn_id=uuid.uuid4().hex[:12],
            input=part,
            metadata={"client": exchange.program},
        )
        return await self._begin(name, request, client, exchange)

    async def run_turn(self, asked: TurnAsked, client: McpClient, exchange: McpExchange) -> Answer:
        """Hands a request to Remit's own agent. Raises RemitError if the turn was refused."""
        request = RunRequest(
            session_id=f"{client.session}.{asked.conversation}",
            turn_id=asked.turn or uuid.uuid4().hex[:12],
            input=TextInput(text=asked.prompt),
            metadata={"client": exchange.program},
        )
        return await self._begin(None, request, client, exchange)

    async def go_on(self, name: str | None, state: str, client: McpClient, exchange: McpExchange) -> Answer:
        """Takes the person's answer to a question, and follows its turn further. Raises RemitError if that turn is
        gone, and MCPError for the state of another client."""
        place = _Place(**json.loads(state))
        if not client.owns(place.session):
            raise MCPError(mcp.INVALID_PARAMS, "Invalid or expired requestState")
        turn = self._turns.find(place.session, place.turn)
        question = turn.events[place.seq - 1]
        assert isinstance(question, ApprovalRequired), "only a question has a place"
        given = (exchange.responses or {}).get(place.question)
        if given is not None and self.runtime.asked(place.question):
            self._bring(place.question, given)
        # Without an answer the question is put again, as long as it is open.
        return await self._follow(name, turn, place.seq - (given is None), client, exchange)

    async def _begin(self, name: str | None, request: RunRequest, client: McpClient, exchange: McpExchange) -> Answer:
        await self.reload()
        turn = self._turns.run(request, self._asker(client, exchange))
        if client.shared:
            self._last[request.session_id] = turn
        return await self._follow(name, turn, 0, client, exchange)

    async def reload(self) -> None:
        """Puts policy, configuration and tools in force as their files are now."""
        for notice in await self.runtime.reload():
            log.log(logging.INFO if notice.good else logging.WARNING, "%s", notice.message)

    def _free(self, client: McpClient) -> str:
        """Returns the id of a session in which no turn runs. Raises RemitError if turns run in all of them."""
        names = (f"{client.session}.{number}" for number in range(1, MOST_AT_ONCE + 1))
        free = next((name for name in names if name not in self._last or self._last[name].ended), None)
        if free is None:
            why, fix = f"{MOST_AT_ONCE} calls run, or wait for an answer", "call it again when one has ended"
            raise RemitError("the call was not made", why, fix, code=ErrorCode.BUSY, retryable=True)
        return free

    def _asker(self, client: McpClient, exchange: McpExchange) -> Asker:
        if not self.asks:
            return NobodyToAsk(_NEVER)
        if not exchange.can_ask:
            return NobodyToAsk(_NO_FORMS)
        return FormAsker(self._wait_for if exchange.modern else exchange.put, client.shared)

    async def _wait_for(self, question: ApprovalRequired, form: Form) -> object:
        """Waits for the answer that a later request brings. The form itself is in the answer to the present request."""
        del form
        try:
            return await self._brought_to(question.approval_id)
        finally:
            del self._brought[question.approval_id]

    def _brought_to(self, approval_id: str) -> asyncio.Future[object]:
        return self._brought.setdefault(approval_id, asyncio.get_running_loop().create_future())

    def _bring(self, approval_id: str, given: object) -> None:
        waiting = self._brought_to(approval_id)
        if not waiting.done():
            waiting.set_result(given)

    async def _follow(
        self, name: str | None, turn: TurnStream, after: int, client: McpClient, exchange: McpExchange
    ) -> Answer:
        """Sends a turn's events until the turn ends, or until the answer to this request has to ask the person."""
        seen = _Seen()
        try:
            async with aclosing(turn.after(after)) as events:
                async for event in events:
                    await exchange.tell(event)
                    if isinstance(event, ToolResultEvent):
                        seen.result = event
                    elif isinstance(event, IntentSelected):
                        seen.declared = event
                    elif isinstance(event, ApprovalRequired) and (asked := self._put(event, client, exchange)):
                        return asked
            result = await turn.result()
        except asyncio.CancelledError:
            self.runtime.cancel(turn.request.session_id, turn.request.turn_id)
            raise
        return _of_turn(result) if name is None else self._of_call(name, seen, result, client)

    def _of_call(self, name: str, seen: _Seen, result: RunResult, client: McpClient) -> mcp.CallToolResult:
        """Returns the result of a call, for the client's model to read."""
        ended = seen.result
        if ended is None and name == SELECT_INTENT and seen.declared is not None:
            client.declared = IntentState(seen.declared.intent, seen.declared.work_item)
            offered = self.offered()
            opened = (tool for tool in seen.declared.allowed_tools if tool in offered)
            return _said(f"intent {seen.declared.intent} is active; it opens {', '.join(opened)}")
        if ended is None:
            return refuse(result.error or _INTERRUPTED)
        noted = {
            "call": ended.tool_call_id,
            "session": ended.session_id,
            "decision": ended.decision,
            "rules": list(ended.rules),
            "exit_code": ended.exit_code,
        }
        if ended.error is None:
            return _said(visible_again(ended.output), ok=ended.ok, noted=noted)
        error = ended.error.model_copy(update={"fix": _how(ended, ended.error)})
        return refuse(error, f"why: `audit_why` with call `{ended.tool_call_id}`", noted)

    def _put(
        self, question: ApprovalRequired, client: McpClient, exchange: McpExchange
    ) -> mcp.InputRequiredResult | None:
        """Returns the answer that asks the question, or None if it is asked in another way or is no longer open."""
        if not exchange.modern or not self.runtime.asked(question.approval_id):
            return None
        try:
            form = make_form(question, once=client.shared)
        except CannotAsk:
            return None
        place = {
            "session": question.session_id,
            "turn": question.turn_id,
            "question": question.approval_id,
            "seq": question.seq,
        }
        return mcp.InputRequiredResult(
            input_requests={question.approval_id: form.request()}, request_state=json.dumps(place)
        )


def _parse_call(name: str, given: Mapping[str, JsonValue], client: McpClient, *, brings: bool) -> CallInput:
    """Returns a call of another agent's model. Its intent is the one in the arguments, if the tool allows that, or else
    the one declared before. Raises RemitError if the call is invalid."""
    arguments = {key: value for key, value in given.items() if key != INTENT or not brings}
    brought = given.get(INTENT) if brings else None
    kept = IntentState() if name == SELECT_INTENT else client.declared
    try:
        return CallInput.model_validate(
            {
                "tool": name,
                "arguments": arguments,
                "intent": kept.active if brought is None else brought,
                "work_item": kept.work_item if brought is None else None,
                "by": "model",
            }
        )
    except ValidationError as error:
        raise RemitError(
            "the call was not made",
            describe_problems(error),
            HOW_TO_DECLARE if brought is not None else "send what the tool's schema describes",
            code=ErrorCode.INVALID_ARGUMENTS,
        ) from error


def _how(ended: ToolResultEvent, error: ErrorPayload) -> str:
    """Returns the fix for a client's model, because an error's own fix is written for Remit's model and person."""
    intents = ended.data.get("intents")
    if isinstance(intents, list) and intents:
        return f"{HOW_TO_DECLARE}; {' or '.join(map(str, intents))} opens this tool"
    return error.fix


def _of_turn(result: RunResult) -> mcp.CallToolResult:
    ok = result.status in {"completed", "declined"}
    told = result.final_output or (describe(result.error) if result.error else f"the turn is {result.status}")
    return mcp.CallToolResult(
        content=[mcp.TextContent(text=told)], structured_content=result.model_dump(mode="json"), is_error=not ok
    )


def _said(text: str, *, ok: bool = True, noted: Mapping[str, object] | None = None) -> mcp.CallToolResult:
    return mcp.CallToolResult(
        content=[mcp.TextContent(text=text)], is_error=not ok, _meta=None if noted is None else {CALL: dict(noted)}
    )


def refuse(error: ErrorPayload, more: str = "", noted: Mapping[str, object] | None = None) -> mcp.CallToolResult:
    """Returns a refusal as a tool's result, which the model of the client reads."""
    return _said("\n".join(part for part in (describe(error), more) if part), ok=False, noted=noted)


def describe(error: ErrorPayload) -> str:
    """Returns an error and its fix as text."""
    return f"error {error.code}: {error.what}: {error.why}\nfix: {error.fix}"


_INTERRUPTED = refuse_request("the call was not made", "its turn ended first", "call it again")
