"""`remit stdio`: turns for scripts, as JSON lines on standard input and output (CLI-01)."""

from __future__ import annotations

import argparse
from pathlib import Path

from remit_server.cli.usage import HERE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--workspace", type=Path, default=HERE, help="the folder to work in (default: the current one)")
    parser.add_argument("--model", help="as `remit ask` takes it (default: the configured model)")
    parser.add_argument(
        "--approve",
        choices=("ask", "never", "session"),
        default="ask",
        help="`ask`: by `approval_required` events (default), `never`: deny without asking, "
        "`session`: say yes to every question",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serves until the input ends, `shutdown`, SIGINT or SIGTERM."""
    from remit_server.runtime.settings import Settings, existing_folder
    from remit_server.transports.stdio.main import serve

    workspace = existing_folder(arguments.workspace)
    return serve(lambda: Settings.from_environment(workspace, model=arguments.model), arguments.approve)
