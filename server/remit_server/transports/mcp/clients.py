"""What is kept of a client between its calls: its Remit session, and the intent that it declared (TRN-21)."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass, field

from remit_governance.intents import NO_INTENT, IntentState

KEPT_CLIENTS = 200


@dataclass(slots=True)
class McpClient:
    """One client. It is `shared` if it stands for clients that cannot be told apart: then no intent is kept, no answer
    for a session is offered, and no call waits for the question of another call."""

    shared: bool = False
    declared: IntentState = NO_INTENT
    session: str = field(default_factory=lambda: f"mcp-{uuid.uuid4().hex[:12]}")

    def owns(self, session: str | None) -> bool:
        """Returns whether a Remit session belongs to this client."""
        return session is not None and (session == self.session or session.startswith(f"{self.session}."))


class Clients:
    """The clients of one server, by their session of the protocol; None stands for the one client of a pipe."""

    def __init__(self) -> None:
        self._known: OrderedDict[str | None, McpClient] = OrderedDict()
        self._shared = McpClient(shared=True)

    def find(self, session: str | None) -> McpClient:
        """Returns the client of a session, a new one if the session is not known."""
        client = self._known.setdefault(session, McpClient())
        self._known.move_to_end(session)
        while len(self._known) > KEPT_CLIENTS:
            self._known.popitem(last=False)
        return client

    def shared(self) -> McpClient:
        """Returns the client that stands for all clients without a session."""
        return self._shared
