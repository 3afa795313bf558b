"""The commands that serve an editor, a program, another agent or a queue until they are ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import later_modules

if not TYPE_CHECKING:
    __getattr__ = later_modules(__name__)
