"""Policy that lives while the server runs: files that change on disk are put in force, and the editor is told
(governance.md §2, Changing policy)."""

from __future__ import annotations

import asyncio
import importlib
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.lsp.features.policy_files import settings_here

if TYPE_CHECKING:  # slow to import
    from remit_server.lsp.server import RemitServer
    from remit_server.runtime.ports import Notice

logger = logging.getLogger(__name__)


async def watch_policy(ls: RemitServer) -> None:
    """Follow the policy's files until cancelled."""
    await asyncio.to_thread(importlib.import_module, "remit_server.runtime.reloading")
    from remit_server.runtime.reloading import policy_changes

    settings = settings_here(ls.root) if ls.root is not None else None
    if settings is None:
        return
    told: Notice | None = None
    async with aclosing(policy_changes(settings)) as changes:
        async for _ in changes:
            notice = await _reloaded(ls)
            if notice is not None and (notice.good or notice != told):
                _tell(ls, notice)
            told = notice or told


async def _reloaded(ls: RemitServer) -> Notice | None:
    """What came of it. A runtime that nobody has needed yet will read the files itself; one that could not be opened
    is opened now, if it can be."""
    from remit_server.errors import RemitError
    from remit_server.runtime.ports import Notice

    before = ls.runtime_state
    if before == "unopened":
        return None
    try:
        runtime = await ls.runtime()
        notice = await runtime.reload_policy()
    except RemitError as error:
        return Notice(good=False, message=f"{error.what}: {error.why}; {error.fix}")
    if before == "failed":
        return notice or Notice(good=True, message="the policy can be used again, and is in force")
    return notice


def _tell(ls: RemitServer, notice: Notice) -> None:
    kind = lsp.MessageType.Info if notice.good else lsp.MessageType.Error
    ls.window_show_message(lsp.ShowMessageParams(type=kind, message=notice.message))
