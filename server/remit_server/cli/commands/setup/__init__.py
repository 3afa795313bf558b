"""The commands that set Remit up and check it: configuration, sandbox, the whole machine, the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import later_modules

if not TYPE_CHECKING:
    __getattr__ = later_modules(__name__)
