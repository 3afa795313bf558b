"""How much a message may hold (TRN-24): checked before any of it is read as JSON."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit_server.json_bounds import has_too_many_values
from remit_server.local_http.guard import Refusal, answer_refusal

MOST_BYTES = 4 << 20


class Bounded:
    """An application that gets no request with a body that is too long, or holds too many values."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, whole, or answers it with its refusal."""
        body = bytearray()
        message: Message = {"more_body": scope["type"] == "http"}
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BYTES:
                why = f"it has more than {MOST_BYTES >> 20} MiB"
                return await answer_refusal(Refusal(413, why, "send less in one message"))(scope, receive, send)
        if has_too_many_values(bytes(body)):
            refused = Refusal(413, "it holds too many values", "send less in one message")
            return await answer_refusal(refused)(scope, receive, send)
        waiting: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)
        return None
