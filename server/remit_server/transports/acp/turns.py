"""A turn as a client follows it: updates in order, questions as requests, one answer at the end (TRN-13, TRN-14).

A question is sent as a permission request (TRN-14). A yes allows only once, whichever option was chosen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import schema
from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS
from pydantic import ValidationError

from remit_governance.visible import visible_again
from remit_server.contract import (
    AgentEvent,
    ApprovalAnswer,
    ApprovalRequired,
    ApprovalResolved,
    InputPart,
    RunCompleted,
    RunRequest,
    RunResult,
)
from remit_server.harness.approval.proposed_texts import ProposedText
from remit_server.harness.ports import StreamAsker
from remit_server.runtime.turns.streamed_client import NOBODY_LEFT
from remit_server.runtime.turns.turn_streams import TurnStream
from remit_server.transports.acp.sdk import AcpClient
from remit_server.transports.acp.sessions import AcpSession
from remit_server.transports.acp.updates import TurnUpdates, Update, diff_of, in_text, kind_of, message_id, said

ALLOW, ALWAYS, DENY = "allow", "allow_and_show_rule", "deny"


def request_of(
    session: str, question: ApprovalRequired, texts: Sequence[ProposedText], root: Path
) -> schema.RequestPermissionRequest:
    """Returns the permission request: what will run, byte for byte, and the digest that an answer is bound to."""
    shown: list[Any] = [*(diff_of(root, each) for each in texts), in_text(describe(question))]
    options = [schema.PermissionOption(option_id=ALLOW, name="Allow", kind="allow_once")]
    if question.always_rule is not None:
        name = "Allow this once, and show the rule that would always allow it"
        options.append(schema.PermissionOption(option_id=ALWAYS, name=name, kind="allow_always"))
    options.append(schema.PermissionOption(option_id=DENY, name="Deny", kind="reject_once"))
    call = schema.ToolCallUpdate(
        tool_call_id=question.tool_call_id,
        title=question.title,
        kind=kind_of(question.tool, has_file=bool(texts)),
        status="pending",
        content=shown,
        raw_input=_bound(question),
        locations=[schema.ToolCallLocation(path=str(root / each.path)) for each in texts] or None,
    )
    return schema.RequestPermissionRequest(session_id=session, tool_call=call, options=options)


def describe(question: ApprovalRequired) -> str:
    """Returns the question in words: why, what will run, where it reaches, the digest."""
    lines = [f"{question.title} · risk {question.risk}"]
    if question.session_name is not None:
        lines.append(f"In the session: {visible_again(question.session_name, 'show')}")
    if question.asked_by is not None:
        lines.append(f"Asked by a sub-agent: {visible_again(question.asked_by, 'show')}")
    lines += dict.fromkeys(visible_again(reason.reason) for reason in question.reasons)
    if question.command is not None:
        where = f"in {question.cwd}" if question.cwd else "in the folder of the session"
        reach = f"network only to {', '.join(question.hosts)}" if question.hosts else "no network"
        lines.append(f"$ {question.command}\n{where}, in the sandbox, {reach}")
    if question.near is not None:
        lines.append(f"Reaches the process in the background: {visible_again(question.near, 'show')}")
    lines += [diff.diff for diff in question.diffs if diff.diff]
    return "\n".join([*lines, f"Your answer is for exactly this: {question.digest}"])


def _bound(question: ApprovalRequired) -> dict[str, Any]:
    """Returns what the answer is bound to, as data for programs."""
    told = question.model_dump(
        mode="json",
        include={"approval_id", "digest", "effect", "argv", "command", "cwd", "hosts", "near", "risk", "deadline"},
    )
    told["files"] = [
        each.model_dump(
            mode="json", include={"path", "before_digest", "after_digest", "created", "deleted", "moved_from"}
        )
        for each in question.diffs
    ]
    return told


def chosen(answer: schema.RequestPermissionResponse) -> str:
    """Returns the chosen option. Anything but a clear yes is `DENY`."""
    outcome = answer.outcome
    named = outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else DENY
    return named if named in {ALLOW, ALWAYS} else DENY


def answer_of(question: ApprovalRequired, option: str) -> ApprovalAnswer:
    """Returns the answer to exactly this question, for once."""
    return ApprovalAnswer(
        approval_id=question.approval_id, decision="deny" if option == DENY else "allow", digest=question.digest
    )


def proposed_rule(question: ApprovalRequired, permissions: Path) -> str:
    """Returns the text that shows the rule that would always allow the action. Only the person can write that rule."""
    rule = visible_again(question.always_rule or "", "show")
    return f"Allowed once. To always allow it, add this line to `{permissions}`:\n\n```\n{rule}\n```\n\n"


UPDATE, PERMISSION = CLIENT_METHODS["session_update"], CLIENT_METHODS["session_request_permission"]


@dataclass(slots=True)
class Telling:
    """Sends updates to one client. `every` says that it wants each event's number, and an update also for events that
    the protocol has none for."""

    client: AcpClient
    every: bool = False

    async def update(self, session: str, update: Update, event: AgentEvent | None = None) -> None:
        """Sends one update of a session."""
        meta = None if event is None or not self.every else numbered(event)
        sent = schema.SessionNotification.model_construct(session_id=session, update=update, field_meta=meta)
        await self.client.tell(UPDATE, sent)


def numbered(event: AgentEvent) -> dict[str, Any]:
    """Returns an event's number and kind in its turn, as metadata."""
    told = {"seq": event.seq, "turn_id": event.turn_id, "time": event.time, "kind": event.kind}
    if isinstance(event, ApprovalRequired | ApprovalResolved):
        told["approval_id"] = event.approval_id
    return {"remit": told}


