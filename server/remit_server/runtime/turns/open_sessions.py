"""The sessions that a runtime has open: found by id, taken up from their files, and forgotten when idle (SES-01).

A session has what was said, read and allowed in it, and the file that it is kept in (SES-01).
"""

from __future__ import annotations

import asyncio
import textwrap
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from remit_governance.visible import visible
from remit_governance.workflow.position import Position, strictest
from remit_governance.workflow.states import Mode
from remit_server import __version__
from remit_server.agent.context.conversation import Conversation
from remit_server.contract import EditsAsked, ModelConfig, RunRequest, RunResult, TextInput
from remit_server.harness.approval.desk import allow_edits
from remit_server.harness.context import Parts
from remit_server.harness.ports import Emit, KeptHistory, NothingKept
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.harness.workflow.take_up import find_last_move, find_position
from remit_server.harness.workflow.tested_files import digest_files
from remit_server.models.built_in.provider import BUILT_IN_MODEL
from remit_server.models.choose import PREFIXES
from remit_server.models.remote.engines import parse_reference
from remit_server.runtime.config.form import When
from remit_server.runtime.live_settings import LiveSettings
from remit_server.runtime.settings import Settings
from remit_server.sessions.folder import SessionFolder
from remit_server.sessions.history import SessionHistory
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import Redact, SessionFile
from remit_server.uninterrupted import finish_uninterrupted
from remit_server.workspace.paths.workspace_path import Workspace


def note_kept_changes(history: KeptHistory, turn: Turn) -> None:
    """Notes what the session has kept of a turn's changes."""
    for past in history.turns():
        for change in past.changes if past.turn_id == turn.turn_id else ():
            turn.changes.note_past(change, history.contents)


@dataclass(slots=True)
class Session:
    """What was said, read and allowed in one session; its turns run one after the other."""

    memory: SessionMemory
    recorder: Recorder | None = None
    history: KeptHistory = field(default_factory=NothingKept)
    conversation: Conversation = field(default_factory=Conversation)
    turn_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    instructions: set[str] = field(default_factory=set[str])
    model: str | None = None
    review: When | None = None

    async def begin_turn(self, turn_id: str, model: ModelConfig) -> bool:
        """Takes the session's file; takes the conversation from the file if it was not read yet, or if other processes
        went on with the session. Returns whether the file was read.

        Raises SessionError if another process works in it. A cancellation waits until the file is taken.
        """
        if self.recorder is None:
            return False
        now = await finish_uninterrupted(asyncio.to_thread(self.recorder.begin, turn_id, model))
        if now is not None:
            self.conversation, self.instructions = now, set()
        self.conversation.keep = self.recorder.keep
        return now is not None

    async def recall(self, audit: Path) -> bool:
        """Sets the session's position in the workflow from its file and the log at `audit`, unless none is known or it
        is less strict; returns whether it did. The first turn looks at that again, and at what has changed since
        (FLW-12)."""
        if self.recorder is None or not await asyncio.to_thread(self.recorder.look):
            return False
        place = await find_position(self.history, await find_last_move(audit, self.memory.session_id))
        if place is None or strictest((place.mode, self.memory.position.mode)) is not place.mode:
            return False
        self.memory.position = place
        return True

    async def note_changes(self, turn: Turn, workspace: Workspace) -> None:
        """Notes what a turn of a process that is gone has changed: the files that its records name and that differ from
        before it. A change is recorded before it is made, so what is recorded may not have been done."""
        if self.recorder is None or not await asyncio.to_thread(self.recorder.look):
            return
        await asyncio.to_thread(note_kept_changes, self.history, turn)
        turn.changes.forget_unchanged(await digest_files(workspace, turn.changes.files))

    @property
    def chosen_mode(self) -> str | None:
        """The mode of the workflow that the person last chose in the session, as its file has it."""
        return None if self.recorder is None else self.recorder.replayed.mode

    @property
    def started(self) -> tuple[str, ...]:
        """The commands that the session had started in the background when its file was read."""
        return () if self.recorder is None else self.recorder.replayed.processes

    @property
    def answered_by(self) -> str | None:
        """The model that had answered last when the session's file was read, or None if none had."""
        return None if self.recorder is None else self.recorder.replayed.model

    def keeps(self) -> tuple[Emit, ...]:
        """Returns the function that writes a turn's events to the session's file, if there is a file."""
        return () if self.recorder is None else (self.recorder.take,)

    def pin(self, texts: tuple[str, ...]) -> None:
        """Keeps texts in the model's window also when the conversation is condensed."""
        self.conversation.pins += texts
        if self.recorder is not None:
            self.recorder.keep_pins(texts)

    def end_turn(self, result: RunResult) -> None:
        """Releases the session's file to other processes."""
        if self.recorder is not None:
            self.recorder.end(result)

    def take_problems(self) -> tuple[str, ...]:
        """Returns the problems with the session's file that the person has not been told of yet, and clears them."""
        if self.recorder is None:
            return ()
        found, self.recorder.problems = tuple(self.recorder.problems), []
        return found

    def close(self) -> None:
        """Closes the session's file."""
        if self.recorder is not None:
            self.recorder.close("closed")


