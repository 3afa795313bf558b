"""`remit serve`: the language server on stdin and stdout."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--tcp", metavar="HOST:PORT", help="for debugging: one client, on a loopback address only")
    parser.add_argument("--stdio", action="store_true", help="the default; accepted because editors pass it")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client says exit, or is gone."""
    from remit_server.lsp.main import serve

    return serve(arguments.tcp)
