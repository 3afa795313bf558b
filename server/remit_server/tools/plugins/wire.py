"""The frames between Remit and a plugin: four bytes of length, then that many bytes of JSON (PLG-05).

A frame is checked before anything in it is used: its sender, its length and its content. The plugin's end is
`sdk/remit_plugin`, or any program that uses the same protocol.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from remit_server.json_bounds import has_too_many_values, has_values_below
from remit_server.sandbox.channel import Holds

MAX_FRAME = 2_000_000
"""Limit for one frame, in bytes."""

_CREDENTIALS = struct.Struct("=iII")
_CHUNK = 1 << 16
_MOST_VALUES = 50_000
_DEEPEST = 64

Breach = Literal["peer", "length", "truncated", "json", "message", "token", "identity", "id", "more", "patch"]
"""The ways to break the protocol."""


class ProtocolBreach(Exception):
    """A plugin broke the protocol; `kind` says how."""

    def __init__(self, kind: Breach, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


class PeerEnded(Exception):
    """The plugin ended between two frames."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Handshake(_Message):
    """The first message of a plugin."""

    type: Literal["handshake"]
    plugin_name: str = Field(max_length=100)
    plugin_version: str = Field(max_length=100)
    syscall_api_version: int
    token: str = Field(max_length=200)


class PluginResult(_Message):
    """The result of a call: `output` for the model, and from version 2 on a `patch` to propose."""

    output: JsonValue = None
    patch: str | None = None


class PluginFailure(_Message):
    """Why a call failed."""

    code: str = Field(max_length=100)
    message: str = Field(max_length=4_000)


class PluginAnswer(_Message):
    """The answer to a call: its result, or an error."""

    type: Literal["response"]
    id: str = Field(max_length=100)
    result: PluginResult | None = None
    error: PluginFailure | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.result is None) is (self.error is None):
            raise ValueError("it has either a `result` or an `error`")
        return self


M = TypeVar("M", bound=BaseModel)


class Wire:
    """Frames on a socket whose data come with credentials. All of them must come from one process of the sandbox.

    If that process ended before it could be checked, its frames are ignored, but a breach of the protocol still counts.
    """

    def __init__(self, ours: socket.socket, holds: Holds) -> None:
        self._ours, self._holds = ours, holds
        self._peer: tuple[int, int] | None = None
        self._is_held = False

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a frame. If the plugin has ended, nothing is sent, and `receive` reports the end."""
        body = json.dumps(message, ensure_ascii=False).encode()
        with contextlib.suppress(OSError):
            self._ours.sendall(struct.pack(">I", len(body)) + body)

    def end(self, *, both: bool = False) -> None:
        """Shuts the socket down for sending, and with `both` also for receiving."""
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR if both else socket.SHUT_WR)

    def receive(self, kind: type[M]) -> M:
        """Returns the next frame, which must be of this kind. Raises ProtocolBreach, PeerEnded."""
        head = self._exactly(4, first=True)
        length: int = struct.unpack(">I", head)[0]
        if not 0 < length <= MAX_FRAME:
            raise ProtocolBreach("length", f"a frame of {length} bytes: 1 to {MAX_FRAME} are allowed")
        body = self._exactly(length, first=False)
        if has_too_many_values(body, _MOST_VALUES):
            raise ProtocolBreach("json", f"a frame of more than {_MOST_VALUES} values")
        try:
            found = json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise ProtocolBreach("json", "a frame that is not JSON") from None
        if has_values_below(found, _DEEPEST):
            raise ProtocolBreach("json", f"a frame with values nested more than {_DEEPEST} deep")
        try:
            message = kind.model_validate(found)
        except (ValidationError, RecursionError):
            raise ProtocolBreach("message", "a frame that is not the expected message") from None
        if not self._is_held:
            raise PeerEnded
        return message

    def require_end(self) -> None:
        """Waits until the plugin closes the connection. Raises ProtocolBreach if the plugin sends something else."""
        if self._some(1):
            raise ProtocolBreach("more", "something after its answer")

    def _exactly(self, count: int, *, first: bool) -> bytes:
        data = bytearray()
        while len(data) < count:
            chunk = self._some(count - len(data))
            if not chunk:
                if first and not data:
                    raise PeerEnded
                raise ProtocolBreach("truncated", "a frame that was cut off")
            data += chunk
        return bytes(data)

    def _some(self, most: int) -> bytes:
        """Returns some bytes from the one sender, or no bytes at the end. Raises ProtocolBreach if another process sent
        them."""
        try:
            # Leave no room for descriptors: the kernel closes one that is sent, and sets the flag.
            space = socket.CMSG_SPACE(_CREDENTIALS.size)
            data, control, flags, _ = self._ours.recvmsg(min(most, _CHUNK), space)
        except OSError:
            return b""
        if not data:
            return b""
        if flags & socket.MSG_CTRUNC:
            raise ProtocolBreach("peer", "file descriptors with a frame")
        self._require_peer(control)
        return data

    def _require_peer(self, control: list[tuple[int, int, bytes]]) -> None:
        told = [data for level, kind, data in control if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]
        if len(told) != 1 or len(told[0]) < _CREDENTIALS.size:
            raise ProtocolBreach("peer", "data whose sender the system does not name")
        pid, uid, _ = _CREDENTIALS.unpack(told[0][: _CREDENTIALS.size])
        if self._peer is None:
            held = self._holds(pid)
            if held is False:
                raise ProtocolBreach("peer", "data from a process outside its sandbox")
            self._peer, self._is_held = (pid, uid), bool(held)
        elif self._peer != (pid, uid):
            raise ProtocolBreach("peer", "data from another process than the one that made the handshake")


def _refuse(word: str) -> None:
    raise ValueError(word)
