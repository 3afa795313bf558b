"""`remit http`: turns over HTTP and WebSocket, and a page, on this machine's own address (CLI-01)."""

from __future__ import annotations

import argparse
from pathlib import Path

from remit_server.cli.usage import add_serving_arguments

PORT = 8765


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_serving_arguments(parser)
    parser.add_argument("--port", type=int, default=PORT, help=f"where to listen; 0 for any free port ({PORT})")


def run(arguments: argparse.Namespace) -> int:
    """Serves until SIGINT or SIGTERM."""
    from remit_server.cli.console import say
    from remit_server.runtime.settings import Settings, existing_folder
    from remit_server.transports.http.main import serve

    def tell(address: str, file: Path) -> None:
        say(f"Remit listens on this machine alone. Open {address}")
        say(f"Programs find the token in {file}")

    workspace = existing_folder(arguments.workspace)
    read = lambda: Settings.from_environment(workspace, model=arguments.model)  # noqa: E731
    return serve(read, arguments.port, tell, asks=arguments.approve == "ask")
