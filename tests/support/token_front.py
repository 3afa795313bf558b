"""A proxy before a server on this machine, for clients that cannot send headers. It adds the token to each request, and
replaces its own port in the host and the origin by the server's. Everything else passes unchanged."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from typing import Self

HEAD_END = b"\r\n\r\n"
_CONNECTION = re.compile(rb"\r\nconnection:[^\r\n]*", re.IGNORECASE)


class TokenFront:
    """A port whose requests go to `port`, one for each connection."""

    def __init__(self, port: int, token: str) -> None:
        self._to, self._token = port, token
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            received = b""
            while HEAD_END not in received:
                more = client.recv(65536)
                if not more:
                    return
                received += more
            head, _, body = received.partition(HEAD_END)
            with socket.create_connection(("127.0.0.1", self._to)) as server:
                server.sendall(self._rewritten(head) + HEAD_END + body)
                back = threading.Thread(target=_copy, args=(server, client), daemon=True)
                back.start()
                _copy(client, server)
                back.join(60)

    def _rewritten(self, head: bytes) -> bytes:
        own, theirs = b":%d" % self.port, b":%d" % self._to
        mine = (b"127.0.0.1", b"localhost")
        for host in mine:
            head = head.replace(host + own, host + theirs)
        added = b"\r\nConnection: close\r\nAuthorization: Bearer " + self._token.encode()
        return _CONNECTION.sub(b"", head) + added


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
