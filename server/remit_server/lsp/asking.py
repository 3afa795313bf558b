"""How this editor is asked for approvals: in its event stream, or by a message with buttons (002 §4.4 ApprovalGate).

A question that is closed, not understood or never answered is a deny. What does not fit a message is opened as a
document: nobody approves what they cannot see.
"""

from __future__ import annotations

import logging
import shlex
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.lsp.features.policy_files import settings_here
from remit_server.lsp.wire import ConnectionLost
from remit_server.runtime.ports import Asker, AskingStyle, CannotAsk, NobodyToAsk, StreamAsker

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer

logger = logging.getLogger(__name__)

MESSAGE_LIMIT = 2_000
"""Characters of a message. A longer question is a document, and the message says where it is."""

_ALLOW = {"Allow once": Scope.ONCE, "Allow for this session": Scope.SESSION, "Always allow": Scope.ALWAYS}
_DENY = "Deny"
_GRACE_S = 5.0
_SHOWN_S = 10.0


def asker_of(ls: RemitServer, *, streams: bool) -> Asker:
    """The asker of this client. One that wants its questions in a stream it did not ask for gets messages."""
    match ls.client.asking:
        case "stream" if streams:
            return StreamAsker()
        case "stream" | "callback":
            return MessageAsker(ls)
        case "never":
            return NobodyToAsk()


class MessageAsker:
    """Asks by `window/showMessageRequest`, which every client has."""

    style: AskingStyle = "callback"

    def __init__(self, ls: RemitServer) -> None:
        self._ls = ls

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """The person's answer; None when there is none, which is a deny. The runtime holds the deadline."""
        text = question_text(question)
        if len(text) <= MESSAGE_LIMIT:
            return await self._ask(question, text)
        settings = settings_here(self._ls.root)
        with as_document(text, settings.state if settings else None) as document:
            if not await self._opened(document):
                raise cannot_show(len(text))
            return await self._ask(question, _pointing(text, document))

    async def _ask(self, question: ApprovalRequired, text: str) -> ApprovalAnswer | None:
        titles = [title for title, scope in _ALLOW.items() if scope in question.scopes] + [_DENY]
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=text,
            actions=[lsp.MessageActionItem(title=title) for title in titles],
        )
        try:
            chosen = await self._ls.rpc.ask(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params, _seconds_left(question) + _GRACE_S)
        except (TimeoutError, ConnectionLost, JsonRpcException) as error:
            logger.warning("the client could not be asked: %s", type(error).__name__)
            return None
        scope = _ALLOW.get(chosen.title) if chosen is not None and chosen.title in titles else None
        return ApprovalAnswer(
            approval_id=question.approval_id,
            decision="deny" if scope is None else "allow",
            scope=scope or Scope.ONCE,
            digest=question.digest,
        )

    async def _opened(self, document: Path) -> bool:
        if not self._ls.client.shows_documents:
            return False
        params = lsp.ShowDocumentParams(uri=document.as_uri(), take_focus=True)
        try:
            answer = await self._ls.rpc.ask(lsp.WINDOW_SHOW_DOCUMENT, params, _SHOWN_S)
        except (TimeoutError, ConnectionLost, JsonRpcException) as error:
            logger.warning("the client could not show a document: %s", type(error).__name__)
            return False
        return bool(answer.success)


@contextmanager
def as_document(text: str, state: Path | None) -> Generator[Path]:
    """A file with this text while it is needed, in the state folder: no tool can write there, nobody else can look."""
    with TemporaryDirectory(prefix="question-", dir=state if state and state.is_dir() else None) as folder:
        document = Path(folder, "question.diff")
        document.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        document.chmod(0o400)
        yield document


def cannot_show(length: int) -> CannotAsk:
    """The refusal of a question that this editor has no room for."""
    return CannotAsk(
        "this was not done",
        f"it needs a person's approval, and the question has {length} characters: more than the {MESSAGE_LIMIT} of a "
        "message, and this editor opens no documents for the server",
        "do it in smaller parts; a person can run it in a terminal (`remit ask`), or answer in an editor that draws "
        "the questions itself (`remit/approval/respond`)",
    )


def question_text(question: ApprovalRequired) -> str:
    """What is asked, why, and exactly what would happen, with nothing hidden by invisible characters."""
    lines = [_one_line(question.title)]
    lines += [_one_line(f"Why: {r.reason}" + (f" (rule {r.rule})" if r.rule else "")) for r in question.reasons]
    if question.risk == "high":
        lines.append("Risk: high")
    command = question.command or (shlex.join(question.argv) if question.argv else None)
    if command is not None:
        lines.append(f"Runs: {_visible(command)}".replace("\n", "\n      "))
    if question.cwd is not None:
        lines.append(_one_line(f"In: {question.cwd}"))
    if question.session_rule is not None:
        lines.append(_one_line(f"For the session means: {question.session_rule}"))
    if question.always_rule is not None:
        lines.append(_one_line(f"Always writes into permissions.yaml: {question.always_rule}"))
    lines += [_visible(diff.diff) for diff in question.diffs]
    return "\n".join(lines)


def _visible(text: str) -> str:
    """Control, format, bidi and odd space characters as their code points: they may hide what is asked for."""
    return "".join(c if c in " \n\t" or unicodedata.category(c)[0] not in "CZ" else _code(c) for c in text)


def _one_line(text: str) -> str:
    """Visible, and unable to pass for a further line of the question."""
    return _visible(text).replace("\n", _code("\n"))


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _pointing(text: str, document: Path) -> str:
    """The beginning of a text that is shown in full elsewhere; the place comes first, where no window cuts it off."""
    place = f"The whole question, {len(text)} characters, is in the document that was opened: {document}"
    return f"{place}\n{text[: MESSAGE_LIMIT - len(place) - 2]}…"


def _seconds_left(question: ApprovalRequired) -> float:
    left = (datetime.fromisoformat(question.deadline) - datetime.now(UTC)).total_seconds()
    return max(left, 0.0)
