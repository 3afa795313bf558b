"""What the commands of a queue share: the broker's address, and the credentials for it (TRN-36).

A password or a token is never an argument, because every account of the machine can read arguments.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from remit_governance.visible import visible_again
from remit_server.cli.usage import WrongUsage, whole_number

if TYPE_CHECKING:
    from remit_server.contract import RunResult
    from remit_server.transports.queue.broker import Address
    from remit_server.transports.queue.following import Following
    from remit_server.transports.queue.names import Names

USER, PASSWORD, TOKEN, CREDENTIALS = (
    "REMIT_QUEUE_USER",
    "REMIT_QUEUE_PASSWORD",
    "REMIT_QUEUE_TOKEN",
    "REMIT_QUEUE_CREDENTIALS",
)
SCHEMES = ("nats", "tls", "ws", "wss")
PATIENCE_S = 600


def add_queue_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments that name a queue."""
    parser.add_argument("--queue", required=True, metavar="URL", help="the broker, such as nats://127.0.0.1:4222")
    parser.add_argument("--name", default="remit", help="the queue's name on it (default: remit)")


def add_following_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of a command that follows a turn."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument(
        "--approve",
        choices=("ask", "never", "session"),
        default="ask",
        help="`ask`: in the terminal (default), `never`: answer no question, `session`: say yes to every question",
    )
    parser.add_argument(
        "--timeout",
        type=whole_number,
        default=PATIENCE_S,
        metavar="S",
        help=f"give up when nothing comes for this many seconds ({PATIENCE_S})",
    )


def read_queue(arguments: argparse.Namespace) -> tuple[Address, Names]:
    """Returns where the broker is, and the queue's names on it. Raises WrongUsage."""
    from remit_server.transports.queue.broker import Address
    from remit_server.transports.queue.names import NAME, Names

    url: str = arguments.queue
    what = "the queue cannot be used"
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.scheme in SCHEMES and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    else:
        if parts.username is not None or parts.password is not None:
            why = "its address holds a password or a token, which everybody on this machine could read"
            raise WrongUsage(what, why, f"set {USER} and {PASSWORD}, {TOKEN}, or {CREDENTIALS}")
    if not named:
        raise WrongUsage(what, f"`{url}` is not the address of a broker", "give one such as nats://127.0.0.1:4222")
    if NAME.fullmatch(arguments.name) is None:
        why = f"`{arguments.name}` is not a valid name of a queue"
        raise WrongUsage(what, why, "use lower-case letters, digits, `-` and `_`")
    file = os.environ.get(CREDENTIALS)
    address = Address(
        url,
        os.environ.get(USER),
        os.environ.get(PASSWORD),
        os.environ.get(TOKEN),
        None if file is None else Path(file),
    )
    return address, Names(arguments.name)


def tell(text: str) -> None:
    """Prints a message about the queue on standard error."""
    sys.stderr.write(visible_again(f"remit: {text}\n"))  # the text may quote a request, or the broker's words
    sys.stderr.flush()


def run_connected(
    arguments: argparse.Namespace, work: Callable[[Following], Awaitable[RunResult | None]], session: str, turn: str
) -> int:
    """Connects to the broker, and does the work on a turn; returns the exit code of its result, 0 if there is none."""
    from remit_server.cli.commands.turns.ask import exit_code_of
    from remit_server.transports.queue.broker import connected
    from remit_server.transports.queue.following import Following
    from remit_server.transports.queue.names import TurnKey

    address, names = read_queue(arguments)

    async def run() -> int:
        async with connected(address, names, "client", tell) as broker:
            result = await work(Following(broker, TurnKey(session, turn), float(arguments.timeout)))
            return 0 if result is None else exit_code_of(result)

    return asyncio.run(run())
