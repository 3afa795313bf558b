"""The names of a queue's subjects and streams, and of the headers of its messages (TRN-30)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")

TURN, CLAIM, PART = ("Remit-Turn", "Remit-Claim", "Remit-Part")
"""Headers of a turn's messages: the turn, its writer, and the number of the message among those of that writer."""
PLACE, REQUEST, ERROR = ("Remit-Place", "Remit-Request", "Remit-Error")
"""Headers: the place of a writer's records, the digest of the request, and the reason for a dead letter."""
INBOX = "_INBOX."
"""The prefix of every subject on which a client waits for an answer. No answer is sent to any other subject, because a
client could otherwise have a worker write to a subject of its choice."""


@dataclass(frozen=True, slots=True)
class TurnKey:
    """The ids of a turn. In a subject, they are encoded so that neither id holds a dot, wildcard or space."""

    session: str
    turn: str

    def __str__(self) -> str:
        return f"{_token(self.session)}.{_token(self.turn)}"

    @property
    def of_session(self) -> str:
        """The pattern that matches every turn of the session."""
        return f"{_token(self.session)}.*"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one queue on its broker."""

    queue: str = "remit"
    workers: str = "workers"

    @property
    def runs(self) -> str:
        """The stream of requests that wait or are being worked on: `REMIT_RUNS`."""
        return f"{self.queue.upper()}_RUNS"

    @property
    def events(self) -> str:
        """The stream of the turns' events, and of requests that could not be run: `REMIT_EVENTS`."""
        return f"{self.queue.upper()}_EVENTS"

    def run(self, key: TurnKey | str) -> str:
        """Returns the subject of a turn's request."""
        return f"{self.queue}.run.{key}"

    def told(self, key: TurnKey | str) -> str:
        """Returns the subject of a turn's events."""
        return f"{self.queue}.ev.{key}"

    def dead(self, key: TurnKey | str) -> str:
        """Returns the subject of a request that could not be run."""
        return f"{self.queue}.dead.{key}"

    def ask(self, key: TurnKey | str) -> str:
        """Returns the subject on which a client that answers the turn's questions listens."""
        return f"{self.queue}.ask.{key}"

    def do(self, key: TurnKey | str) -> str:
        """Returns the subject on which the turn's worker listens while the turn runs."""
        return f"{self.queue}.do.{key}"


def digest_of(request: bytes) -> str:
    """Returns the digest that identifies a request, also when it is sent again."""
    return hashlib.sha256(request).hexdigest()


def _token(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass").replace(".", "%2E")
