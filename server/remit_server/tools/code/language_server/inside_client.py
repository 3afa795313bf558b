"""Asks one language server one question, inside the sandbox, and prints the answer as one JSON object.

The arguments, joined, are the question: JSON, deflated, in base64. Remit is not installed in the sandbox, so this
module imports only the standard library, and works with any Python from 3.9 on. The server is not trusted: its output
is cut, its requests are refused, and everything ends at the deadline.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MAX_GARBAGE_LINES = 1_000
MAX_DEPTH = 50
MAX_TEXT = 10_000
BUSY_S = 0.4
QUIET_S = 1.0
AGAIN_S = 0.3
AGAIN = (-32801, -32802)  # ContentModified and ServerCancelled: both mean "ask again later"


def table(value: Any) -> dict[str, Any]:
    """Returns the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # JSON


def row(value: Any) -> list[Any]:
    """Returns the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]  # JSON


class Failed(Exception):
    """The server gave no answer; the text says why."""


class Server:
    """One language server, connected by pipes."""

    def __init__(self, command: list[str], deadline: float) -> None:
        self.deadline = deadline
        self.published: dict[str, list[Any]] = {}
        self.working: set[str] = set()
        self.worked = False
        self.heard: queue.Queue[Any] = queue.Queue(10_000)
        self.number = 0
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            # A script whose interpreter is missing raises the same error as a missing script.
            raise Failed(f"it could not be started: {(error.strerror or str(error)).lower()}") from error
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        """Puts each message on the queue; at the end, or when the server breaks the protocol, puts a string that says
        so."""
        pipe: Any = self.process.stdout
        try:
            while True:
                self.heard.put(self.message(pipe))
        except Failed as error:
            self.heard.put(str(error))
        except (OSError, ValueError, RecursionError):
            self.heard.put("it does not speak the protocol")

    @staticmethod
    def message(pipe: Any) -> Any:
        """Returns the next message. Raises Failed at the end of the stream, and ValueError for data that is no
        message."""
        length = -1
        for _ in range(MAX_GARBAGE_LINES):
            line = pipe.readline(MAX_TEXT)
            if not line:
                raise Failed("it ended without an answer")
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
            if not line.strip() and length >= 0:
                break
        if not 0 <= length <= MAX_MESSAGE_BYTES:
            raise ValueError(length)
        return json.loads(pipe.read(length))

    def send(self, **message: Any) -> None:
        """Writes one message. Raises Failed if the server has ended."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe: Any = self.process.stdin
        try:
            pipe.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            pipe.flush()
        except OSError as error:
            raise Failed("it ended without an answer") from error

    def take(self, seconds: float) -> Any:
        """Handles the next message and returns it. Raises queue.Empty after `seconds`, Failed if there are no more
        messages."""
        left = min(seconds, self.deadline - time.monotonic())
        message: Any = self.heard.get(timeout=max(0.0, left))
        if isinstance(message, str):
            raise Failed(message)
        if isinstance(table(message).get("method"), str):
            self.deal(message)
        return message

    def deal(self, message: dict[str, Any]) -> None:
        """Answers a request from the server, or notes a notification."""
        params = table(message.get("params"))
        method = message["method"]
        if "id" in message:
            if method == "workspace/configuration":
                self.send(id=message["id"], result=[None] * min(len(row(params.get("items"))), 100))
            elif method in {"client/registerCapability", "client/unregisterCapability"} or "workDone" in method:
                self.send(id=message["id"], result=None)
            else:
                self.send(id=message["id"], error={"code": -32601, "message": "not here"})
        elif method == "textDocument/publishDiagnostics":
            self.published[str(params.get("uri"))] = row(params.get("diagnostics"))
        elif method == "$/progress":
            kind = table(params.get("value")).get("kind")
            if kind == "begin":
                self.worked = True
                self.working.add(str(params.get("token")))
            elif kind == "end":
                self.working.discard(str(params.get("token")))

    def ask(self, method: str, params: Any) -> Any:
        """Returns the result of a request, and asks again while the server says that it is too early. Raises Failed."""
        while True:
            self.number += 1
            self.send(id=self.number, method=method, params=params)
            answer = self.answer()
            error = answer.get("error")
            if not error:
                return answer.get("result")
            if table(error).get("code") not in AGAIN:
                raise Failed(f"it refused: {str(table(error).get('message'))[:MAX_TEXT]}")
            time.sleep(AGAIN_S)

    def answer(self) -> dict[str, Any]:
        """Returns the answer to the last request. Raises Failed if none comes in time."""
        while True:
            try:
                message = table(self.take(self.deadline - time.monotonic()))
            except queue.Empty:
                raise Failed("it did not answer in time") from None
            if message.get("id") == self.number and "method" not in message:
                return message

    def settle(self, seconds: float, files: set[str] | None = None) -> bool:
        """Listens until the server is quiet for `seconds` and has published diagnostics of all `files`; returns False
        if the deadline passes first."""
        since = time.monotonic()
        while time.monotonic() < self.deadline:
            try:
                self.take(seconds)
                since = time.monotonic()
            except queue.Empty:
                pass
            waiting = self.working or (files or set[str]()) - set(self.published)
            if not waiting and time.monotonic() - since >= seconds:
                return True
        return False


def uri_of(path: str) -> str:
    """Returns the URI of an absolute path."""
    return "file://" + quote(path)


