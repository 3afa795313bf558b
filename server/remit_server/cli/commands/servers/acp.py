"""`remit acp`: Remit for editors that speak the Agent Client Protocol, on standard input and output (CLI-01)."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--model", help="as `remit ask` takes it (default: the configured model)")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the input ends, SIGINT or SIGTERM."""
    from remit_server.runtime.settings import Settings
    from remit_server.transports.acp.main import serve

    return serve(lambda folder: Settings.from_environment(folder, model=arguments.model))
