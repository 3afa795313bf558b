"""Write a plugin of Remit in Python: name its tools, and `serve()`.

    from remit_plugin import Context, Plugin

    plugin = Plugin("hello", "1.0.0")

    @plugin.tool("greet")
    def greet(context: Context, name: str) -> str:
        return f"hello, {name}"

    plugin.serve()

This module needs only the standard library, and Python 3.9 or newer. The sandbox that the plugin runs in limits what a
plugin can do; this module is only a convenience and enforces nothing.
"""

from __future__ import annotations

import difflib
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

API_VERSION = 2
MAX_FRAME = 2_000_000
_SOCKET, _TOKEN = "PLUGIN_SOCKET", "PLUGIN_TOKEN"

Json = Any
"""Any value that JSON can express."""


class PluginError(Exception):
    """Raise it in a tool to fail the call, with a reason that the model is told."""

    def __init__(self, message: str, code: str = "failed") -> None:
        super().__init__(message)
        self.message, self.code = message, code


@dataclass(frozen=True)
class Patch:
    """What a tool with `output: patch` returns: a unified diff to propose, and an output that describes it."""

    diff: str
    output: Json = None


@dataclass
class Context:
    """What a tool can look at and do in the plugin's sandbox. Paths are relative to the project."""

    root: Path
    env: Mapping[str, str]
    plugin_name: str
    _edits: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, command: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a program, given as a list of words and never as a shell's command line; needs `process.exec`."""
        if isinstance(command, str):
            raise TypeError("a command is a list of words")
        return subprocess.run(
            list(command), cwd=self.root, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )

    def read_file(self, path: str) -> str:
        """Returns a file's text; needs `fs.read`."""
        if path in self._edits:
            return self._edits[path]
        return self._place(path).read_bytes().decode("utf-8")

    def file_exists(self, path: str) -> bool:
        """Returns whether the file exists."""
        return path in self._edits or self._place(path).is_file()

    def list_dir(self, path: str = ".") -> list[str]:
        """Returns the names in a folder, sorted; the name of a folder ends with `/`."""
        return sorted(each.name + ("/" if each.is_dir() else "") for each in self._place(path).iterdir())

    def write_file(self, path: str, text: str) -> None:
        """Writes a file in the plugin's own layer, for `output: full`. What differs when the plugin ends is
        reviewed."""
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8"))

    def propose(self, path: str, text: str) -> None:
        """Notes the new text of a file, for the patch of a tool with `output: patch`."""
        self._place(path)
        self._edits[path] = text

    def patch(self, output: Json = None) -> Patch:
        """Returns all proposed texts as one patch."""
        return Patch("".join(self._diff(path, text) for path, text in sorted(self._edits.items())), output)

    def _diff(self, path: str, text: str) -> str:
        place = self._place(path)
        before = place.read_bytes().decode("utf-8") if place.is_file() else None
        if before == text:
            return ""
        lines = difflib.unified_diff(
            _lines(before or ""), _lines(text), "/dev/null" if before is None else "a/" + path, "b/" + path
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

    def _place(self, path: str) -> Path:
        place = Path(os.path.normpath(self.root / path))
        if place != self.root and self.root not in place.parents:
            raise PluginError(f"`{path}` leads out of the project", "outside")
        return place


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


Tool = Callable[..., Any]
"""A function that answers a call of a tool, with a JSON value or a `Patch`."""


class Plugin:
    """A plugin, with the name and version of its `plugin.yaml`."""

    def __init__(self, name: str, version: str) -> None:
        self.name, self.version = name, version
        self._tools: dict[str, Tool] = {}

    def tool(self, name: str) -> Callable[[Tool], Tool]:
        """Registers the function that answers for a tool. It is called with a `Context` and the arguments by name."""

        def note(function: Tool) -> Tool:
            self._tools[name] = function
            return function

        return note

    def serve(self) -> None:
        """Answers the one call that this process was started for, and returns."""
        with _connected() as connection:
            hello = {"type": "handshake", "plugin_name": self.name, "plugin_version": self.version}
            token = os.environ.pop(_TOKEN, "")
            send(connection, dict(hello, syscall_api_version=API_VERSION, token=token))
            answer = receive(connection)
            if answer is None or answer.get("type") != "handshake_ack":
                sys.exit(f"remit did not accept the handshake: {json.dumps(answer)}")
            request = receive(connection)
            if request is None:
                return
            send(connection, dict(self._answer(request["params"]), type="response", id=request["id"]))
            receive(connection)  # wait until Remit closes the connection, before this process ends

    def _answer(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = self._tools.get(call["tool"])
        if function is None:
            return _failed("there is no tool `{}`".format(call["tool"]), "unknown_tool")
        context = Context(Path.cwd(), dict(os.environ), self.name)
        try:
            found = function(context, **call["arguments"])
        except PluginError as error:
            return _failed(error.message, error.code)
        except Exception as error:
            return _failed(f"{type(error).__name__}: {error}", "crashed")
        result = {"output": found.output if isinstance(found, Patch) else found}
        if isinstance(found, Patch) and found.diff:
            result["patch"] = found.diff
        if len(json.dumps(result)) > MAX_FRAME - 1_000:
            return _failed(f"the answer is longer than {MAX_FRAME} bytes", "too_long")
        return {"result": result}


def _failed(message: str, code: str) -> dict[str, Any]:
    return {"error": {"code": code[:100], "message": message[:4_000]}}


def _connected() -> socket.socket:
    number = os.environ.pop(_SOCKET, "")
    if not number:
        sys.exit("this is a plugin of Remit: install it with `remit plugin install`")
    descriptor = int(number)
    os.set_inheritable(descriptor, False)  # programs that the plugin starts must not get it
    return socket.socket(fileno=descriptor)


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """Sends a frame."""
    body = json.dumps(message).encode("utf-8")
    connection.sendall(struct.pack(">I", len(body)) + body)


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """Returns the next frame, or None at the end of the connection."""
    head = _exactly(connection, 4)
    body = _exactly(connection, struct.unpack(">I", head)[0]) if head else b""
    return json.loads(body) if body else None


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            return b""
        data += chunk
    return data
