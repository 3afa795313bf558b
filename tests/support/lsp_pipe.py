"""A client of a language server over two pipes, without an event loop, so that the server can be killed to the
millisecond."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]
TOKEN = "stream"


class PipeClient:
    """One server process; `reading` and `writing` are this side's ends of its standard streams."""

    def __init__(self, pid: int, reading: int, writing: int, reap: Callable[[], object] = lambda: None) -> None:
        self._pid, self._reap = pid, reap
        self._from, self._to = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
        self._number = 0
        self.ended = False

    @classmethod
    def spawn(cls, command: Sequence[str], environment: Mapping[str, str]) -> PipeClient:
        """Start a server process."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert process.stdin is not None
        assert process.stdout is not None
        reading, writing = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
        process.stdout.close()
        process.stdin.close()
        return cls(process.pid, reading, writing, process.wait)

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._pid

    def initialize(self, root: Path, *others: Path) -> None:
        """Does the handshake of a client that shows questions itself, with one open folder or several."""
        options = {"remit": {"approvals": "stream"}}
        params: Json = {
            "processId": None,
            "rootUri": root.as_uri(),
            "capabilities": {},
            "initializationOptions": options,
        }
        if others:
            params["workspaceFolders"] = [{"uri": each.as_uri(), "name": each.name} for each in (root, *others)]
        self.result(self.request("initialize", params))
        self._send({"method": "initialized", "params": {}})

    def run(self, turn: str, part: Json, folder: Path | None = None, session: str = "s") -> int:
        """Start a turn, in this folder of several; returns the id to wait for."""
        params: Json = {"session_id": session, "turn_id": turn, "input": part, "partialResultToken": TOKEN}
        if folder is not None:
            params["context"] = {"workspace_folder": str(folder)}
        return self.request("remit/run", params)

    def request(self, method: str, params: Json) -> int:
        """Send a request; returns its id."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return self._number

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def send_bytes(self, data: bytes) -> None:
        """Send bytes, which need not be a message."""
        self._to.write(data)
        self._to.flush()

    def result(self, number: int) -> Any:
        """Returns the result of a request; drops the messages before it."""
        for message in self.messages():
            if message.get("id") == number and "method" not in message:
                assert "result" in message, message
                return message["result"]
        raise AssertionError("the server ended without an answer")

    def turn(self, name: str, number: int, answer: str, scope: str | None = None) -> list[Json]:
        """Returns all events of a turn, which runs as request `number`; answers each question in it with `answer`, and
        with `scope` if it is given."""
        lasting = {} if scope is None else {"scope": scope}
        events: list[Json] = []
        for message in self.messages():
            if message.get("id") == number and "method" not in message:
                assert "result" in message, message
                return events
            event = message["params"]["value"] if message.get("method") == "$/progress" else {}
            if event.get("turn_id") != name:
                continue
            events.append(event)
            if event["kind"] == "approval_required":
                given = {"approval_id": event["approval_id"], "decision": answer, **lasting}
                self.request("remit/approval/respond", given)
        raise AssertionError("the server ended in the middle of a turn")

    def event(self, kind: str, turn: str | None = None) -> Json:
        """Returns the next event of this kind, in the turn `turn` if several run."""
        for message in self.messages():
            event = message["params"]["value"] if message.get("method") == "$/progress" else {}
            if turn not in {None, event.get("turn_id")}:
                continue
            if event.get("kind") == kind:
                return event
            assert event.get("kind") != "run_completed", f"the turn ended without `{kind}`: {event}"
        raise AssertionError(f"the server ended without a `{kind}` event")

    def kill(self) -> bytes:
        """SIGKILL, and wait until nothing of the process is left; returns the last output."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        said = self._from.read()  # until the process's last thread closes the pipe
        self._close()
        return said

    def cancel(self, number: int) -> None:
        """Ask for the end of a request."""
        self._send({"method": "$/cancelRequest", "params": {"id": number}})

    def answers(self, *numbers: int) -> dict[int, Json]:
        """Returns the answers to these requests, results or errors, in whatever order they come."""
        found: dict[int, Json] = {}
        for message in self.messages():
            if message.get("id") in numbers and "method" not in message:
                found[message["id"]] = message
            if len(found) == len(numbers):
                return found
        raise AssertionError(f"the server ended with answers to {sorted(found)} only")

    def terminate(self) -> None:
        """SIGTERM, and wait until the server has ended."""
        os.kill(self._pid, signal.SIGTERM)
        self._from.read()
        self._close()

    def hang_up(self) -> None:
        """Close both pipes, as a client that died, and wait until the server has ended."""
        self._to.close()
        self._from.read()
        self._close()

    def exit(self) -> None:
        """Shut it down in order."""
        self.result(self.request("shutdown", {}))
        self._send({"method": "exit", "params": {}})
        self._from.read()
        self._close()

    def _close(self) -> None:
        self.ended = True
        with suppress(BrokenPipeError):
            self._to.close()
        self._from.close()
        self._reap()

    def _send(self, message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._to.flush()

    def messages(self) -> Iterator[Json]:
        """Yields all messages from here on, until the server ends."""
        while header := self._from.readline():
            assert self._from.readline() == b"\r\n"
            yield json.loads(self._from.read(int(header.partition(b":")[2])))
