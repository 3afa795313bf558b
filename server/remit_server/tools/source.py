"""What a tool sees of a file: the editor's buffer while it is open there, else the bytes on disk (protocol.md §3)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_server.tools.spec import ToolContext
from remit_server.workspace.files import FileImage, image_of_text, read_image
from remit_server.workspace.paths import WorkspacePath
from remit_server.workspace.text import Text


@dataclass(frozen=True, slots=True)
class Source:
    """A text file at one moment: its bytes, and the same decoded."""

    image: FileImage
    text: Text


def current_image(path: WorkspacePath, ctx: ToolContext) -> FileImage:
    """The bytes that a change of `path` starts from. Raises ToolError (`not_found`, `not_a_file`, `too_large`)."""
    document = ctx.documents.get(path.relative)
    return read_image(ctx.workspace, path) if document is None else image_of_text(document.text)


def read_source(path: WorkspacePath, ctx: ToolContext) -> Source:
    """The text at `path`. Raises ToolError (also `binary_file`)."""
    image = current_image(path, ctx)
    return Source(image, Text.decode(image.data, path.relative))


def was_read(path: WorkspacePath, image: FileImage, ctx: ToolContext) -> bool:
    """Whether this session has read exactly these contents."""
    return ctx.read_digests.get(path.relative) == image.digest
