"""`remit serve`: the language server on stdin and stdout."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--tcp", metavar="HOST:PORT", help="for debugging: serve one client on a loopback address")
    where.add_argument("--stdio", action="store_true", help="the default; accepted because editors pass it")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the client sends `exit` or is gone."""
    from remit_server.transports.lsp.main import serve

    if arguments.tcp is None:
        return serve()
    from remit_server.cli.usage import WrongUsage
    from remit_server.errors import SetupError, os_reason

    try:
        return serve(arguments.tcp)
    except SetupError as error:
        raise WrongUsage(error.what, error.why, error.fix) from error
    except OSError as error:
        fix = "choose another port, or 0 for any free port"
        raise SetupError(f"cannot listen on `{arguments.tcp}`", os_reason(error), fix) from error
