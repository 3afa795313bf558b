"""Refuses every request that does not come from the person's own programs, before any other code sees it (TRN-06,
THR-http-*).

A page in the person's browser can send requests here, and can even read the answers if its host name resolves to this
address. So a request needs the token, which no page knows, and must name this address as its host and, if it names one,
as its origin.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from remit_server.contract.refused import refuse_request

_BEARER = b"Bearer "
_PROTOCOL = "remit.token."
"""A page cannot set headers of a WebSocket, so it sends the token as a subprotocol, which appears in no log and no
URL."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, and by which status."""

    status: int
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Door:
    """What a request needs: the token, and one of these hosts with its port. The paths in `shown`, whose pages do
    nothing by themselves, may be read without the token."""

    token: str
    hosts: frozenset[str]
    shown: frozenset[str] = frozenset()

    def judge(self, scope: Scope) -> Refusal | None:
        """Returns why a request is refused; None if it is accepted."""
        headers = _headers(scope["headers"])
        hosts = headers.get("host", ())
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return Refusal(403, "it names another host", f"use http://{min(self.hosts)}")
        foreign = any(origin.removeprefix("http://") not in self.hosts for origin in headers.get("origin", ()))
        if foreign or any(site not in {"same-origin", "none"} for site in headers.get("sec-fetch-site", ())):
            return Refusal(403, "a page of another site sent it", "use Remit's own page, or a program")
        shows = scope["path"] in self.shown and scope["type"] == "http" and scope["method"] in {"GET", "HEAD"}
        if shows or self._has_token(scope, headers):
            return None
        fix = "send `Authorization: Bearer TOKEN`; the server said where the token is when it started"
        return Refusal(401, "it does not have the token", fix)

    def _has_token(self, scope: Scope, headers: Mapping[str, tuple[str, ...]]) -> bool:
        given = headers.get("authorization", ())
        if given:
            wanted = _BEARER + self.token.encode()
            return len(given) == 1 and hmac.compare_digest(given[0].encode("latin-1"), wanted)
        named = [each for each in scope.get("subprotocols", ()) if each.startswith(_PROTOCOL)]
        return len(named) == 1 and hmac.compare_digest(named[0].encode(), (_PROTOCOL + self.token).encode())


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Mapping[str, tuple[str, ...]]:
    """Returns all values of each header, so that a header that is sent twice can be noticed."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        found[key] = (*found.get(key, ()), value.decode("latin-1"))
    return found


class Guard:
    """Puts a `Door` before an application."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with its refusal."""
        refused = self._door.judge(scope)
        if refused is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refused.why})
        else:
            await answer_refusal(refused)(scope, receive, send)


def answer_refusal(refused: Refusal) -> JSONResponse:
    """Returns the response of a refusal."""
    error = refuse_request("this request was refused", refused.why, refused.fix)
    return JSONResponse({"error": error.model_dump(mode="json")}, refused.status)
