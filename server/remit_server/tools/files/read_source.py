"""Reads the text of a file for a tool: the editor's buffer while the file is open there, else the bytes on disk
(FILE-03)."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.spec import ToolContext
from remit_server.workspace.content.files import FileImage, if_there, image_by_digest, image_of_text, read_image
from remit_server.workspace.content.text import Text, plain
from remit_server.workspace.paths.workspace_path import WorkspacePath

MARK = "\ufeff"
"""A byte order mark as a character, which a decoded text contains only if it was not taken as a mark."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text file at one moment: its bytes, and the same decoded."""

    image: FileImage
    text: Text


def current_image(path: WorkspacePath, ctx: ToolContext) -> FileImage:
    """Returns the bytes that a change of `path` starts from. Raises ToolError (`not_found`, `not_a_file`,
    `too_large`)."""
    document = ctx.documents.get(path.relative)
    return read_image(ctx.workspace, path) if document is None else image_of_text(document.text)


def read_saved_image(path: WorkspacePath, ctx: ToolContext) -> FileImage:
    """Returns the bytes on disk of a file that will go. Raises ToolError, also if the editor holds unsaved changes of
    it."""
    return _as_in_editor(read_image(ctx.workspace, path), path, ctx)


_BETWEEN = r"[\W_]*"


async def going_image(path: WorkspacePath, ctx: ToolContext) -> FileImage:
    """Returns the image of a file that will be moved or removed; of a file too large to be read, only with its digest.

    Raises ToolError as `read_saved_image` does, or if the model may touch only what the person named (MOD-21).
    """
    if ctx.asked is not None and not _is_named(path.relative, ctx.asked):
        why, fix = "the person named no such file", "move or delete only a file that they named; or else answer"
        raise ToolError(f"cannot touch `{path.relative}`", why, fix)
    return _as_in_editor(await asyncio.to_thread(image_by_digest, ctx.workspace, path), path, ctx)


def _is_named(path: str, text: str) -> bool:
    """Returns whether a text has a file's name, with or without its ending: "the old notes" for `old_notes.txt`."""
    name = path.rpartition("/")[2]
    words = re.findall(r"[^\W_]+", name.rpartition(".")[0] or name) or [re.escape(name)]
    return re.search(rf"(?<![^\W_]){_BETWEEN.join(words)}(?![^\W_])", text, re.IGNORECASE) is not None


def _as_in_editor(image: FileImage, path: WorkspacePath, ctx: ToolContext) -> FileImage:
    document = ctx.documents.get(path.relative)
    if document is None:
        return image
    if image.left_out:
        why, fix = (
            "it is open in the editor, and too large to compare with what the editor holds",
            "ask the person to close it first",
        )
    elif plain(document.text) != Text.decode(image.data, path.relative).content:
        why = "it is open in the editor with changes that are not saved"
        fix = "ask the person to save or discard them first"
    else:
        return image
    raise ToolError(f"cannot touch `{path.relative}`", why, fix, code=ErrorCode.STALE)


def require_no_link(text: str, path: WorkspacePath, ctx: ToolContext) -> None:
    """Raises ToolError if `text` names a link to `path`, because either the link or the file could be meant."""
    given = Path(os.path.normpath(ctx.workspace.root / text))
    if given.is_symlink():
        raise ToolError(
            f"cannot touch `{text}`", f"it is a link to `{path.relative}`", "name the file that is meant itself"
        )


def read_source(path: WorkspacePath, ctx: ToolContext) -> Source:
    """Returns the text at `path`. Raises ToolError (also `binary_file`)."""
    image = current_image(path, ctx)
    return Source(image, Text.decode(image.data, path.relative))


def with_one_mark(text: Text, content: str) -> str:
    """Returns `content` without a leading byte order mark if encoding it as `text` adds one anyway."""
    doubled = text.mark and content.startswith(MARK) and not text.content.startswith(MARK)
    return content.removeprefix(MARK) if doubled else content


def was_read(path: WorkspacePath, image: FileImage, ctx: ToolContext) -> bool:
    """Returns whether this session has read exactly these contents."""
    return ctx.read_digests.get(path.relative) == image.digest


def image_if_there(path: WorkspacePath, ctx: ToolContext) -> FileImage | None:
    """Returns a file's image as `current_image` does, or None if there is no file."""
    return if_there(lambda: current_image(path, ctx))
