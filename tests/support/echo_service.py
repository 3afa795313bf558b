"""A service on this machine that repeats what it receives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def echo() -> Iterator[tuple[int, list[bytes]]]:
    """Runs a service without HTTP and TLS that repeats what it receives; yields its port, and what it has received."""
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            with one:
                data = b"".join(iter(lambda: one.recv(4096), b""))  # noqa: B023
                heard.append(data)
                one.sendall(data.upper())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)
