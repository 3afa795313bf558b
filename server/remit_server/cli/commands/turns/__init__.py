"""The commands that run turns, follow them, and keep them as sessions; calls of one tool too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import later_modules

if not TYPE_CHECKING:
    __getattr__ = later_modules(__name__)
