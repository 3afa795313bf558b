"""The sessions that a client has open, and those that are kept (TRN-12)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from acp import schema

from remit_server.chat.replies import Chat
from remit_server.contract import ErrorCode, RunResult, SessionSummary
from remit_server.errors import RemitError
from remit_server.runtime.runtime import Runtime
from remit_server.sessions.folder import SessionFolder
from remit_server.transports.acp.folders import Folder

PAGE = 50


@dataclass(slots=True)
class AcpSession:
    """One open session of the client.

    `untold` is a text that is sent at its next prompt, `titled` says whether the client knows its title, and
    `spent_usd` is its cost so far.
    """

    folder: Folder
    chat: Chat
    models: tuple[str, ...]
    untold: str = ""
    titled: bool = False
    spent_usd: float | None = 0.0
    running: set[asyncio.Task[RunResult]] = field(default_factory=set[asyncio.Task[RunResult]])

    @property
    def id(self) -> str:
        """The session's id, which is the same in every client."""
        return self.chat.session

    @property
    def runtime(self) -> Runtime:
        """The runtime of the session's folder."""
        return self.folder.runtime

    @property
    def model(self) -> str:
        """The model that answers the session's next prompt."""
        return self.chat.model or self.folder.settings.config.model.name


def begin_session(folder: Folder, session_id: str | None = None) -> AcpSession:
    """Returns a session as it is when opened: the named one, or else a new one."""
    chat = Chat(folder.runtime, folder.settings, session_id or new_id(), new_id)
    return AcpSession(folder, chat, (folder.settings.config.model.name,))


def new_id() -> str:
    """Returns the id of a new session."""
    return f"acp-{uuid.uuid4().hex[:12]}"


async def find_kept(folder: SessionFolder, session_id: str) -> SessionSummary | None:
    """Returns the kept session with exactly this id."""
    listed = await asyncio.to_thread(folder.list)
    return next((each for each in listed if each.session_id == session_id), None)


def no_session() -> RemitError:
    """Returns the error for a session that does not exist. The error does not repeat its id."""
    why = "no session with this id is open, or kept for its folder"
    return RemitError("there is no such session", why, "list the folder's sessions", code=ErrorCode.NOT_FOUND)


def list_page(kept: Iterable[SessionSummary], cursor: str | None) -> schema.ListSessionsResponse:
    """Returns one page of sessions, the last used first. Raises RemitError for an invalid cursor."""
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
        fix = "send the cursor that came with the page before"
        raise RemitError("there is no such page", "the cursor is not valid", fix, code=ErrorCode.INVALID_REQUEST)
    begin = int(cursor or 0)
    found = sorted(kept, key=lambda each: each.last_used, reverse=True)
    page = [info_of(each) for each in found[begin : begin + PAGE]]
    more = str(begin + PAGE) if len(found) > begin + PAGE else None
    return schema.ListSessionsResponse(sessions=page, next_cursor=more)


def info_of(kept: SessionSummary) -> schema.SessionInfo:
    """Returns a session as a client lists it."""
    title = kept.name or kept.title or None
    return schema.SessionInfo(session_id=kept.session_id, cwd=kept.workspace, title=title, updated_at=kept.last_used)