def start(server: Server, question: dict[str, Any]) -> None:
    """Initializes the server, and opens the files that the question is about."""
    root = uri_of(question["root"])
    folder = {"uri": root, "name": "workspace"}
    document: dict[str, Any] = {
        "synchronization": {"didSave": False},
        "publishDiagnostics": {"relatedInformation": False},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "definition": {"linkSupport": True},
        "references": {},
    }
    workspace: dict[str, Any] = {"configuration": True, "workspaceFolders": True, "symbol": {}}
    server.ask(
        "initialize",
        {
            "processId": os.getpid(),
            "rootUri": root,
            "rootPath": question["root"],
            "workspaceFolders": [folder],
            "initializationOptions": question["options"],
            "capabilities": {
                "textDocument": document,
                "workspace": workspace,
                "window": {"workDoneProgress": True},
                "general": {"positionEncodings": ["utf-16"]},
            },
        },
    )
    server.send(method="initialized", params={})
    for name in question["files"]:
        path = Path(question["root"], name)
        text = question["texts"].get(name)
        if text is None:
            with suppress(OSError):
                text = path.read_bytes().decode("utf-8", "replace")
        if text is None:
            continue
        language = question["languages"].get(path.suffix.lower(), "plaintext")
        opened = {"uri": uri_of(str(path)), "languageId": language, "version": 1, "text": text}
        server.send(method="textDocument/didOpen", params={"textDocument": opened})


def look_up(server: Server, question: dict[str, Any]) -> list[Any]:
    """Returns the results of one request, each as an item. If there are none and the server turns out to have been
    busy, asks again once it is done."""
    method, params = request_of(question)
    found = server.ask(method, params)
    if not found:
        server.settle(BUSY_S)
        if server.worked:
            found = server.ask(method, params)
    return items_of(found, question)


def request_of(question: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the LSP method and its params for the question."""
    kind = question["kind"]
    if kind == "workspace_symbols":
        return "workspace/symbol", {"query": question["name"]}
    params: dict[str, Any] = {"textDocument": {"uri": uri_of(str(Path(question["root"], question["path"])))}}
    if kind == "symbols":
        return "textDocument/documentSymbol", params
    params["position"] = {"line": question["line"], "character": question["character"]}
    if kind == "references":
        return "textDocument/references", {**params, "context": {"includeDeclaration": True}}
    return "textDocument/definition", params


def items_of(found: Any, question: dict[str, Any]) -> list[Any]:
    """Returns the results as items of one form; LSP has several forms for them."""
    results = [found] if table(found) else row(found)
    if question["kind"] == "symbols":
        return list(symbols(results, uri_of(str(Path(question["root"], question["path"])))))
    return [item_of(table(each)) for each in results]


def item_of(each: dict[str, Any]) -> dict[str, Any]:
    """Returns the item for a Location, a LocationLink or a SymbolInformation."""
    location = table(each.get("location")) or each
    return {
        "uri": location.get("uri", location.get("targetUri")),
        "range": location.get("range", location.get("targetSelectionRange")),
        "name": each.get("name"),
        "kind": each.get("kind"),
        "container": each.get("containerName"),
    }


def symbols(results: list[Any], uri: str) -> Iterator[dict[str, Any]]:
    """Yields the symbols of one file, each with the name of its container, in the order of the text."""
    pending = [(table(each), "", 0) for each in reversed(results)]
    while pending:
        each, container, depth = pending.pop()
        if "location" in each:
            yield item_of(each)
            continue
        span = each.get("selectionRange", each.get("range"))
        yield {"uri": uri, "range": span, "name": each.get("name"), "kind": each.get("kind"), "container": container}
        if depth < MAX_DEPTH:
            children = reversed(row(each.get("children")))
            pending += [(table(child), str(each.get("name")), depth + 1) for child in children]


def diagnose(server: Server, question: dict[str, Any]) -> tuple[list[Any], bool]:
    """Returns the diagnostics of the opened files, and whether the server reported on all of them."""
    wanted = {uri_of(str(Path(question["root"], name))) for name in question["files"]}
    whole = server.settle(QUIET_S, wanted)
    items = [
        {**{key: table(each).get(key) for key in ("range", "message", "severity", "source", "code")}, "uri": uri}
        for uri, found in server.published.items()
        for each in found
    ]
    return items, whole


def shorten_item(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item without empty values, and with its texts cut to `MAX_TEXT`."""
    return {
        key: value[:MAX_TEXT] if isinstance(value, str) else value for key, value in item.items() if value is not None
    }


def answer_question(question: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to print."""
    server: Server | None = None
    try:
        server = Server(question["command"], time.monotonic() + question["seconds"])
        start(server, question)
        whole = True
        if question["kind"] == "diagnostics":
            items, whole = diagnose(server, question)
        else:
            items = look_up(server, question)
        most = question["most"]
        return {"items": [shorten_item(each) for each in items[:most]], "total": len(items), "unfinished": not whole}
    except Failed as error:
        return {"failed": str(error)}
    finally:
        if server is not None:
            server.process.kill()


def print_answer(answer: dict[str, Any]) -> None:
    """Prints the answer and exits at once, even if the server is still running."""
    with suppress(OSError):
        sys.stdout.write(json.dumps(answer))
        sys.stdout.flush()
    os._exit(0)


def main(words: list[str]) -> None:
    """Answers the question in the arguments."""
    question = json.loads(zlib.decompress(base64.b64decode("".join(words))))
    # If the server does not read its pipe, a write to it would block for ever.
    late = threading.Timer(question["seconds"] + 2, print_answer, [{"failed": "it did not answer in time"}])
    late.daemon = True
    late.start()
    print_answer(answer_question(question))


if __name__ == "__main__":
    main(sys.argv[1:])
