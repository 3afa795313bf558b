"""Asks the person for approvals through the editor: in its event stream, or by a message with buttons (APP-02).

A question that is closed, never answered, or answered with an unknown button is denied. A question that is too long for
one message is opened as a document, or shown in several messages first, because nobody can approve what they cannot
see. If it cannot be shown at all, the person is told.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound

from remit_governance.secrets.cutting import truncate
from remit_governance.secrets.redaction import Redacted
from remit_governance.visible import visible_again
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.approval.question import details_text, question_text, summarise
from remit_server.harness.approval.shown_parts import Part, part_text, parts_of, wire_parts
from remit_server.harness.ports import Asker, AskingStyle, CannotAsk, NobodyToAsk, StreamAsker, Unasked
from remit_server.sandbox.server_identity import prefix_of
from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.rpc.frames import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection


CHOOSE = "Choose parts…"
TAKE, LEAVE, REST = "Take it", "Leave it out", "Accept this and the rest"
DENY = "Deny"

Ask: TypeAlias = Callable[[str, Collection[str]], Awaitable[str | None]]
"""Shows a text with these buttons. Returns the chosen one, or None if none was chosen."""


async def choose_parts(question: ApprovalRequired, ask: Ask, limit: int) -> Mapping[Part, str | None] | None:
    """Asks about each part by a message of at most `limit` characters. Returns the parts that the person leaves out, or
    None if they deny the question."""
    left_out = dict[Part, str | None]()
    parts = parts_of(question)
    for number, part in enumerate(parts, 1):
        text = f"Remit asks, part {number} of {len(parts)} of: {visible_again(question.title, 'show')}\n"
        match await ask(_fitting(text + describe_part(question, part), limit), [TAKE, LEAVE, REST, DENY]):
            case "Take it":
                continue
            case "Leave it out":
                left_out[part] = None
            case "Accept this and the rest":
                break
            case _:
                return None
    return left_out


def describe_part(question: ApprovalRequired, part: Part) -> str:
    """Returns a part as it is shown to the person."""
    return f"{visible_again(part.path, 'show')}\n{visible_again(part_text(question, part))}"


logger = logging.getLogger(__name__)

MESSAGE_LIMIT = 2_000
"""The most characters of a message. A longer question is shown as a document or in several messages, and a short
message refers to it."""
SERIES_LIMIT = 20_000
"""The most characters that a person can be expected to read in messages."""
PAGED_LIMIT = 200_000
"""The most characters of a message in a client that shows it page by page before it takes an answer."""
_PAGES = frozenset({"Neovim"})
"""The clients that do so. Their question blocks everything else, so the person could not scroll a document beside it.
"""

_ALLOW = {
    "Allow once": Scope.ONCE,
    "Allow for this session": Scope.SESSION,
    "Allow all edits this session": Scope.EDITS,
}
_ALLOW_FOR_GOOD = {
    "Always allow in this workspace": Scope.ALWAYS,
    "Always allow in every workspace": Scope.EVERYWHERE,
}
MORE = "More…"
"""The button that shows the rules that ask, and the answers that would write a rule, each with that rule (APP-04)."""
_GRACE_S = 5.0
_SHOWN_S = 10.0


EDITOR_CANNOT = Unasked(
    "the editor has said that it asks nobody (`approvals: never`)",
    "leave `approvals` out of the editor's settings for Remit, or allow it in the policy",
)


def choose_asker(connection: Connection, *, streams: bool) -> Asker:
    """Returns the asker for this client. A client that wants a stream, but requested none here, gets messages."""
    match connection.client.asking:
        case "stream" if streams:
            return StreamAsker()
        case "stream" | "callback":
            return MessageAsker(connection)
        case "never":
            return NobodyToAsk(EDITOR_CANNOT)


class MessageAsker:
    """Asks by `window/showMessageRequest`, which every client has."""

    style: AskingStyle = "callback"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Returns the person's answer. The runtime enforces the deadline, and takes None as a deny.

        Raises CannotAsk if the client cannot show the question.
        """
        text = question_text(question)
        pages = self._connection.client.name in _PAGES
        if len(text) <= (PAGED_LIMIT if pages else MESSAGE_LIMIT):
            return await self._ask(question, text)
        if self._connection.client.shows_documents and not pages:
            settings = settings_here(self._connection.folders.first_root)
            with as_document(text, settings.state if settings else None) as document:
                if await self._connection.open_document(document.as_uri(), _SHOWN_S):
                    where = f"is in the document that was opened: {document}"
                    return await self._ask(question, _point_to(question, text, where))
        if len(text) > SERIES_LIMIT:
            refusal = refuse_to_show(len(text))
            self._show(lsp.MessageType.Error, f"{refusal.what}: {refusal.why}\n{refusal.fix}")
            raise refusal
        return await self._ask_after_messages(question, text)

    async def _ask_after_messages(self, question: ApprovalRequired, text: str) -> ApprovalAnswer | None:
        """Shows the whole question in messages, which clients keep, and asks by a short message after them."""
        parts = cut_into_messages(text, f"the question {question.digest[:19]}")
        for part in parts:
            self._show(lsp.MessageType.Info, part)
        where = f"is in the {len(parts)} messages before this one (in Emacs: the buffer *Messages*)"
        return await self._ask(question, _point_to(question, text, where))

    def _show(self, kind: lsp.MessageType, text: str) -> None:
        self._connection.show(kind, text)

    async def _ask(self, question: ApprovalRequired, text: str) -> ApprovalAnswer | None:
        """Asks, and asks again if the person changed the left-out parts elsewhere (by lenses) while it was asking."""
        while True:
            left_out = self._left_out(question)
            titles = _titles(question, left_out)
            chosen = await self._choose(question, text, titles)
            if chosen == MORE:
                details = details_text(question)
                offers = _ALLOW | _ALLOW_FOR_GOOD if len(details) <= MESSAGE_LIMIT else _ALLOW
                titles = {**_offered(offers, question), DENY: None}
                chosen = await self._choose(question, _fitting(details, MESSAGE_LIMIT), titles)
            if chosen == CHOOSE:
                parts = await choose_parts(question, partial(self._choose, question), MESSAGE_LIMIT)
                return _answer(question, None if parts is None else Scope.ONCE, parts or {})
            if chosen is None or chosen == DENY:
                return _answer(question, None, {})
            if left_out == self._left_out(question):
                return _answer(question, titles[chosen], left_out)

    async def _choose(self, question: ApprovalRequired, text: str, titles: Collection[str]) -> str | None:
        """Shows a message with these buttons. Returns the chosen one, or None if there was no answer or an unknown one.

        Raises CannotAsk if the client has no such messages, because then no person has said no.
        """
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=text,
            actions=[lsp.MessageActionItem(title=title) for title in titles],
        )
        try:
            chosen = await self._connection.channel.ask(
                lsp.WINDOW_SHOW_MESSAGE_REQUEST, params, _seconds_left(question) + _GRACE_S
            )
        except JsonRpcMethodNotFound:
            raise _no_messages() from None
        except (TimeoutError, ConnectionLost, JsonRpcException) as error:
            logger.warning("the client could not be asked: %s", type(error).__name__)
            return None
        return chosen.title if chosen is not None and chosen.title in titles else None

    def _left_out(self, question: ApprovalRequired) -> Mapping[Part, str | None]:
        review = self._connection.reviews.get(question.approval_id)
        return {} if review is None else review.left_out