def open_session(session_id: str, settings: Settings, redact: Redact) -> Session:
    """Returns a session; nothing of it is read before its first turn."""
    memory = SessionMemory(session_id, position=Position(Mode(settings.config.workflow.mode)))
    if not settings.config.sessions.save:
        return Session(memory)
    folder = SessionFolder(settings.session_folder)
    file = SessionFile(folder.file_of(session_id))
    recorder = Recorder(file, session_id, str(settings.workspace), __version__, redact)
    return Session(memory, recorder, SessionHistory(recorder, folder.contents))


def model_config(reference: str, name: str) -> ModelConfig:
    """Returns what a session's file says of a model: its provider, and its name."""
    remote = parse_reference(reference)
    if remote is not None:
        return ModelConfig(provider=remote.provider, model=name)
    played = next((prefix.rstrip(":") for prefix in PREFIXES if reference.startswith(prefix)), None)
    return ModelConfig(provider=played or ("remit" if reference == BUILT_IN_MODEL else "mlx"), model=name)


REMEMBERED = 100
MOST_OF_A_NAME = 60


@dataclass(frozen=True, slots=True)
class OpenSessions:
    """The sessions of one workspace that are in memory, the last used one last."""

    configured: LiveSettings
    parts: Parts
    by_id: OrderedDict[str, Session] = field(default_factory=OrderedDict[str, Session])

    def known(self, session_id: str | None) -> Session | None:
        """Returns the session with this id, or for None the one used last; None if there is none in memory."""
        return next(reversed(self.by_id.values()), None) if session_id is None else self.by_id.get(session_id)

    def position_of(self, session_id: str | None) -> Position:
        """Returns the position of a session in the workflow, for None of the session used last; without one in memory,
        the position in which a new session begins."""
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
        """Loads a kept session that nobody has used here, so that `known` finds it, if its position is known."""
        if session_id in self.by_id:
            return
        session = open_session(session_id, self.configured.now, self.parts.redactor.redact_json)
        if await session.recall(self.parts.audit.path) and session_id not in self.by_id:
            self.by_id[session_id] = session

    def set_edits(self, session_id: str, asked: EditsAsked) -> None:
        """Sets when the session asks about edits. Raises ToolError if that cannot be recorded."""
        session = self.open(session_id)
        allow_edits(session.memory, self.parts.audit, allow=asked == "allow")
        if asked != "allow":
            session.review = asked

    def edits_of(self, session: Session | None) -> EditsAsked:
        """Returns when a session asks about edits, or for None when a new session will."""
        if session is not None and session.memory.standing.edits:
            return "allow"
        return (session and session.review) or self.configured.now.config.review.when

    def name_among_others(self, request: RunRequest) -> str | None:
        """Returns the request's words, by which the person knows its session; None if only one session is open."""
        if len(self.by_id) == 1:
            return None
        said = " ".join(part.text for part in request.parts if isinstance(part, TextInput))
        words = textwrap.shorten(self.parts.redactor.redact(said), MOST_OF_A_NAME, placeholder=" …")
        return visible(words or request.session_id, "show")

    def forget_idle(self) -> Iterator[str]:
        """Closes idle sessions above the number that is kept, the longest unused first, and yields each one's id."""
        idle = [name for name, session in self.by_id.items() if not session.turn_lock.locked()]
        for name in idle[: max(0, len(self.by_id) - REMEMBERED)]:
            self.by_id.pop(name).close()
            yield name

    def close(self) -> None:
        """Closes all sessions."""
        for session in self.by_id.values():
            session.close()
