"""The server's commands, for editors that do not know Remit; the table is in `lsp/features/execute_command.py`.

A file each for what the agent is asked to do (`agent_commands.py`, with the table in `tasks.py`), chat, sessions,
models, reviews and governance. `command_params.py` parses arguments, and `command_turn.py` runs the turn of a command.
A module is imported when its first command runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import later_modules

if not TYPE_CHECKING:
    __getattr__ = later_modules(__name__)
