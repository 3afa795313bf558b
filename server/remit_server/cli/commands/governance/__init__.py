"""The commands about what may be done and what was done: policy, audit log, budget, and hooked agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import later_modules

if not TYPE_CHECKING:
    __getattr__ = later_modules(__name__)
