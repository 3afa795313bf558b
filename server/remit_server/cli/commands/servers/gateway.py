"""`remit gateway`: the local model for any program, as JSON lines on stdin and stdout (CLI-01)."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
from types import FrameType

from remit_server.cli.usage import whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--model", metavar="M", help="`built-in` or a model folder (default: REMIT_MODEL)")
    parser.add_argument(
        "--idle-timeout",
        type=_seconds,
        default=120.0,
        metavar="S",
        help="close sessions that are unused for this many seconds (120)",
    )
    parser.add_argument(
        "--idle-check", type=_seconds, default=30.0, metavar="S", help="seconds between checks for unused sessions (30)"
    )
    parser.add_argument(
        "--max-tokens", type=whole_number, default=1024, metavar="N", help="tokens an answer may have (1024)"
    )
    parser.add_argument("--log-prefix", default="[remit]", metavar="P", help="prefix of each line on stderr ([remit])")


def run(arguments: argparse.Namespace) -> int:
    """Serves until `shutdown`, the end of input, SIGINT or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)
    from remit_server.runtime.config.layers import resolve
    from remit_server.transports.gateway.main import serve
    from remit_server.transports.gateway.server import Limits

    limits = Limits(arguments.idle_timeout, arguments.idle_check, arguments.max_tokens)
    return serve(arguments.model or resolve(None).form.model.name, limits, arguments.log_prefix)


def _exit(_number: int, _frame: FrameType | None) -> None:
    """Handles a signal during the imports, when there is nothing to shut down yet."""
    os._exit(0)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(number := float(text)) and number > 0:
            return number
    raise argparse.ArgumentTypeError(f"`{text}` is not a number of seconds above 0")
