"""`remit stdio`: turns for scripts, as JSON lines on standard input and output (CLI-01)."""

from __future__ import annotations

import argparse

from remit_server.cli.usage import add_serving_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_serving_arguments(parser, "by `approval_required` events")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the input ends, `shutdown`, SIGINT or SIGTERM."""
    from remit_server.runtime.settings import Settings, existing_folder
    from remit_server.transports.stdio.main import serve

    workspace = existing_folder(arguments.workspace)
    return serve(lambda: Settings.from_environment(workspace, model=arguments.model), arguments.approve)
