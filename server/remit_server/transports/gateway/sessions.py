"""Open sessions, what was said in them and when (GW-03). Time comes in as an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_SESSIONS = 1_000
MOST_KEPT = 1_000_000
"""Characters that a session keeps, its instructions among them; the oldest exchanges go first."""
MOST_KEPT_IN_ALL = 32_000_000
"""Characters of all sessions together, with the questions that are being answered."""
USUAL_INSTRUCTIONS = "You are a helpful assistant."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer, both as the model saw them."""

    question: str
    answer: str

    @property
    def length(self) -> int:
        """In characters."""
        return len(self.question) + len(self.answer)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `used` is when it was last used, in seconds; `running` counts messages under way."""

    instructions: str
    used: float
    exchanges: tuple[Exchange, ...] = ()
    running: int = 0

    @property
    def kept(self) -> int:
        """Characters of its instructions and exchanges."""
        return len(self.instructions) + sum(exchange.length for exchange in self.exchanges)


class TooManySessions(Exception):
    """No session was opened, or no message taken: so much is kept that memory would run out."""


class Sessions:
    """All open sessions by id."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}
        self._kept = 0
        self._asked = 0

    def open(self, session_id: str, instructions: str | None, now: float) -> None:
        """Adds a session. Raises TooManySessions."""
        if len(self._open) >= MOST_SESSIONS:
            raise TooManySessions(f"{MOST_SESSIONS} sessions are open, close some")
        session = Session(USUAL_INSTRUCTIONS if instructions is None else instructions, now)
        if session.kept > MOST_KEPT:
            raise TooManySessions(f"the instructions are over {MOST_KEPT} characters")
        self._must_have_room(session.kept)
        self._open[session_id] = session
        self._kept += session.kept

    def get(self, session_id: str) -> Session | None:
        """Returns the session of that id, if it is open."""
        return self._open.get(session_id)

    def begin(self, session_id: str, now: float, length: int) -> Session | None:
        """Notes that a message of so many characters begins; None where its session is not open. Raises
        TooManySessions.

        What has begun has to end, also where the session is closed meanwhile.
        """
        session = self._open.get(session_id)
        if session is not None:
            self._must_have_room(length)
            self._asked += length
            self._open[session_id] = replace(session, used=now, running=session.running + 1)
        return session

    def end(self, session_id: str, now: float, length: int, exchanges: tuple[Exchange, ...] | None) -> None:
        """Notes that a message has ended; `exchanges` is what has been said by now, None where it failed."""
        self._asked -= length
        session = self._open.get(session_id)
        if session is not None:
            said = session.exchanges if exchanges is None else _newest(exchanges, MOST_KEPT - len(session.instructions))
            ended = replace(session, used=now, running=session.running - 1, exchanges=said)
            self._kept += ended.kept - session.kept
            self._open[session_id] = ended

    def close(self, session_id: str) -> bool:
        """Forgets a session; False where it is not open."""
        session = self._open.pop(session_id, None)
        if session is not None:
            self._kept -= session.kept
        return session is not None

    def idle(self, now: float, timeout_s: float) -> tuple[str, ...]:
        """Returns the sessions that nobody has used for longer than `timeout_s`."""
        return tuple(
            session_id
            for session_id, session in self._open.items()
            if session.running == 0 and now - session.used > timeout_s
        )

    def __len__(self) -> int:
        return len(self._open)

    def _must_have_room(self, length: int) -> None:
        """Raises TooManySessions."""
        if self._kept + self._asked + length > MOST_KEPT_IN_ALL:
            raise TooManySessions(f"the open sessions keep over {MOST_KEPT_IN_ALL} characters, close some")


def _newest(exchanges: tuple[Exchange, ...], most: int) -> tuple[Exchange, ...]:
    """As many of the newest as have room in `most` characters; none where the last has not."""
    first = len(exchanges)
    while first > 0 and exchanges[first - 1].length <= most:
        first -= 1
        most -= exchanges[first].length
    return exchanges[first:]
