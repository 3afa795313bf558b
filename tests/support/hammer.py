"""Sends servers one case after the other, each followed by a valid question, and measures what it costs them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sent_cases import Case, frame

Json = dict[str, Any]
PATIENCE_S = 60.0
TICKS_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Costs:
    """The highest costs of a case in one process: seconds by the clock and of its processor, and MB above its start."""

    clock_s: float = 0.0
    processor_s: float = 0.0
    memory_mb: float = 0.0
    slowest: str = ""
    cases: int = 0
    problems: list[str] = field(default_factory=list)

    def worse(self, other: Costs) -> None:
        """Take over the costs that were higher in another process."""
        if other.clock_s > self.clock_s:
            self.clock_s, self.slowest = other.clock_s, other.slowest
        self.processor_s = max(self.processor_s, other.processor_s)
        self.memory_mb = max(self.memory_mb, other.memory_mb)
        self.cases += other.cases
        self.problems += other.problems


class Hammer(ABC):
    """One process, whose messages are read on a thread. `costs` is brought up to date with each case."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment
            )
        self.costs = Costs()
        self.messages: list[Json] = []
        self._changed = threading.Condition()
        self.ended = False
        self._probes = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def begin(self) -> float:
        """Forget what was measured and heard so far; returns the memory in use now, in MB."""
        self.costs = Costs()
        with self._changed:
            self.messages.clear()
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")  # resets the peak of memory to the present use
        return self.memory_mb()

    @abstractmethod
    def probe(self, number: int) -> tuple[bytes, str]:
        """Returns a valid question as it is sent, and the id of its answer."""

    @abstractmethod
    def receive(self, stream: Any) -> Json | None:
        """Returns the next message of the process; None at the end."""

    def is_answer(self, message: Json, case: Case) -> bool:
        """Returns whether the message answers the case."""
        return "method" not in message and message.get("id") == case.answer_id

    def play(self, case: Case, *, may_end: bool = False) -> list[Json]:
        """Send one case and the question, and wait for both answers; returns the messages that came. Notes a
        problem."""
        self._probes += 1
        question, probe_id = self.probe(self._probes)
        with self._changed:
            self.messages.clear()
        clock, processor = time.monotonic(), self._processor_s()
        self.send(case.data + question)

        def all_came() -> bool:
            asked = any(message.get("id") == probe_id for message in self.messages)
            return asked and (not case.answered or any(self.is_answer(one, case) for one in self.messages))

        with self._changed:
            came = self._changed.wait_for(lambda: self.ended or all_came(), PATIENCE_S)
            came = came and all_came()
            found = list(self.messages)
        self.costs.cases += 1
        if not came and not (self.ended and may_end):
            self.costs.problems.append(f"{case.name}: {'the end' if self.ended else 'no answer'}; {found!r:.300}")
        if (took := time.monotonic() - clock) > self.costs.clock_s:
            self.costs.clock_s, self.costs.slowest = took, case.name
        if self.process.poll() is None:
            self.costs.processor_s = max(self.costs.processor_s, self._processor_s() - processor)
        return found

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def ask(self, data: bytes, answer_id: Any) -> Json:
        """Send a valid message, and wait for its answer."""
        self.send(data)
        with self._changed:
            assert self._changed.wait_for(lambda: self._answer(answer_id) or self.ended, PATIENCE_S)
            answer = self._answer(answer_id)
        assert answer is not None, "the process ended"
        return answer

    def _answer(self, answer_id: Any) -> Json | None:
        return next((one for one in self.messages if one.get("id", one.get("request_id")) == answer_id), None)

    def note_memory(self, before_mb: float) -> None:
        """Keep the highest memory use so far, above `before_mb`."""
        self.costs.memory_mb = max(self.costs.memory_mb, self.memory_mb("VmHWM") - before_mb)

    def memory_mb(self, which: str = "VmRSS") -> float:
        """Returns the memory of the process in MB: its present use, or its peak (`VmHWM`)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition(f"{which}:")[2].split()[0]) / 1024

    def _processor_s(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS_S

    def _read(self) -> None:
        while (message := self.receive(self.process.stdout)) is not None:
            self.react(message)
            with self._changed:
                self.messages.append(message)
                self._changed.notify_all()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def react(self, message: Json) -> None:
        """Answer a message at once, if the process expects that. Does nothing here."""
        del message


class LspHammer(Hammer):
    """A language server. The question is a method that the server does not know, so that answering it costs little."""

    def probe(self, number: int) -> tuple[bytes, str]:
        probe_id = f"probe-{number}"
        return frame(json.dumps({"jsonrpc": "2.0", "id": probe_id, "method": "$/probe"}).encode()), probe_id

    root: Path

    def initialize(self, root: Path) -> None:
        """Do the handshake, and get one answer of the runtime, so that everything is imported."""
        self.root = root
        params = {"processId": None, "rootUri": root.as_uri(), "capabilities": {}}
        self.request("initialize", params)
        self.send(frame(json.dumps({"jsonrpc": "2.0", "method": "initialized", "params": {}}).encode()))
        self.request("remit/status", {})

    def request(self, method: str, params: Json) -> Json:
        """Returns the answer to a request, whatever it is."""
        self._probes += 1
        own_id = f"own-{self._probes}"
        body = {"jsonrpc": "2.0", "id": own_id, "method": method, "params": params}
        return self.ask(frame(json.dumps(body).encode()), own_id)

    def receive(self, stream: Any) -> Json | None:
        header = stream.readline()
        if not header:
            return None
        assert stream.readline() == b"\r\n"
        return json.loads(stream.read(int(header.partition(b":")[2])))

    def react(self, message: Json) -> None:
        """Refuse every request of the server, as an editor without any LSP feature."""
        if "method" in message and "id" in message:
            refused = {"code": -32601, "message": "no such method"}
            self.send(frame(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": refused}).encode()))


class GatewayHammer(Hammer):
    """A gateway. Each line has one answer, with the id of its request or with none."""

    def probe(self, number: int) -> tuple[bytes, str]:
        probe_id = f"probe-{number}"
        return json.dumps({"command": "check-availability", "request_id": probe_id}).encode() + b"\n", probe_id

    def receive(self, stream: Any) -> Json | None:
        line = stream.readline()
        if not line:
            return None
        message = json.loads(line)
        assert isinstance(message, dict)
        return {"id": message.get("request_id"), **message}

    def is_answer(self, message: Json, case: Case) -> bool:
        return not str(message["id"]).startswith("probe-")
