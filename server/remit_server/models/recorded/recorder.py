"""Records a model's requests and answers as they happen: for tests, bug reports and demos (MOD-10).

Secrets are redacted before anything is written, as for the audit log, and only the person can read the file (0600);
everything else that the model was shown, files included, is in it.
"""

from __future__ import annotations

import logging
import os
import stat
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Literal

from remit_server.errors import ModelFailed, RemitError, SetupError
from remit_server.machine.descriptors import write_all
from remit_server.models.ports import (
    GenerateRequest,
    ModelEvent,
    ModelProvider,
    ModelState,
    TextDelta,
    ThinkingDelta,
    Traits,
)
from remit_server.models.profile import LARGE, Profile
from remit_server.models.recorded.traffic import (
    Asked,
    Header,
    Line,
    Redact,
    Said,
    TrafficEnd,
    event_value,
    failure_of,
    line_of,
    request_digest,
    request_value,
    spell_line,
)

log = logging.getLogger(__name__)

_TAIL = 1 << 20


class Recorder(ModelProvider):
    """A `ModelProvider` that records everything it passes on."""

    def __init__(self, model: ModelProvider, file: Path, redact: Redact) -> None:
        """Continues or begins the recording `file`. Raises SetupError if it is another kind of file or not writable."""
        self._model, self._redact = model, redact
        self._profile = LARGE
        self._file = _open_recording(file)
        self._write(Header(model=model.name, reads_context=model.reads_context))

    @property
    def traits(self) -> Traits:
        """The recorded model's traits."""
        return self._model.traits

    @property
    def state(self) -> ModelState:
        """The recorded model's state."""
        return self._model.state

    async def meet(self) -> Profile:
        """Returns the recorded model's profile."""
        self._profile = await self._model.meet()
        return self._profile

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Streams one generation, as `ModelProvider.generate` says, and records it."""
        value = request_value(request, self._redact)
        notes = _Notes(self, uuid.uuid4().hex[:12], time.monotonic())
        self._write(Asked(id=notes.id, profile=self._profile.name, digest=request_digest(value), request=value))
        try:
            async with aclosing(self._model.generate(request)) as events:
                async for event in events:
                    notes.add(event)
                    yield event
        except RemitError as error:
            notes.end("failed", error)
            raise
        except Exception as error:
            notes.end("failed", ModelFailed("the model failed", type(error).__name__, "see the log"))
            raise
        except BaseException:
            notes.end("cancelled")
            raise
        notes.end("finished")

    async def close(self) -> None:
        """Closes the model and the file. Idempotent."""
        await self._model.close()
        self._stop()

    def record_event(self, entry: str, at_s: float, event: ModelEvent) -> None:
        """Records an event."""
        self._write(Said(id=entry, at_s=at_s, event=event_value(event, self._redact)))

    def record_end(
        self, entry: str, at_s: float, how: Literal["finished", "failed", "cancelled"], error: RemitError | None
    ) -> None:
        """Records the end of a generation."""
        failure = failure_of(error, self._redact) if error is not None else None
        self._write(TrafficEnd(id=entry, at_s=at_s, how=how, error=failure))

    def redacts(self, text: str) -> bool:
        """Returns whether redaction would change the text."""
        return self._redact(text) != text

    def _write(self, line: Line) -> None:
        """Appends a line at once. If that fails, the recording ends and the turn continues."""
        if self._file is None:
            return
        try:
            write_all(self._file, spell_line(line))
        except OSError as error:
            log.error("the recording ends here: %s", error.strerror or error)
            self._stop()

    def _stop(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _Notes:
    """The events of one generation. Text is held back until its run ends, because a secret may arrive in pieces."""

    def __init__(self, recorder: Recorder, entry: str, began: float) -> None:
        self.id = entry
        self._recorder, self._began = recorder, began
        self._run: list[tuple[float, TextDelta | ThinkingDelta]] = []

    def add(self, event: ModelEvent) -> None:
        """Records an event."""
        if self._run and type(event) is not type(self._run[0][1]):
            self._flush()
        if isinstance(event, TextDelta | ThinkingDelta):
            self._run.append((self._now(), event))
        else:
            self._recorder.record_event(self.id, self._now(), event)

    def end(self, how: Literal["finished", "failed", "cancelled"], error: RemitError | None = None) -> None:
        """Records the end."""
        self._flush()
        self._recorder.record_end(self.id, self._now(), how, error)

    def _flush(self) -> None:
        """Writes the run in its pieces, or in one piece if it contains a secret."""
        run, self._run = self._run, []
        if not run:
            return
        whole = "".join(piece.text for _, piece in run)
        if self._recorder.redacts(whole):
            run = [(run[-1][0], type(run[0][1])(whole))]
        for at_s, piece in run:
            self._recorder.record_event(self.id, at_s, piece)

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 6)


def _open_recording(file: Path) -> int | None:
    """Opens a recording for appending; a line that a crash cut off is removed. Raises SetupError."""
    what = f"`{file}` cannot be recorded to"
    try:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        opened = os.open(file, flags, 0o600)
    except OSError as error:
        raise SetupError(what, (error.strerror or str(error)).lower(), "name a file in an existing folder") from error
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode) or not _is_recording(opened):
            raise SetupError(what, "it contains something else", "name a new file")
        os.fchmod(opened, 0o600)
        _cut_torn_line(opened)
    except BaseException:
        os.close(opened)
        raise
    return opened


def _is_recording(file: int) -> bool:
    """Returns whether the file is empty or begins as a recording does."""
    first, newline, _ = os.pread(file, _TAIL, 0).partition(b"\n")
    if not first and not newline:
        return True
    try:
        return bool(newline) and isinstance(line_of(first), Header)
    except ValueError:
        return False


def _cut_torn_line(file: int) -> None:
    """Removes what follows the last newline."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - _TAIL)
        if (newline := os.pread(file, end - start, start).rfind(b"\n")) >= 0:
            os.ftruncate(file, start + newline + 1)
            return
        end = start
