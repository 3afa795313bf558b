"""The program `remit` (CLI-19): asks the resident process for `remit hook`, which an agent waits for before each call.

Anything else goes to the command line. Imports next to nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` is most of what would be imported here
if TYPE_CHECKING:
    from typing import NoReturn


def enter() -> NoReturn:
    """Runs the process's command line, and exits."""
    match sys.argv[1:]:
        case ["hook", agent]:
            _answer(agent, "")
        case ["hook", agent, "--event", event]:
            _answer(agent, event)
        case _:
            pass
    from remit_server.cli.main import enter as enter_command_line

    enter_command_line()


def _answer(agent: str, event: str) -> None:
    from remit_server.hooks.resident.client import answer_fast

    answer_fast(agent, event)
