"""The results of a line typed in a chat, for clients (CLI-09)."""

from __future__ import annotations

from pydantic import Field

from remit_server.contract.requests import InputPart
from remit_server.contract.values import Wire


class ChatReply(Wire):
    """The result of one line. `text` is Markdown to show; `input` is what to run in `session_id`, with `model`.

    `loads` says that the chat goes on with the session `session_id`, whose messages are to be shown; `clears` that it
    is a new session; `leaves` that the person wants to leave.
    """

    session_id: str
    text: str
    input: tuple[InputPart, ...]
    model: str | None
    loads: bool
    clears: bool
    leaves: bool


class ChatProposal(Wire):
    """A completion: `text` replaces the typed text from character `start` (in UTF-16 units) to its end."""

    text: str
    start: int = Field(ge=0)
    meaning: str
