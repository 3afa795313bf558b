"""The commands about what the agent works with: models and their keys, tools, MCP servers, plugins, skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.later import later_modules

if not TYPE_CHECKING:
    __getattr__ = later_modules(__name__)
