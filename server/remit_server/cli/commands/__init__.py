"""The commands of the command line, one thin file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import Later

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Later:
        """Returns a command by its name, which is imported when it is used."""
        if name.startswith("_"):
            raise AttributeError(name)
        return Later(f"{__name__}.{name}")
