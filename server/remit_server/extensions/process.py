"""Talks to the sandboxed process from outside: one question, one answer, by a deadline (EXT-01)."""

from __future__ import annotations

import json
import os
import secrets
import select
import struct
import subprocess
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any, cast

from remit_governance.canonical import Json
from remit_server.sandbox.ports import RuleSandbox, RuleStart

START_S = 20.0
MAX_ANSWER = 1 << 18
MAX_QUESTION = 1 << 22
_DEATH_S = 10.0


class ProcessFailed(Exception):
    """The process ended, took too long, or sent something that is no answer; it has to be killed. The text is the
    reason."""


class QuestionTooLong(Exception):
    """The question is over MAX_QUESTION bytes, so it was not sent."""


class RuleProcess:
    """A running process. It belongs to the thread that started it, and dies with that thread."""

    def __init__(self, process: subprocess.Popen[bytes], remove: Callable[[], None]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._remove = process, remove
        self._to, self._from = process.stdin, process.stdout
        for pipe in (self._to, self._from):
            os.set_blocking(pipe.fileno(), False)

    @classmethod
    def start(cls, sandbox: RuleSandbox) -> RuleProcess:
        """Start the process and wait until Python runs in it. Raises ProcessFailed, and then leaves no process
        behind."""
        try:
            given = sandbox.start_rules((files("remit_server.extensions") / "program.py").read_bytes())
            process = cls(_spawn(given), given.remove)
        except (OSError, ImportError, RuntimeError) as error:
            raise ProcessFailed(f"it cannot be started: {error}") from error
        try:
            process._heard(None, time.monotonic() + START_S)
        except ProcessFailed:
            process.kill()
            raise
        return process

    def ask(self, message: dict[str, Json], seconds: float) -> Json:
        """Returns the process's answer. Raises ProcessFailed; QuestionTooLong if the message is over MAX_QUESTION
        bytes."""
        name = secrets.token_hex(8)
        body = json.dumps({"id": name, **message}).encode()
        if len(body) > MAX_QUESTION:
            raise QuestionTooLong
        deadline = time.monotonic() + seconds
        self._write(struct.pack(">I", len(body)) + body, deadline)
        return self._heard(name, deadline)

    @property
    def sound(self) -> bool:
        """Whether the process runs and has sent nothing unasked."""
        return self._process.poll() is None and not _ready(self._from.fileno(), select.POLLIN, 0)

    def kill(self) -> None:
        """End the process and everything in it. May be called from any thread, and more than once."""
        self._process.kill()
        self._process.wait(_DEATH_S)
        self._remove()

    def close(self) -> None:
        """Kill the process and close its pipes."""
        self.kill()
        for pipe in (self._to, self._from):
            pipe.close()

    def _heard(self, name: str | None, deadline: float) -> Json:
        (length,) = struct.unpack(">I", self._read(4, deadline))
        if length > MAX_ANSWER:
            raise ProcessFailed("its answer is too long")
        try:
            message: Any = json.loads(self._read(length, deadline))
        except (ValueError, RecursionError):
            raise ProcessFailed("what it sent is not an answer") from None
        answer = cast("dict[str, Json]", message) if isinstance(message, dict) else {}
        if answer.keys() != {"id", "answer"} or answer["id"] != name:
            raise ProcessFailed("it sent an answer without a question")
        return answer["answer"]

    def _read(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._wait(self._from.fileno(), select.POLLIN, deadline)
            chunk = os.read(self._from.fileno(), count - len(data))
            if not chunk:
                raise ProcessFailed("it ended")
            data += chunk
        return bytes(data)

    def _write(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            self._wait(self._to.fileno(), select.POLLOUT, deadline)
            try:
                left = left[os.write(self._to.fileno(), left) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ProcessFailed("it ended") from None

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        if not _ready(fd, event, deadline - time.monotonic()):
            raise ProcessFailed("it took too long")


def _ready(fd: int, event: int, seconds: float) -> bool:
    waiting = select.poll()
    waiting.register(fd, event)
    return bool(waiting.poll(max(seconds, 0) * 1000))


def _spawn(given: RuleStart) -> subprocess.Popen[bytes]:
    """Starts the process. Raises OSError."""
    try:
        return subprocess.Popen(
            given.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=given.environment,
            pass_fds=given.descriptors,
            start_new_session=True,
            bufsize=0,
        )
    finally:
        for fd in given.descriptors:
            os.close(fd)
