"""What a line typed in a chat came to, as a client is told (CLI-09)."""

from __future__ import annotations

from pydantic import Field

from remit_server.contract.requests import InputPart
from remit_server.contract.values import Wire


class ChatReply(Wire):
    """What one line came to. `text` is Markdown to be shown; `input` is what to run in `session_id`, with `model`.

    `loads` says that the chat goes on with the session `session_id`, whose messages are to be shown; `clears` that it
    is a new one; `leaves` that the person wants to leave.
    """

    session_id: str
    text: str
    input: tuple[InputPart, ...]
    model: str | None
    loads: bool
    clears: bool
    leaves: bool


class ChatProposal(Wire):
    """What may be typed: `text` takes the place of what stands from character `start` (in UTF-16 units) to the end."""

    text: str
    start: int = Field(ge=0)
    meaning: str
