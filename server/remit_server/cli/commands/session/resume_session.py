"""`remit session resume`: a chat that goes on with a session; `remit ask --resume` is one turn of it."""

from __future__ import annotations

import argparse

from remit_server.cli.approval import can_ask
from remit_server.cli.commands.session.chosen import add_session
from remit_server.cli.trust import settle_trust
from remit_server.cli.usage import WrongUsage
from remit_server.runtime.settings import Settings, existing_folder
from remit_server.sessions.folder import SessionFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser)


def run(arguments: argparse.Namespace) -> int:
    """Opens the chat in the session."""
    from remit_server.cli.commands.ask import chat_here  # what runs a turn

    if arguments.json:
        raise WrongUsage("a chat has no JSON", "it is for people", "use `remit --resume 2 --json PROMPT`")

    if can_ask():
        settle_trust(existing_folder(arguments.workspace))

    def read() -> Settings:
        return Settings.from_environment(arguments.workspace)

    return chat_here(read, SessionFolder(read().session_folder).find(arguments.session).session_id)
