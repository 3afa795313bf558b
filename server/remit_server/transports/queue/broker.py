"""One connection to the broker, which may be lost and come back (TRN-35), and the streams that must exist there."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error, NoRespondersError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import NotFoundError

from remit_server.contract import ErrorCode
from remit_server.errors import RemitError, SetupError, os_reason
from remit_server.transports.queue.names import INBOX, Names

CONNECT_S = 10.0
CALL_S = 5.0
"""The seconds that the broker may take to answer one request."""
KEPT_S = 7 * 24 * 3600
"""The seconds that events and dead letters are kept."""
SAME_S = 120
"""The seconds within which the broker recognises a request that is sent twice."""
MOST_AT_ONCE = 256
"""The most requests that all workers of a queue together may hold."""

Role = Literal["worker", "client"]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker is, and the credentials for it: a user with a password, a token, or a file, at most
    one of them.
    """

    url: str
    user: str | None = None
    password: str | None = None
    token: str | None = None
    credentials: Path | None = None


class Broker:
    """A connection to the broker. `gone_s` says for how long the connection has been lost."""

    def __init__(self, names: Names, tell: Tell) -> None:
        self.names, self._tell = names, tell
        self.client = Client()
        self.closed = asyncio.Event()
        self.returned = asyncio.Event()
        self._refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._gone_since: float | None = None
        self._last_said = ""

    @property
    def jetstream(self) -> JetStreamContext:
        """The broker's streams."""
        return self.client.jetstream(timeout=CALL_S)  # pyright: ignore[reportUnknownMemberType]

    @property
    def gone_s(self) -> float:
        """Seconds since the connection was lost; 0 while there is one."""
        return 0.0 if self._gone_since is None else time.monotonic() - self._gone_since

    async def connect(self, address: Address, role: Role) -> None:
        """Connects. Raises SetupError if no broker answers, or if the broker does not let this program in."""
        options: dict[str, Any] = {
            "name": f"remit {role}",
            "inbox_prefix": f"{INBOX}remit-{role}",
            "reconnect_time_wait": 0.5,
            "max_reconnect_attempts": -1,
            "connect_timeout": 5,
            "ping_interval": 5,
            "error_cb": self._failed,
            "disconnected_cb": self._left,
            "reconnected_cb": self._came_back,
            "closed_cb": self._closed,
            **_let_in(address),
        }
        connecting = asyncio.create_task(self.client.connect(address.url, **options))
        try:
            await asyncio.wait((connecting, self._refused), timeout=CONNECT_S, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                why = self._refused.result() if self._refused.done() else self._last_said or "nobody answers"
                raise SetupError(
                    f"there is no broker at `{address.url}`",
                    why,
                    "check the address and your credentials",
                )
            await connecting
        except (OSError, Error) as error:
            raise SetupError(f"there is no broker at `{address.url}`", _words(error), "check the address") from error
        finally:
            if not connecting.done():
                connecting.cancel()
                await asyncio.wait((connecting,))
        self._last_said = ""

    async def prepare(self, lease_s: float) -> None:
        """Makes the streams and the workers' consumer if they do not exist.

        Raises SetupError, also if the consumer has another lease.
        """
        streams = (
            StreamConfig(
                name=self.names.runs,
                subjects=[self.names.run(">")],
                retention=RetentionPolicy.WORK_QUEUE,
                duplicate_window=SAME_S,
                allow_direct=True,
            ),
            StreamConfig(
                name=self.names.events,
                subjects=[self.names.told(">"), self.names.dead(">")],
                storage=StorageType.FILE,
                max_age=KEPT_S,
                deny_delete=True,
                allow_direct=True,
            ),
        )
        consumer = ConsumerConfig(
            durable_name=self.names.workers,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=lease_s,
            max_deliver=-1,
            max_ack_pending=MOST_AT_ONCE,
        )
        try:
            for stream in streams:
                with contextlib.suppress(NotFoundError):
                    await self.jetstream.stream_info(str(stream.name))
                    continue
                await self.jetstream.add_stream(stream)  # pyright: ignore[reportUnknownMemberType]
            try:
                known = await self.jetstream.consumer_info(self.names.runs, self.names.workers)
            except NotFoundError:
                known = await self.jetstream.add_consumer(self.names.runs, consumer)  # pyright: ignore[reportUnknownMemberType]
        except Error as error:
            fix = "allow this user to do so, or have it made as docs/queue.md says; JetStream has to be on"
            raise SetupError(f"the queue `{self.names.queue}` cannot be used", self._why(error), fix) from error
        if known.config.ack_wait != lease_s:
            why = f"its workers have a lease of {known.config.ack_wait:g} seconds, and this one would have {lease_s:g}"
            fix = f"give all of them the same `--lease`, or delete the consumer `{self.names.workers}` first"
            raise SetupError(f"the queue `{self.names.queue}` cannot be used", why, fix)

    async def request(self, subject: str, data: bytes, timeout_s: float = CALL_S) -> bytes | None:
        """Returns the answer to a request on a subject, or None if nobody listens there or answers in time."""
        try:
            answer = await self.client.request(subject, data, timeout=timeout_s)
        except (NoRespondersError, Error, OSError):
            return None
        return answer.data

    async def listen(self, subject: str, take: Callable[[Msg], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Passes the messages on a subject to `take`. Returns the function that ends this."""
        subscription = await self.client.subscribe(subject, cb=take)  # pyright: ignore[reportUnknownMemberType]

        async def end() -> None:
            with contextlib.suppress(Error):
                await subscription.unsubscribe()

        return end

    async def close(self) -> None:
        """Sends the data that is still buffered, and closes the connection."""
        with contextlib.suppress(Error, OSError, TimeoutError):
            if self.client.is_connected:
                await asyncio.wait_for(self.client.flush(2), timeout=3)
        # The library asserts that it has begun to connect, which is not so if the credentials cannot be read.
        with contextlib.suppress(Error, OSError, AssertionError):
            await self.client.close()

    def _why(self, error: Error) -> str:
        return self._last_said or _words(error)

    async def _failed(self, error: Exception) -> None:
        said = _words(error)
        if "authorization" in said.lower() and not self._refused.done():
            self._refused.set_result("it does not let this user in")
        if said != self._last_said:
            self._last_said = said
            if self.client.is_connected:
                self._tell(f"the broker says: {said}")

    async def _left(self) -> None:
        if self._gone_since is None and not self.client.is_closed:
            self._gone_since = time.monotonic()
            self._tell("the broker is gone; trying to reach it again")

    async def _came_back(self) -> None:
        self._gone_since = None
        self._last_said = ""
        self._tell("the broker is there again")
        self.returned.set()

    async def _closed(self) -> None:
        self.closed.set()


def unreachable(seconds: float) -> RemitError:
    """Returns the error for a broker that did not answer for so many seconds."""
    return RemitError(
        "the broker cannot be reached",
        f"it did not answer for {seconds:g} seconds",
        "check whether it runs; what was sent to it is kept there",
        code=ErrorCode.TIMED_OUT,
        retryable=True,
    )


@asynccontextmanager
async def connected(address: Address, names: Names, role: Role, tell: Tell) -> AsyncGenerator[Broker]:
    """Yields a connection, and closes it at the end. Raises SetupError."""
    broker = Broker(names, tell)
    if _is_in_the_clear(address.url):
        tell("what goes to this broker can be read on the way, unless it asks for TLS by itself: use tls://")
    try:
        await broker.connect(address, role)
        yield broker
    finally:
        await broker.close()


def _is_in_the_clear(url: str) -> bool:
    """Returns whether others can read on the way what is sent to this address."""
    parts = urlsplit(url)
    return parts.scheme == "nats" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}


def _let_in(address: Address) -> dict[str, Any]:
    if address.credentials is not None:
        jwt, key = _read_credentials(address.credentials)

        def sign(nonce: str) -> bytes:
            return base64.b64encode(key.sign(nonce.encode()))

        return {"user_jwt_cb": lambda: bytearray(jwt), "signature_cb": sign}
    given = {"user": address.user, "password": address.password, "token": address.token}
    return {name: value for name, value in given.items() if value is not None}


_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]+)-----\s+(\S+)\s+-+END")


def _read_credentials(file: Path) -> tuple[bytes, Ed25519PrivateKey]:
    """Reads a file that `nsc` writes. Returns the user's JWT and private key. Raises SetupError."""
    what, fix = f"the credentials in `{file}` cannot be used", "give the file that `nsc generate creds` writes"
    try:
        found: dict[bytes, bytes] = dict(_BLOCK.findall(file.read_bytes()))
        seed = base64.b32decode(found[b"USER NKEY SEED"] + b"=" * (-len(found[b"USER NKEY SEED"]) % 8))
        return found[b"NATS USER JWT"], Ed25519PrivateKey.from_private_bytes(seed[2:34])
    except OSError as error:
        raise SetupError(what, os_reason(error), fix) from error
    except (KeyError, ValueError) as error:
        raise SetupError(what, "it does not hold a user's JWT and its seed", fix) from error


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return os_reason(error)
    return str(error).removeprefix("nats: ").strip("' \r\n") or "it does not answer"
