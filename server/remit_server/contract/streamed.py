"""The messages between client and server of a stream: lines of JSON, or WebSocket messages (TRN-01).

A message is an object with one field that names it, and perhaps an `id`. The client chooses the `id`, and every answer
to its message has the same `id`.
"""

from __future__ import annotations

import json
from typing import Self

from pydantic import Field, model_validator

from remit_server.contract.events import AgentEvent
from remit_server.contract.requests import ApprovalAnswer, RunRequest
from remit_server.contract.results import ApprovalReceipt, RunResult, StatusResult
from remit_server.contract.values import ErrorPayload, Wire

MessageId = str


class ResumeRequest(Wire):
    """Asks for the events of a turn that come after number `after`, and for its result."""

    session_id: str = Field(min_length=1, max_length=128)
    turn_id: str = Field(min_length=1, max_length=128)
    after: int = Field(default=0, ge=0)


class CancelRequest(Wire):
    """Asks for the end of the running turns that match; null matches all."""

    session_id: str | None = None
    turn_id: str | None = None


class StatusRequest(Wire):
    """Asks what a status bar shows of a session, or of the session used last if it is null."""

    session_id: str | None = None


class ShutdownRequest(Wire):
    """Asks the server to end. Running turns are cancelled, and their results say so."""


class ClientMessage(Wire):
    """One message of a client. `run` streams `event` messages and ends with a `result`; `resume` does so as well."""

    id: MessageId | None = Field(default=None, max_length=128)
    run: RunRequest | None = None
    resume: ResumeRequest | None = None
    approve: ApprovalAnswer | None = None
    cancel: CancelRequest | None = None
    status: StatusRequest | None = None
    shutdown: ShutdownRequest | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        named = [name for name in type(self).model_fields if name != "id" and getattr(self, name) is not None]
        if len(named) != 1:
            every = ", ".join(f"`{name}`" for name in type(self).model_fields if name != "id")
            raise ValueError(f"a message needs exactly one of {every}; this one has {len(named)}")
        return self


class ServerMessage(Wire):
    """One message of the server; exactly one field besides `id` is set. `cancelled` counts the turns that were told to
    end, `bye` is the last message."""

    id: MessageId | None = None
    event: AgentEvent | None = None
    result: RunResult | None = None
    receipt: ApprovalReceipt | None = None
    cancelled: int | None = None
    status: StatusResult | None = None
    error: ErrorPayload | None = None
    bye: bool | None = None

    def to_json(self) -> bytes:
        """Returns the message as it is sent: the one field that it has, whole, and its id if there is one."""
        sent = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        parts = (b'"%b":%b' % (name.encode(), _json_of(value)) for name, value in sent.items())
        return b"{%b}" % b",".join(parts)


def _json_of(value: object) -> bytes:
    return value.model_dump_json().encode() if isinstance(value, Wire) else json.dumps(value).encode()