def _titles(question: ApprovalRequired, left_out: Mapping[Part, str | None]) -> dict[str, Scope | None]:
    """Returns the buttons, each with the scope that it allows, if any. With parts left out, that can only be once."""
    if left_out:
        taken, shown = len(parts_of(question)) - len(left_out), len(parts_of(question))
        some: dict[str, Scope | None] = {f"Allow {taken} of {shown} once": Scope.ONCE} if taken else {}
        return {**some, DENY: None}
    parts: dict[str, Scope | None] = {CHOOSE: None} if question.by_hunk else {}
    return {**_offered(_ALLOW, question), **parts, MORE: None, DENY: None}


def _offered(titles: Mapping[str, Scope], question: ApprovalRequired) -> dict[str, Scope | None]:
    return {title: scope for title, scope in titles.items() if scope in question.scopes}


def _answer(question: ApprovalRequired, scope: Scope | None, left_out: Mapping[Part, str | None]) -> ApprovalAnswer:
    return ApprovalAnswer(
        approval_id=question.approval_id,
        decision="deny" if scope is None else "allow",
        scope=scope or Scope.ONCE,
        digest=question.digest,
        left_out=wire_parts(left_out),
    )


@contextmanager
def as_document(text: str, state: Path | None) -> Generator[Path]:
    """Yields a file with this text, in the state folder if that exists. No tool can write it, no other user read it."""
    with TemporaryDirectory(prefix=prefix_of("question"), dir=state if state and state.is_dir() else None) as folder:
        document = Path(folder, "question.diff")
        document.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        document.chmod(0o400)
        yield document


def refuse_to_show(length: int) -> CannotAsk:
    """Returns the error for a question that is too long for this editor's messages."""
    return CannotAsk(
        "not done",
        f"it needs approval, and the question has {length} characters: more than messages have "
        "room for, and this editor opens no documents for the server",
        "do it in smaller parts; a person can run it in a terminal (`remit ask`), or answer in an editor that draws "
        "the questions itself (`remit/approval/respond`)",
    )


def _no_messages() -> CannotAsk:
    return CannotAsk(
        "not done",
        "it needs approval, and this editor shows no message with answers (`window/showMessageRequest`)",
        "a person can run it in a terminal (`remit ask`), or allow it in their policy",
    )


def cut_into_messages(text: str, name: str) -> list[str]:
    """Splits the text into numbered messages of at most `MESSAGE_LIMIT` characters, between lines if possible."""
    room = MESSAGE_LIMIT - 120
    parts, rest = list[str](), text
    while rest:
        cut = rest.rfind("\n", 0, room) + 1 if len(rest) > room else len(rest)
        parts.append(rest[: cut or room].removesuffix("\n"))
        rest = rest[cut or room :]
    head = [f"Remit asks, part {number} of {len(parts)} of {name}:" for number in range(1, len(parts) + 1)]
    shown = [f"{line}\n{part}" for line, part in zip(head, parts, strict=True)]
    return [*shown[:-1], f"{shown[-1]}\n(the end of {name})"]


def _point_to(question: ApprovalRequired, text: str, where: str) -> str:
    """Returns a short question that says where the full text is. This comes first, so that it is never cut off."""
    size = f"{len(text)} characters, {question.digest[:19]}"
    place = f"The whole question ({size}) {where}. Allow it only if you have read all of it."
    return _fitting("\n".join([place, *summarise(question)]), MESSAGE_LIMIT)


def _fitting(text: str, limit: int) -> str:
    """Returns a question cut to `limit` characters. The person reads what they approve as it is."""
    return truncate(Redacted(text), limit)


def _seconds_left(question: ApprovalRequired) -> float:
    left = (datetime.fromisoformat(question.deadline) - datetime.now(UTC)).total_seconds()
    return max(left, 0.0)
