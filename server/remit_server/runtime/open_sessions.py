"""The sessions that a runtime has open: found by id, taken up from their files, and forgotten when idle (SES-01)."""

from __future__ import annotations

import textwrap
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from remit_governance.visible import visible
from remit_governance.workflow.position import Position
from remit_governance.workflow.states import Mode
from remit_server.contract import EditsAsked, RunRequest, TextInput
from remit_server.harness.approval.desk import allow_edits
from remit_server.harness.context import Parts
from remit_server.runtime.live_settings import LiveSettings
from remit_server.runtime.session import Session, open_session

REMEMBERED = 100
MOST_OF_A_NAME = 60


@dataclass(frozen=True, slots=True)
class OpenSessions:
    """The sessions of one workspace that are in memory, the last used one last."""

    configured: LiveSettings
    parts: Parts
    by_id: OrderedDict[str, Session] = field(default_factory=OrderedDict[str, Session])

    def known(self, session_id: str | None) -> Session | None:
        """Returns the session with this id, for None the one that was used last; None where there is none here."""
        return next(reversed(self.by_id.values()), None) if session_id is None else self.by_id.get(session_id)

    def position_of(self, session_id: str | None) -> Position:
        """Returns where a session stands in the workflow, else the one that was used last; a new one, where it will
        begin."""
        session = self.known(session_id)
        return Position(Mode(self.configured.now.config.workflow.mode)) if session is None else session.memory.position

    def open(self, session_id: str) -> Session:
        """Returns the session with this id, which is the last used one from now on."""
        if session_id not in self.by_id:
            redact = self.parts.redactor.redact_json
            self.by_id[session_id] = open_session(session_id, self.configured.now, redact)
        session = self.by_id[session_id]
        self.by_id.move_to_end(session_id)
        return session

    async def recall(self, session_id: str) -> None:
        """Has `known` find a kept session that nobody has used here, where it stood anywhere."""
        if session_id in self.by_id:
            return
        session = open_session(session_id, self.configured.now, self.parts.redactor.redact_json)
        if await session.recall(self.parts.audit.path) and session_id not in self.by_id:
            self.by_id[session_id] = session

    def set_edits(self, session_id: str, asked: EditsAsked) -> None:
        """Has the session ask so about edits. Raises ToolError where that cannot be recorded."""
        session = self.open(session_id)
        allow_edits(session.memory, self.parts.audit, allow=asked == "allow")
        if asked != "allow":
            session.review = asked

    def edits_of(self, session: Session | None) -> EditsAsked:
        """Returns when a session asks about edits; for None, when a new one will."""
        if session is not None and session.memory.standing.edits:
            return "allow"
        return (session and session.review) or self.configured.now.config.review.when

    def name_among_others(self, request: RunRequest) -> str | None:
        """Returns what the person knows a session by, which is what they just said in it; None for the only one."""
        if len(self.by_id) == 1:
            return None
        said = " ".join(part.text for part in request.parts if isinstance(part, TextInput))
        words = textwrap.shorten(self.parts.redactor.redact(said), MOST_OF_A_NAME, placeholder=" …")
        return visible(words or request.session_id, "show")

    def forget_idle(self) -> Iterator[str]:
        """Closes idle sessions beyond what is remembered, the longest unused first, and yields each one's id."""
        idle = [name for name, session in self.by_id.items() if not session.turn_lock.locked()]
        for name in idle[: max(0, len(self.by_id) - REMEMBERED)]:
            self.by_id.pop(name).close()
            yield name

    def close(self) -> None:
        """Closes all of them."""
        for session in self.by_id.values():
            session.close()
