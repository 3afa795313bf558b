"""`remit submit`: sends a request to the workers of a queue (TRN-36)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from remit_server.cli.queue_options import add_following_arguments, add_queue_arguments, run_connected

if TYPE_CHECKING:
    from remit_server.contract import RunResult
    from remit_server.transports.queue.following import Following


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("prompt", nargs="+", metavar="PROMPT", help="the request")
    add_queue_arguments(parser)
    parser.add_argument("--session", help="the session to continue (default: a new one, named like the turn)")
    parser.add_argument("--turn", metavar="ID", help="the turn's id; sent twice, it runs once (default: a new one)")
    parser.add_argument("--wait", action="store_true", help="follow it to its end")
    add_following_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the turn's id once the broker has the request; with `--wait` the turn, too."""
    from remit_server.cli.commands.turns.ask import prompt
    from remit_server.cli.console import print_result
    from remit_server.cli.new_ids import new_turn
    from remit_server.cli.queue_following import follow_here
    from remit_server.contract import RunRequest
    from remit_server.transports.queue.following import submit

    turn = arguments.turn or new_turn()
    session = arguments.session or turn
    request = RunRequest(session_id=session, turn_id=turn, input=prompt(" ".join(arguments.prompt)))

    async def send(following: Following) -> RunResult | None:
        following.request = await submit(following.broker, request)
        named = turn if session == turn else f"{session} {turn}"
        print_result({"session_id": session, "turn_id": turn}, named, as_json=arguments.json)
        if not arguments.wait:
            return None
        return await follow_here(following, 0, arguments.approve, as_json=arguments.json)

    return run_connected(arguments, send, session, turn)
