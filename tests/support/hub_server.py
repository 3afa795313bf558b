"""A server with as much of the Hugging Face hub as its own client needs to fetch a model, on a port of this machine.

It can be told to stall, to drop a connection, to send wrong bytes, to require access rights, to redirect, or to send a
file or a list that does not end.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

PIECE = 1 << 16


@dataclass
class Hub:
    """One repository, and how it behaves. `sent` counts the bytes of each file that were sent."""

    repo: str
    files: Mapping[str, bytes]
    commit: str = "a" * 40
    gated: bool = False
    elsewhere: bool = False
    stall_at: int | None = None
    drop_at: int | None = None
    corrupt: str | None = None
    endless: str | None = None
    endless_list: bool = False
    requests: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    go_on: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tree(self) -> list[dict[str, object]]:
        return [_entry(name, data) for name, data in self.files.items()]


def _entry(name: str, data: bytes) -> dict[str, object]:
    git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    entry: dict[str, object] = {"type": "file", "path": name, "size": len(data), "oid": git}
    if name.endswith(".safetensors"):
        entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return entry


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hub: Hub, *arguments: object) -> None:
        self.hub = hub
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.requests.append(path)
        hub.tokens.append(self.headers.get("Authorization"))
        api, files = f"/api/models/{hub.repo}", f"/{hub.repo}/resolve/{hub.commit}/"
        if path in {f"{api}/revision/main", f"{api}/revision/{hub.commit}"}:
            self.answer({"id": hub.repo, "modelId": hub.repo, "sha": hub.commit, "siblings": [], "tags": []})
        elif path == f"{api}/tree/{hub.commit}":
            following = {"Link": f'<{hub.endpoint}{path}?cursor={len(hub.requests)}>; rel="next"'}
            self.answer(hub.tree() * 100 if hub.endless_list else hub.tree(), following if hub.endless_list else {})
        elif path.startswith(api):
            self.refuse(404, "RevisionNotFound")
        elif path.startswith(files) and hub.gated:
            self.refuse(403, "GatedRepo")
        elif path.startswith(files) and hub.elsewhere:
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{hub.port}/cdn/{path.removeprefix(files)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path.startswith((files, "/cdn/")):
            self.send_file(path.rpartition("/")[2])
        else:
            self.refuse(404, "RepoNotFound")

    def answer(self, value: object, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_file(self, name: str) -> None:
        hub, data = self.hub, self.hub.files[name]
        if name == hub.endless:
            self.send_without_end(name)
            return
        if name == hub.corrupt:
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.send_header("X-Repo-Commit", hub.commit)
        self.end_headers()
        for at in range(start, len(data), PIECE):
            if hub.stall_at is not None and at >= hub.stall_at and name.endswith(".safetensors"):
                hub.go_on.wait(60)
                if hub.stall_at is None:  # the client has gone
                    self.close_connection = True
                    return
            if hub.drop_at is not None and at >= hub.drop_at and name.endswith(".safetensors"):
                hub.drop_at = None
                self.close_connection = True
                return
            piece = data[at : at + PIECE]
            try:
                self.wfile.write(piece)
            except OSError:  # the client was killed
                self.close_connection = True
                return
            hub.sent[name] += len(piece)

    def send_without_end(self, name: str) -> None:
        """Sends a file without end, but at most a hundred times what a test would wait for."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        while self.hub.sent[name] < 3_000 * PIECE:
            try:
                self.wfile.write(b"%x\r\n%b\r\n" % (PIECE, bytes(PIECE)))
            except OSError:  # the client has closed the connection
                return
            self.hub.sent[name] += PIECE


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, hub))
    hub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        hub.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
