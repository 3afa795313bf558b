"""The server of a model as a process that tests can kill. It answers as llama.cpp does, a few bytes at a time.

It reads the steps to play from its input, each a line of JSON, and prints the reference of its model.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from small_server import SHAPES

LIKE = SHAPES["llama.cpp"]
PIECE, PAUSE_S = 4, 0.005


def serve(steps: list[str]) -> None:
    """Serves for ever; answers each request for a step with the next step, and with a last answer after all steps."""
    left = iter(steps)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._begin("application/json", 200 if self.path in LIKE.pages else 404)
            self.wfile.write(LIKE.pages.get(self.path, b"{}"))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if not self.path.endswith("/chat/completions"):
                self._begin("application/json", 404)
                return
            step = next(left, '{"answer": "That is all that there is to be said of it, and nothing more."}')
            self._begin(LIKE.kind, 200)
            for at in range(0, len(step), PIECE):
                self.wfile.write(LIKE.before % json.dumps(step[at : at + PIECE]).encode())
                time.sleep(PAUSE_S)
            self.wfile.write(LIKE.after)

        def _begin(self, kind: str, status: int) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        sys.stdout.write(LIKE.reference.format(f"http://127.0.0.1:{listener.server_port}") + "\n")
        sys.stdout.flush()
        listener.serve_forever()


if __name__ == "__main__":
    serve(sys.stdin.read().splitlines())
