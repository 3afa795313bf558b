"""One call of a plugin's tool: its handshake, the call, its answer (PLG-05, PLG-06).

A conversation is a channel of the sandbox: it begins anew for each command that runs, with its own token.
"""

from __future__ import annotations

import secrets
import socket
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from remit_server import __version__
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.channel import Holds
from remit_server.tools.plugins.manifest import API_VERSIONS, Manifest, spoken
from remit_server.tools.plugins.wire import (
    Handshake,
    PeerEnded,
    PluginAnswer,
    PluginFailure,
    PluginResult,
    ProtocolBreach,
    Wire,
)

TOKEN = "PLUGIN_TOKEN"  # noqa: S105  a name
"""The environment variable with the token of one call. A token is good for one handshake only."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The plugin broke the protocol."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Unheld:
    """The call was not sent; with `stale`, because the plugin differs from the one that the person accepted."""

    why: str
    stale: bool = False


def not_called(name: str, unheld: Unheld) -> ToolError:
    """Returns the error for a call that was not sent."""
    return ToolError(
        f"`{name}` was not called",
        unheld.why,
        "go on without it; the person can look at it with `remit plugin list`",
        code=ErrorCode.STALE if unheld.stale else ErrorCode.TOOL_UNAVAILABLE,
    )


Came = PluginResult | PluginFailure | Broken | Unheld | None
"""The result of a call; None if the plugin ended without an answer."""


@dataclass(slots=True)
class Conversation:
    """Makes a call of the tool `name`. `changed` is called before the plugin starts and before the call is sent, and
    returns why it may not be, or None; `greeted` is called when the handshake succeeded."""

    name: str
    manifest: Manifest
    call: Mapping[str, JsonValue]
    patches: bool
    changed: Callable[[], str | None]
    greeted: Callable[[], None]
    came: Came = None
    _token: str | None = field(default=None, repr=False)

    def begin(self) -> Mapping[str, str]:
        """Returns the environment variable with the next command's token. Raises ToolError if the plugin changed."""
        if (why := self.changed()) is not None:
            raise not_called(self.name, Unheld(why, stale=True))
        self.came, self._token = None, secrets.token_urlsafe(32)
        return {TOKEN: self._token}

    def serve(self, ours: socket.socket, holds: Holds) -> None:
        """Talks to the plugin until the plugin ends."""
        wire = Wire(ours, holds)
        try:
            self.came = self._talk(wire)
        except ProtocolBreach as error:
            self.came = Broken(error.kind, error.why)
            wire.end(both=True)
        except PeerEnded:
            self.came = None
        finally:
            wire.end()

    def _talk(self, wire: Wire) -> Came:
        version = self._greet(wire)
        if isinstance(version, Unheld):
            return version
        number = str(uuid.uuid4())
        wire.send({"id": number, "type": "request", "method": "tool.call", "params": dict(self.call)})
        answer = wire.receive(PluginAnswer)
        if answer.id != number:
            raise ProtocolBreach("id", "an answer to another call")
        came: Came = answer.result or answer.error
        if (
            isinstance(came, PluginResult)
            and came.patch is not None
            and not (self.patches and version == API_VERSIONS[1])
        ):
            raise ProtocolBreach("patch", "a patch where none is allowed")
        wire.end()
        wire.require_end()
        return came

    def _greet(self, wire: Wire) -> int | Unheld:
        """Returns the version of the API that both speak, or why the tool is not called. Raises ProtocolBreach,
        PeerEnded."""
        hello, token = wire.receive(Handshake), self._token
        self._token = None
        if token is None or not secrets.compare_digest(hello.token.encode(), token.encode()):
            raise ProtocolBreach("token", "a handshake with a token that is not this call's")
        if (hello.plugin_name, hello.plugin_version) != (self.manifest.name, self.manifest.version):
            raise ProtocolBreach("identity", "a handshake in the name of another plugin or version")
        version, supported = hello.syscall_api_version, list(API_VERSIONS)
        if version not in API_VERSIONS or version < self.manifest.min_api_version:
            why = f"it speaks version {version} of the API; this Remit speaks {spoken()}"
            return _refuse(wire, Unheld(why), "unsupported_api_version")
        if (changed := self.changed()) is not None:
            return _refuse(wire, Unheld(changed, stale=True), "changed")
        ack = {"kernel_version": __version__, "supported_api_versions": supported, "negotiated_api_version": version}
        wire.send({"type": "handshake_ack", **ack})
        self.greeted()
        return version


def _refuse(wire: Wire, unheld: Unheld, code: str) -> Unheld:
    error = {"code": code, "message": unheld.why, "supported_api_versions": list(API_VERSIONS)}
    wire.send({"type": "handshake_refused", "error": error})
    return unheld
