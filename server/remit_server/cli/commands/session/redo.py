"""`remit session redo`: takes an undo back (SES-05)."""

from __future__ import annotations

import argparse

from remit_server.cli.commands.session import undo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    undo.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Takes the last undo back."""
    return undo.take_back(arguments, "redo")
