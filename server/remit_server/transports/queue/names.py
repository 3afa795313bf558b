"""What a queue's subjects and streams are called, and the headers of its messages (TRN-30)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")

TURN, CLAIM, PART = ("Remit-Turn", "Remit-Claim", "Remit-Part")
"""Headers of what is told: the turn, who writes it, and the number of the message among that writer's."""
PLACE, REQUEST, ERROR = ("Remit-Place", "Remit-Request", "Remit-Error")
"""Headers: where a writer's records are, the digest of what was asked for, and why a dead letter is one."""
INBOX = "_INBOX."
"""How each subject begins on which somebody waits for an answer: answered elsewhere, whoever asks could write there."""


@dataclass(frozen=True, slots=True)
class TurnKey:
    """A turn, by its ids. As a part of a subject it can hold no dot, wildcard or space."""

    session: str
    turn: str

    def __str__(self) -> str:
        return f"{_token(self.session)}.{_token(self.turn)}"

    @property
    def of_session(self) -> str:
        """What fits every turn of the session."""
        return f"{_token(self.session)}.*"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one queue on its broker."""

    queue: str = "remit"
    workers: str = "workers"

    @property
    def runs(self) -> str:
        """The stream of requests that wait, or are worked on: `REMIT_RUNS`."""
        return f"{self.queue.upper()}_RUNS"

    @property
    def events(self) -> str:
        """The stream of what was told of turns, and of requests that could not be run: `REMIT_EVENTS`."""
        return f"{self.queue.upper()}_EVENTS"

    def run(self, key: TurnKey | str) -> str:
        """Returns where a turn is asked for."""
        return f"{self.queue}.run.{key}"

    def told(self, key: TurnKey | str) -> str:
        """Returns where its events are."""
        return f"{self.queue}.ev.{key}"

    def dead(self, key: TurnKey | str) -> str:
        """Returns where a request is that could not be run."""
        return f"{self.queue}.dead.{key}"

    def ask(self, key: TurnKey | str) -> str:
        """Returns where whoever answers its questions listens."""
        return f"{self.queue}.ask.{key}"

    def do(self, key: TurnKey | str) -> str:
        """Returns where its worker listens, while it runs."""
        return f"{self.queue}.do.{key}"


def digest_of(request: bytes) -> str:
    """Returns the digest by which a request is known, whoever sends it again."""
    return hashlib.sha256(request).hexdigest()


def _token(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass").replace(".", "%2E")
