"""A network of its own, with a name server that changes its answers, and a `remit` in it.

Run it as a program under `unshare --map-root-user --mount --net`: it prints a line of JSON with the name server's
answers, the requests to the two web servers, and the output of `remit`. One web server has a public address, the other
one the machine's own.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tls import server_context

PUBLIC, OWN = "93.184.215.14", "127.0.0.1"
PORT = 4443
ANSWERS = {
    "turns.example.org": [[PUBLIC], [OWN], [PUBLIC], [OWN]],
    "falls.example.org": [[PUBLIC], [OWN], [OWN], [OWN]],
    "both.example.org": [[OWN, PUBLIC]],
    "own.example.org": [[OWN]],
}
"""The answers to the questions about each name, in turn, and then from the beginning again."""


class Names:
    """A name server that remembers what it answered."""

    def __init__(self) -> None:
        self.answered: list[tuple[str, list[str]]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))

    def serve(self) -> None:
        """Answer until the process ends."""
        while True:
            question, who = self._socket.recvfrom(512)
            self._socket.sendto(self._answer(question), who)

    def _answer(self, question: bytes) -> bytes:
        name, end = _name(question)
        addresses = self._addresses(name) if question[end : end + 2] == b"\0\1" else []
        records = b"".join(
            b"\xc0\x0c\0\1\0\1" + (0).to_bytes(4) + b"\0\4" + ipaddress.ip_address(address).packed
            for address in addresses
        )
        head = question[:2] + b"\x81\x80\0\1" + len(addresses).to_bytes(2) + b"\0\0\0\0"
        return head + question[12 : end + 4] + records

    def _addresses(self, name: str) -> list[str]:
        if name not in ANSWERS:
            return []
        before = sum(asked == name for asked, _ in self.answered)
        addresses = ANSWERS[name][before % len(ANSWERS[name])]
        self.answered.append((name, addresses))
        return addresses


def _name(question: bytes) -> tuple[str, int]:
    """Returns the name that is asked about, and the offset where it ends."""
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels), at + 1


class Page(BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.asked.append((str(self.server.server_address[0]), self.path))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        del args


class Web(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off is expected."""
        del request, client_address


def _network(folder: Path) -> None:
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:5 attempts:2\n")
    (folder / "nsswitch.conf").write_text("hosts: dns\n")
    for command in (
        ["ip", "link", "set", "lo", "up"],
        ["ip", "address", "add", f"{PUBLIC}/32", "dev", "lo"],
        ["mount", "--bind", str(folder / "resolv.conf"), "/etc/resolv.conf"],
        ["mount", "--bind", str(folder / "nsswitch.conf"), "/etc/nsswitch.conf"],
    ):
        subprocess.run(command, check=True)


def _web(address: str) -> None:
    server = Web((address, PORT), Page)
    server.socket = server_context().wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(folder: Path, command: list[str]) -> None:
    """See above; `command` runs in the folder `shop`."""
    _network(folder)
    names = Names()
    threading.Thread(target=names.serve, daemon=True).start()
    Page.asked = []
    for address in (PUBLIC, OWN):
        _web(address)
    done = subprocess.run(command, cwd=folder / "shop", capture_output=True, text=True, check=False)
    print(json.dumps({"answered": names.answered, "asked": Page.asked, "out": done.stdout, "err": done.stderr}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
