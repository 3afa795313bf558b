"""`remit worker`: runs the turns that come over a queue, in one workspace (TRN-31)."""

from __future__ import annotations

import argparse

from remit_server.cli.queue_options import add_queue_arguments, read_queue, tell
from remit_server.cli.usage import add_serving_arguments, whole_number

LEASE_S = 60
TURNS = 4
ATTEMPTS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_queue_arguments(parser)
    add_serving_arguments(parser, "whoever watches the turn")
    parser.add_argument("--turns", type=whole_number, default=TURNS, help=f"turns at once ({TURNS})")
    parser.add_argument(
        "--lease",
        type=whole_number,
        default=LEASE_S,
        metavar="S",
        help=f"seconds without a sign of its worker after which a turn goes to another one ({LEASE_S})",
    )
    parser.add_argument(
        "--attempts", type=whole_number, default=ATTEMPTS, help=f"workers that may begin one turn ({ATTEMPTS})"
    )


def run(arguments: argparse.Namespace) -> int:
    """Works until SIGINT or SIGTERM."""
    from remit_server.runtime.settings import Settings, existing_folder
    from remit_server.transports.queue.main import serve

    address, names = read_queue(arguments)
    workspace = existing_folder(arguments.workspace)
    return serve(
        lambda: Settings.from_environment(workspace, model=arguments.model),
        address,
        names,
        tell,
        approving=arguments.approve,
        turns=arguments.turns,
        lease_s=arguments.lease,
        attempts=arguments.attempts,
    )