@dataclass(slots=True)
class FollowedTurn:
    """One client that follows one turn of a session."""

    telling: Telling
    session: AcpSession
    turn: TurnStream
    shown: TurnUpdates = field(init=False)
    last: dict[str, Any] = field(default_factory=dict[str, Any])
    """The number of the last event, for the answer to the prompt."""
    _asking: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    def __post_init__(self) -> None:
        self.shown = TurnUpdates(self.session.folder.root, self.session.spent_usd)

    async def run(self) -> RunResult:
        """Follows the turn to its end, and returns its result. Raises RemitError if the request was refused."""
        try:
            async with aclosing(self.turn.after(0)) as events:
                async for event in events:
                    await self._take(event)
        finally:
            for asking in self._asking.values():
                asking.cancel()
        self.session.spent_usd = self.shown.spent_usd
        return await self.turn.result()

    async def _take(self, event: AgentEvent) -> None:
        if isinstance(event, ApprovalRequired):
            self._begin_asking(event)
            return
        if isinstance(event, ApprovalResolved) and (asking := self._asking.pop(event.approval_id, None)) is not None:
            asking.cancel()  # the question has an answer, so the client need not give one any more
        updates = self.shown.take(event)
        if isinstance(event, RunCompleted):
            self.last = numbered(event)["remit"]
        elif not updates and self.telling.every:
            updates = [schema.SessionInfoUpdate(session_update="session_info_update")]
        for number, update in enumerate(updates):
            await self.telling.update(self.session.id, update, None if number else event)

    def _begin_asking(self, question: ApprovalRequired) -> None:
        """Starts asking the client. The request is written before the next event, so the order is kept."""
        proposed = (self.session.runtime.proposed(question.approval_id, each.path, ()) for each in question.diffs)
        texts = [each for each in proposed if each is not None]
        self.shown.note_question(question, texts)
        self._asking[question.approval_id] = asyncio.create_task(self._ask(question, texts))

    async def _ask(self, question: ApprovalRequired, texts: Sequence[ProposedText]) -> None:
        """Asks the client and gives the runtime its answer. Anything but a clear yes is a no."""
        runtime = self.session.runtime
        request = request_of(self.session.id, question, texts, self.session.folder.root)
        if self.telling.every:
            request = request.model_copy(update={"field_meta": numbered(question)})
        option = DENY
        try:
            option = chosen(await self.telling.client.ask(PERMISSION, request, schema.RequestPermissionResponse))
        except ConnectionError:
            runtime.withdraw(question.approval_id, NOBODY_LEFT)
            return
        except (RequestError, ValidationError):
            pass
        taken = runtime.answer(answer_of(question, option))
        if taken.accepted and option == ALWAYS:
            permissions = self.session.folder.settings.person_permissions
            words = proposed_rule(question, permissions)
            message = message_id(self.session.id, question.turn_id, -question.seq)
            await self.telling.update(self.session.id, said(words, message))


def begin_turn(session: AcpSession, parts: tuple[InputPart, ...], turn_id: str) -> TurnStream:
    """Begins a turn of a session, or returns the turn that the same request began before. Raises RemitError."""
    request = RunRequest(session_id=session.id, turn_id=turn_id, input=parts, model=session.chat.model)
    return session.folder.turns.run(request, StreamAsker())
