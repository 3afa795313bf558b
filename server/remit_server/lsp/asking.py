"""How this editor is asked for approvals: in its event stream, or by a message with buttons (002 §4.4 ApprovalGate).

A question that is closed, not understood or never answered is a deny.
"""

from __future__ import annotations

import logging
import shlex
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.lsp.wire import ConnectionLost
from remit_server.runtime.ports import Asker, AskingStyle, NobodyToAsk, StreamAsker

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer

logger = logging.getLogger(__name__)

MESSAGE_LIMIT = 2_000
"""Characters of a question that are shown; what is cut off is said to be."""

_ALLOW = {"Allow once": Scope.ONCE, "Allow for this session": Scope.SESSION}
_DENY = "Deny"
_GRACE_S = 5.0


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
        titles = [title for title, scope in _ALLOW.items() if scope in question.scopes] + [_DENY]
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=question_text(question),
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
    lines += [_visible(diff.diff) for diff in question.diffs]
    return _shorten("\n".join(lines))


def _visible(text: str) -> str:
    """Control, format, bidi and odd space characters as their code points: they may hide what is asked for."""
    return "".join(c if c in " \n\t" or unicodedata.category(c)[0] not in "CZ" else _code(c) for c in text)


def _one_line(text: str) -> str:
    """Visible, and unable to pass for a further line of the question."""
    return _visible(text).replace("\n", _code("\n"))


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _shorten(text: str) -> str:
    if len(text) <= MESSAGE_LIMIT:
        return text
    kept = text[:MESSAGE_LIMIT].rpartition("\n")[0] or text[:MESSAGE_LIMIT]
    rest = text[len(kept) :]
    return f"{kept}\n[not shown: {len(rest)} characters in {rest.count(chr(10)) or 1} more lines]"


def _seconds_left(question: ApprovalRequired) -> float:
    left = (datetime.fromisoformat(question.deadline) - datetime.now(UTC)).total_seconds()
    return max(left, 0.0)
