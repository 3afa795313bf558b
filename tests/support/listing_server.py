"""A server on a port of this machine that answers each path with bytes, and keeps what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ListingServer:
    port: int
    paths: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)


@contextmanager
def listing_server(answers: Mapping[str, bytes], status: int = 200, **headers: str) -> Iterator[ListingServer]:
    state = ListingServer(0)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            state.paths.append(self.path)
            state.addresses.add(self.client_address[0])
            body = answers.get(self.path)
            self.send_response(404 if body is None else status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body or b"")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    state.port = listener.server_port
    try:
        yield state
    finally:
        listener.shutdown()
        listener.server_close()
