"""One file of the workspace as tree-sitter sees it, in bounded time; the editor's buffer while it is open there."""

from __future__ import annotations

from collections.abc import Callable

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.code.index.tags import MAX_SOURCE_BYTES, TagCache, Tags
from remit_server.tools.spec import ToolContext
from remit_server.workspace.content.files import image_of_text, read_image
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath
from remit_server.workspace.trees.walk import Limits

MAX_FILE_SECONDS = 1.0
REMEMBERED = TagCache()


def tags_of(ctx: ToolContext, relative: str, language: str, limits: Limits, cache: TagCache = REMEMBERED) -> Tags:
    """What a file defines and uses; it is read only where it changed since: nothing is watched, so nothing is missed.

    Raises ToolError, UnicodeEncodeError, and TimeoutError where it takes too long.
    """

    def found() -> Tags:
        return cache.tags(source_of(ctx, relative).encode(), language, _a_while(limits))

    if ctx.documents.get(relative) is not None:
        return found()
    try:
        # Taken before the file is read: what changes meanwhile has another stamp the next time.
        status = ctx.workspace.root.joinpath(relative).lstat()
    except OSError:
        return found()
    return cache.of_file(status, language, found)


def _a_while(limits: Limits) -> Callable[[], bool]:
    """Whether one file has taken too long, or all of them: some texts take a parser or a query very long."""
    own = Limits(seconds=MAX_FILE_SECONDS)
    return lambda: limits.spent() or own.spent()


def source_of(ctx: ToolContext, relative: str) -> str:
    """The text of a file, which the editor may hold. Raises ToolError, also where it is too large to be worth it."""
    document = ctx.documents.get(relative)
    if document is None:
        path = WorkspacePath(relative, ctx.workspace.root)
        return Text.decode(read_image(ctx.workspace, path, MAX_SOURCE_BYTES).data, relative).content
    if len(image_of_text(document.text).data) > MAX_SOURCE_BYTES:
        what, why = f"cannot map `{relative}`", f"it is larger than {MAX_SOURCE_BYTES} bytes"
        raise ToolError(what, why, "read it in parts", code=ErrorCode.TOO_LARGE)
    return document.text
