"""Open sessions, their exchanges and times of use (GW-03). Time is an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_SESSIONS = 1_000
MOST_KEPT = 1_000_000
"""The most characters that a session stores, with its instructions; the oldest exchanges are dropped first."""
MOST_KEPT_IN_ALL = 32_000_000
"""The most characters of all sessions together, with the running questions."""
USUAL_INSTRUCTIONS = "You are a helpful assistant."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer, as the model saw them."""

    question: str
    answer: str

    @property
    def length(self) -> int:
        """The length in characters."""
        return len(self.question) + len(self.answer)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `used` is the time of its last use, in seconds; `running` counts its running messages."""

    instructions: str
    used: float
    exchanges: tuple[Exchange, ...] = ()
    running: int = 0

    @property
    def kept(self) -> int:
        """The characters of its instructions and exchanges."""
        return len(self.instructions) + sum(exchange.length for exchange in self.exchanges)


class TooManySessions(Exception):
    """A session or message was refused: the stored text has reached the limit."""


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
        """Registers a message of that many characters; None where its session is not open. Raises TooManySessions.

        Every message that was begun has to end, even where the session is closed meanwhile.
        """
        session = self._open.get(session_id)
        if session is not None:
            self._must_have_room(length)
            self._asked += length
            self._open[session_id] = replace(session, used=now, running=session.running + 1)
        return session

    def end(self, session_id: str, now: float, length: int, exchanges: tuple[Exchange, ...] | None) -> None:
        """Registers a message's end; `exchanges` are the session's now, None where the message failed."""
        self._asked -= length
        session = self._open.get(session_id)
        if session is not None:
            said = session.exchanges if exchanges is None else _newest(exchanges, MOST_KEPT - len(session.instructions))
            ended = replace(session, used=now, running=session.running - 1, exchanges=said)
            self._kept += ended.kept - session.kept
            self._open[session_id] = ended

    def close(self, session_id: str) -> bool:
        """Removes a session. Returns False where it is not open."""
        session = self._open.pop(session_id, None)
        if session is not None:
            self._kept -= session.kept
        return session is not None

    def idle(self, now: float, timeout_s: float) -> tuple[str, ...]:
        """Returns the sessions that were not used for longer than `timeout_s`."""
        return tuple(
            session_id
            for session_id, session in self._open.items()
            if session.running == 0 and now - session.used > timeout_s
        )

    def __len__(self) -> int:
        return len(self._open)

    def _must_have_room(self, length: int) -> None:
        """Raises TooManySessions where the length exceeds the limit."""
        if self._kept + self._asked + length > MOST_KEPT_IN_ALL:
            raise TooManySessions(f"the open sessions keep over {MOST_KEPT_IN_ALL} characters, close some")


def _newest(exchanges: tuple[Exchange, ...], most: int) -> tuple[Exchange, ...]:
    """Returns the newest exchanges that fit into `most` characters; none where the last does not."""
    first = len(exchanges)
    while first > 0 and exchanges[first - 1].length <= most:
        first -= 1
        most -= exchanges[first].length
    return exchanges[first:]
