"""Approved changes reach the workspace: through the editor where the file is open, else whole files on disk
(architecture.md, invariant 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange
from remit_server.workspace.files import image_of_text, write_atomically
from remit_server.workspace.paths import Workspace
from remit_server.workspace.ports import Documents
from remit_server.workspace.removal import move_file, remove_file

T = TypeVar("T")


async def merge(
    changes: Iterable[FileChange], workspace: Workspace, documents: Documents, label: str, changed: list[str]
) -> None:
    """Apply the changes in order, adding each path to `changed` once it is.

    Raises ToolError `stale` where a file is no longer what it was when its change was approved. A file is changed
    whole or not at all.
    """
    for change in changes:
        await _merge_one(change, workspace, documents, label)
        changed.extend(path.relative for path, _, _ in change.touched)


async def _merge_one(change: FileChange, workspace: Workspace, documents: Documents, label: str) -> None:
    relative = change.path.relative
    if change.before is not None and change.moved_from is not None:
        await asyncio.to_thread(move_file, workspace, change.moved_from, change.before, change.path)
        return
    if change.after is None:
        assert change.before is not None, f"a file that is not there cannot be removed: {relative}"
        await asyncio.to_thread(remove_file, workspace, change.path, change.before)
        return
    document = documents.get(relative)
    if document is None:
        await asyncio.to_thread(write_atomically, workspace, change.path, change.before, change.after)
        return
    if change.before is None or image_of_text(document.text).digest != change.before.digest:
        raise stale(relative)
    await documents.replace(relative, document, change.after.decode("utf-8"), label)


def stale(what: str) -> ToolError:
    """The refusal of something that changed between its approval and its execution."""
    return ToolError(
        f"`{what}` was left as it is",
        "it changed after this change was prepared",
        "read it again and propose the change anew",
        code=ErrorCode.STALE,
        retryable=True,
    )


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even when cancelled meanwhile, however often, and only then let the cancellation through."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    # The cancellation says how the call ended; what went wrong in the work is its cause.
    raise cancelled from None if task.cancelled() else task.exception()
