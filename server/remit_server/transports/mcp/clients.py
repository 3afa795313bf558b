"""What is kept of a client between its calls: a session of Remit's, and the intent that it declared (TRN-21)."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass, field

from remit_governance.intents import NO_INTENT, IntentState

KEPT_CLIENTS = 200


@dataclass(slots=True)
class McpClient:
    """One client. It is `shared` where nothing tells one client from another: then no intent is kept, no answer for a
    session offered, and no call waits for another one's question."""

    shared: bool = False
    declared: IntentState = NO_INTENT
    session: str = field(default_factory=lambda: f"mcp-{uuid.uuid4().hex[:12]}")

    def owns(self, session: str | None) -> bool:
        """Returns whether a session of Remit's is this client's."""
        return session is not None and (session == self.session or session.startswith(f"{self.session}."))


class Clients:
    """The clients of one server, by the session of the protocol; None is the only one, of a pipe."""

    def __init__(self) -> None:
        self._known: OrderedDict[str | None, McpClient] = OrderedDict()
        self._shared = McpClient(shared=True)

    def find(self, session: str | None) -> McpClient:
        """Returns a client; a new one where it was not here yet."""
        client = self._known.setdefault(session, McpClient())
        self._known.move_to_end(session)
        while len(self._known) > KEPT_CLIENTS:
            self._known.popitem(last=False)
        return client

    def shared(self) -> McpClient:
        """Returns whoever comes without a session."""
        return self._shared
