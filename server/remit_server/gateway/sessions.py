"""Open sessions, what was said in them and when (000 §SessionManager). Time comes in as an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_SESSIONS = 1_000
USUAL_INSTRUCTIONS = "You are a helpful assistant."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer, both as the model saw them."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `used` is when it was last used, in seconds; `running` counts messages under way."""

    instructions: str
    used: float
    exchanges: tuple[Exchange, ...] = ()
    running: int = 0


class TooManySessions(Exception):
    """No session was opened: so many are open that memory would run out."""


class Sessions:
    """All open sessions by id."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}

    def open(self, session_id: str, instructions: str | None, now: float) -> None:
        """Add a session. Raises TooManySessions."""
        if len(self._open) >= MOST_SESSIONS:
            raise TooManySessions(f"{MOST_SESSIONS} sessions are open, close some")
        self._open[session_id] = Session(USUAL_INSTRUCTIONS if instructions is None else instructions, now)

    def get(self, session_id: str) -> Session | None:
        """The session of that id, if it is open."""
        return self._open.get(session_id)

    def begin(self, session_id: str, now: float) -> Session | None:
        """Note that a message of the session begins; None where it is not open."""
        session = self._open.get(session_id)
        if session is not None:
            self._open[session_id] = replace(session, used=now, running=session.running + 1)
        return session

    def end(self, session_id: str, now: float, exchanges: tuple[Exchange, ...] | None) -> None:
        """Note that a message has ended; `exchanges` is what has been said by now, None where it failed."""
        session = self._open.get(session_id)
        if session is not None:
            said = session.exchanges if exchanges is None else exchanges
            self._open[session_id] = replace(session, used=now, running=session.running - 1, exchanges=said)

    def close(self, session_id: str) -> bool:
        """Forget a session; False where it is not open."""
        return self._open.pop(session_id, None) is not None

    def idle(self, now: float, timeout_s: float) -> tuple[str, ...]:
        """The sessions that nobody has used for longer than `timeout_s`."""
        return tuple(
            session_id
            for session_id, session in self._open.items()
            if session.running == 0 and now - session.used > timeout_s
        )

    def __len__(self) -> int:
        return len(self._open)
