"""`remit hook AGENT`: one event on standard input, the agent's own answer on standard output (HOK-01)."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from remit_server.cli.usage import HERE
from remit_server.errors import RemitError, SetupError
from remit_server.hooks.door import Door, Opener, opened_once, remit_program
from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.formats.answers import Reply, reply_to_failure
from remit_server.hooks.formats.events import MOST_BYTES
from remit_server.hooks.resident.time_limit import LIMIT_S, time_limit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--event", metavar="NAME", help="the event's name, where the agent's JSON has none")
    parser.add_argument("--workspace", type=Path, default=HERE, help="the project's folder (default: the agent's own)")


def run(arguments: argparse.Namespace) -> int:
    """Answers one event."""
    agent = AGENTS[arguments.agent]
    try:
        with time_limit(LIMIT_S):
            reply = _answer(arguments)
    except RemitError as error:
        reply = reply_to_failure(agent, arguments.event, error)
    except Exception as error:  # whatever broke, the call must not go on
        failed = SetupError("the call could not be judged", type(error).__name__, "see `remit doctor`, and report it")
        reply = reply_to_failure(agent, arguments.event, failed)
    return deliver(reply)


def _answer(arguments: argparse.Namespace) -> Reply:
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    with opened_once() as opener:
        return event_door(arguments, opener).answer(data)


def event_door(arguments: argparse.Namespace, opener: Opener) -> Door:
    """Returns the door that answers the events of the named agent."""
    return Door(
        agent=AGENTS[arguments.agent],
        environment=os.environ,
        here=os.getcwd(),  # noqa: PTH109  as the system spells it
        remit=remit_program(),
        open_workspace=opener,
        named=arguments.event,
        workspace=None if arguments.workspace == HERE else arguments.workspace.absolute(),
    )


def deliver(reply: Reply) -> int:
    """Prints the reply; returns the exit code, which is 2 and stops the call if nothing can be printed."""
    try:
        sys.stdout.write(reply.out)
        sys.stdout.flush()
        sys.stderr.write(reply.err)
        sys.stderr.flush()
    except OSError:
        return 2
    return reply.code
