"""The program `remit` (CLI-19): what an agent waits for before each of its calls goes to the process that stays.

Anything else is the command line's. Imports next to nothing.
"""

from __future__ import annotations

import sys
from typing import NoReturn


def enter() -> NoReturn:
    """Runs the process's command line, and exits."""
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-"):
        from remit_server.hooks.client import answer_fast

        answer_fast(words[1])
    from remit_server.cli.main import enter as enter_command_line

    enter_command_line()
