"""A real broker as docs/queue.md sets one up, and a client that speaks its protocol as bytes over a socket.

The client uses none of the project's types: it sends and reads the protocol's own text, and JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

SERVER = Path(sys.executable).parent / "nats-server"
PAGE = Path(__file__).parents[2] / "docs" / "queue.md"
PASSWORDS = {"worker": "w-secret", "client": "c-secret", "watcher": "x-secret"}
PATIENCE_S = 60.0
Json = Any


def sample() -> str:
    """Returns the broker's configuration that the page gives."""
    found = re.search(r"```text\n(listen: .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


class NatsServer:
    """One broker on a port of its own, which keeps its data in a folder, so that it can be killed and started again."""

    def __init__(self, folder: Path, config: str | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        text = sample() if config is None else config
        assert "127.0.0.1:4222" in text
        text = text.replace("127.0.0.1:4222", f"127.0.0.1:{self.port}").replace("/var/lib/nats", str(folder / "kept"))
        self.file = folder / "nats.conf"
        self.file.write_text(text)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        environment = {f"{name.upper()}_PASSWORD": f'"{word}"' for name, word in PASSWORDS.items()}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(SERVER), "-c", str(self.file)], env=environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as asked:
                if asked.recv(5) == b"INFO ":
                    return
            time.sleep(0.02)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def allowed(user: str) -> dict[str, str]:
    """Returns the variables by which a command of `remit` logs in as one of the page's users."""
    return {"REMIT_QUEUE_USER": user, "REMIT_QUEUE_PASSWORD": PASSWORDS[user]}


def subject_token(text: str) -> str:
    """Returns an id as a part of a subject."""
    return quote(text, safe="").replace(".", "%2E")


@dataclass
class Delivered:
    """One message as it came."""

    subject: str
    reply: str
    headers: Mapping[str, str]
    data: bytes


@dataclass
class RawNats:
    """One connection, as bytes. The messages for a subscription go to its function, on the thread that reads."""

    port: int
    user: str = "client"
    password: str | None = None
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        self.info = json.loads(self._file.readline().split(b" ", 1)[1])
        self._numbers = itertools.count(1)
        self._taking: dict[str, Callable[[Delivered], None]] = {}
        self._write_lock = threading.Lock()
        self._pongs = threading.Semaphore(0)
        self.reading = threading.Event()
        self.reading.set()
        self.closed = False
        given = {
            "verbose": False,
            "pedantic": True,
            "headers": True,
            "no_responders": True,
            "protocol": 1,
            "lang": "raw",
        }
        word = PASSWORDS.get(self.user, "") if self.password is None else self.password
        self.send(f"CONNECT {json.dumps({**given, 'user': self.user, 'pass': word})}\r\n".encode())
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def send(self, data: bytes) -> None:
        with self._write_lock:
            self._socket.sendall(data)

    def close(self) -> None:
        self.reading.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def flush(self) -> None:
        """Waits until the broker has read all that was sent."""
        self.send(b"PING\r\n")
        self._pongs.acquire(timeout=PATIENCE_S)

    def subscribe(self, subject: str, take: Callable[[Delivered], None]) -> str:
        number = str(next(self._numbers))
        self._taking[number] = take
        self.send(f"SUB {subject} {number}\r\n".encode())
        return number

    def publish(self, subject: str, data: bytes, reply: str = "", headers: Mapping[str, str] | None = None) -> None:
        if headers:
            head = "NATS/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
            sizes = f"{len(head)} {len(head) + len(data)}"
            self.send(f"HPUB {subject} {reply} {sizes}\r\n{head}".encode() + data + b"\r\n")
        else:
            self.send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def request(
        self, subject: str, data: bytes = b"", headers: Mapping[str, str] | None = None, seconds: float = 5.0
    ) -> Delivered | None:
        """Returns the answer; None if nobody listens or none comes in time."""
        inbox = f"_INBOX.remit-client.{id(self):x}.{next(self._numbers)}"
        found: list[Delivered] = []
        came = threading.Event()

        def take(message: Delivered) -> None:
            found.append(message)
            came.set()

        number = self.subscribe(inbox, take)
        self.publish(subject, data, inbox, headers)
        came.wait(seconds)
        self.send(f"UNSUB {number}\r\n".encode())
        return found[0] if found and found[0].headers.get("Status") != "503" else None

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self._file.readline():
                self._take(line.rstrip(b"\r\n").decode())
                self.reading.wait()
        self.closed = True

    def _take(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "PING":
            self.send(b"PONG\r\n")
        elif kind == "PONG":
            self._pongs.release()
        elif kind == "-ERR":
            self.errors.append(rest)
        elif kind in {"MSG", "HMSG"}:
            subject, number, *more = rest.split(" ")
            sizes = [int(each) for each in more[-2 if kind == "HMSG" else -1 :]]
            reply = more[0] if len(more) > len(sizes) else ""
            body = self._file.read(sizes[-1] + 2)[:-2]
            head = body[: sizes[0]] if kind == "HMSG" else b""
            message = Delivered(subject, reply, parse_headers(head), body[len(head) :])
            if take := self._taking.get(number):
                take(message)


def parse_headers(head: bytes) -> dict[str, str]:
    """Returns the headers of a message, and its `Status` if the first line has one."""
    first, *lines = head.decode().split("\r\n")
    status = first.removeprefix("NATS/1.0").strip().split(" ")[0]
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return {**({"Status": status} if status else {}), **found}


def kept(raw: RawNats, subject: str, stream: str = "REMIT_EVENTS", place: int = 1) -> Iterator[Delivered]:
    """Yields all messages that the broker has kept on a subject, from the sequence number `place` on."""
    while True:
        asked = json.dumps({"seq": place, "next_by_subj": subject}).encode()
        found = raw.request(f"$JS.API.DIRECT.GET.{stream}", asked)
        if found is None or found.headers.get("Status") == "404":
            return
        place = int(found.headers["Nats-Sequence"]) + 1
        found.subject = found.headers["Nats-Subject"]
        yield found


def lines_of(messages: Iterator[Delivered]) -> Iterator[Json]:
    """Yields the lines of JSON in these messages. Skips a line that an earlier writer left unfinished, and messages
    that are not by the current writer."""
    rest, writer = b"", ""
    for message in messages:
        if not message.subject.endswith(f".{message.headers.get('Remit-Turn')}"):
            continue
        if message.headers["Remit-Part"] == "0":
            rest, writer = b"", message.headers["Remit-Claim"]
        elif message.headers["Remit-Claim"] == writer:
            *whole, rest = (rest + message.data).split(b"\n")
            yield from map(json.loads, whole)


def wait_for_queue(raw: RawNats) -> None:
    """Waits until a worker has made the streams."""
    asked = json.dumps({"last_by_subj": "remit.ev.nobody.nothing"}).encode()
    deadline = time.monotonic() + PATIENCE_S
    while raw.request("$JS.API.DIRECT.GET.REMIT_EVENTS", asked) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def digest_of(request: bytes) -> str:
    """Returns the digest that identifies a request."""
    return hashlib.sha256(request).hexdigest()
