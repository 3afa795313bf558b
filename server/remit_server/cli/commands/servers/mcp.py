"""`remit mcp`: Remit's tools for other agents, by the Model Context Protocol (CLI-01)."""

from __future__ import annotations

import argparse
from pathlib import Path

from remit_server.cli.commands.models_and_tools.mcp_servers import SERVERS
from remit_server.cli.usage import HERE, Subcommands

PORT = 8766
_SERVERS = Subcommands(SERVERS, title="servers whose tools Remit's own agent calls")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    _SERVERS.add_arguments(parser)
    parser.add_argument("--workspace", type=Path, default=HERE, help="the folder to work in (default: the current one)")
    parser.add_argument("--http", action="store_true", help="serve over HTTP on this machine, not on stdin and stdout")
    parser.add_argument("--port", type=int, default=PORT, help=f"the port for `--http`; 0 for any free port ({PORT})")
    parser.add_argument(
        "--approve", choices=("ask", "never"), default="ask", help="`never`: deny without asking (default: `ask`)"
    )
    parser.add_argument("--turns", action="store_true", help="also take whole requests for Remit's own agent")
    parser.add_argument("--model", help="the model of that agent, as `remit ask` takes it")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the input ends, SIGINT or SIGTERM; or manages the servers whose tools Remit calls."""
    if hasattr(arguments, "subcommand"):
        return _SERVERS.run(arguments)
    from remit_server.cli.console import say
    from remit_server.runtime.settings import Settings, existing_folder
    from remit_server.transports.mcp.main import McpOffer, serve_http, serve_pipe

    def tell(address: str, file: Path) -> None:
        say(f"Remit listens on this machine alone, at {address}")
        say(f"Clients find the token in {file}")

    workspace = existing_folder(arguments.workspace)
    read = lambda: Settings.from_environment(workspace, model=arguments.model)  # noqa: E731
    offer = McpOffer(read, asks=arguments.approve == "ask", turns=arguments.turns)
    return serve_http(offer, arguments.port, tell) if arguments.http else serve_pipe(offer)
