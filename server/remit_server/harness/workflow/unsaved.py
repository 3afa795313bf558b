"""Finds edits that a run of tests could not see, because they are only in the editor until they are saved (FLW-15)."""

from __future__ import annotations

import asyncio

from remit_server.counted import list_some
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.workspace.content.files import read_image
from remit_server.workspace.content.text import Text, plain
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import Documents

MOST_NAMED = 5


async def name_unsaved(ctx: CallContext) -> str:
    """Returns a note that names the open files which differ from those that the tests ran with; empty if none does."""
    documents = ctx.parts.documents
    await documents.look(documents.paths())
    found = await asyncio.to_thread(_find_unsaved, documents, ctx.parts.workspace) if documents.paths() else []
    named = list_some(found, MOST_NAMED)
    return f"the tests ran without what is not saved in the editor: {named}; the person saves it" if found else ""


def _find_unsaved(documents: Documents, workspace: Workspace) -> list[str]:
    return [path for path in sorted(documents.paths()) if _differs(path, documents, workspace)]


def _differs(path: str, documents: Documents, workspace: Workspace) -> bool:
    document = documents.get(path)
    try:
        saved = Text.decode(read_image(workspace, workspace.resolve(path)).data, path).content
    except ToolError:  # there is no such file, or it is not text, so the tests ran without it
        saved = None
    return document is not None and plain(document.text) != saved
