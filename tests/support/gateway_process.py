"""`remit gateway` as a program meets it: a process, lines in, lines out, and what it logged."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self

from command_line import REMIT

PATIENCE_S = 60.0
_END = object()


class GatewayProcess:
    """One process. Every line that it writes to standard output has to be JSON."""

    def __init__(self, *options: str, reads: bool = True, reads_log: bool = True, **environment: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [str(REMIT), "gateway", *options], stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **environment}
        )
        self.log: list[str] = []
        self._stopped = False
        self._lines: SimpleQueue[object] = SimpleQueue()
        self._logged = threading.Condition()
        self._threads: list[threading.Thread] = []
        if reads_log:
            self.in_thread(self._read_log)
        if reads:
            self.start_reading()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def in_thread(self, work: Callable[[], object]) -> threading.Thread:
        """Do the work on a thread. Errors that arise because the process ends meanwhile are ignored."""

        def run() -> None:
            with contextlib.suppress(OSError, ValueError):
                work()

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    # saying

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *requests: Any) -> None:
        """Send requests in one write, each on a line."""
        self.send_bytes(b"".join(json.dumps(request).encode() + b"\n" for request in requests))

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    # hearing

    def start_reading(self) -> None:
        self._reading = self.in_thread(self._read)

    def stop_reading(self) -> None:
        """Stop the reading thread, and close this end of standard output."""
        assert self.process.stdout is not None
        self._stopped = True
        self._reading.join(PATIENCE_S)
        self.process.stdout.close()

    def line(self) -> bytes:
        """Returns the next line of standard output, with its line end."""
        try:
            line = self._lines.get(timeout=PATIENCE_S)
        except Empty:
            raise AssertionError("no answer came") from None
        assert isinstance(line, bytes), "standard output has ended"
        return line

    def answer(self) -> dict[str, Any]:
        return strict_json(self.line())

    def ask(self, request: Any) -> dict[str, Any]:
        self.send(request)
        return self.answer()

    def quiet(self) -> bool:
        """Returns whether every line that came was taken."""
        return self._lines.empty()

    def rest(self) -> list[dict[str, Any]]:
        """Returns all answers up to the end of standard output."""
        found = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not _END:
            assert isinstance(line, bytes)
            found.append(strict_json(line))
        return found

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    # the usual

    def open(self, **fields: Any) -> str:
        answer = self.ask({"command": "open-session", **fields})
        assert answer["ok"] is True, answer
        return answer["session_id"]

    def close(self, session: str) -> None:
        assert self.ask({"command": "close-session", "session_id": session}) == {"ok": True}

    def logged(self, pattern: str, since: int = 0) -> re.Match[str]:
        """Waits for a line of the log, from `since` on, that matches; returns the match."""

        def found() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, line) for line in self.log[since:])), None)

        with self._logged:
            assert self._logged.wait_for(found, PATIENCE_S), (pattern, self.log[since:])
            match = found()
        assert match is not None
        return match

    def model_process(self) -> int:
        """Returns the id of the model's process."""
        found = [
            int(stat.parent.name)
            for stat in Path("/proc").glob("[0-9]*/stat")
            if _parent(stat) == self.process.pid and b"remit_server.models.local.host" in _command(stat)
        ]
        (only,) = found
        return only

    def _read(self) -> None:
        assert self.process.stdout is not None
        while not self._stopped and (line := self.process.stdout.readline()):
            self._lines.put(line)
        self._lines.put(_END)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._logged:
                self.log.append(line.decode())
                self._logged.notify_all()


def strict_json(line: bytes) -> dict[str, Any]:
    """Returns the JSON object on a line. Fails for anything else, also for NaN, which JSON does not have."""
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert b"\r" not in line
    value = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    assert isinstance(value, dict)
    return value


def _no_number(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _command(stat: Path) -> bytes:
    try:
        return stat.with_name("cmdline").read_bytes()
    except OSError:
        return b""
