"""`remit watch`: follows a turn of a queue, and answers its questions (TRN-36)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from remit_server.cli.queue_options import add_following_arguments, add_queue_arguments, run_connected
from remit_server.cli.usage import WrongUsage

if TYPE_CHECKING:
    from remit_server.contract import RunResult
    from remit_server.transports.queue.following import Following


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="the turn, or its session and the turn")
    add_queue_arguments(parser)
    parser.add_argument(
        "--after", type=int, default=0, metavar="SEQ", help="begin after this event (default: show all)"
    )
    parser.add_argument("--cancel", action="store_true", help="end the turn first")
    add_following_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints events until the turn has ended; the exit code is that of its result."""
    from remit_server.cli.queue_following import follow_here

    if len(arguments.ids) > 2:
        raise WrongUsage(
            "the turn cannot be followed", "more than two ids were given", "give SESSION and TURN, or TURN"
        )
    session, turn = arguments.ids[0], arguments.ids[-1]

    async def follow(following: Following) -> RunResult:
        if arguments.cancel:
            await following.cancel()
        return await follow_here(following, arguments.after, arguments.approve, as_json=arguments.json)

    return run_connected(arguments, follow, session, turn)
