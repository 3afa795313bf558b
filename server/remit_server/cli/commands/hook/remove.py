"""`remit hook remove AGENT`: takes Remit's entries out of the agent's settings again (HOK-06)."""

from __future__ import annotations

import argparse

from remit_server.cli.commands.hook.change import add_change_arguments, change_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_change_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Changes the file; 3 where nobody said yes."""
    return change_settings(arguments, lambda file, text: file.without_hooks(text), "removed")
