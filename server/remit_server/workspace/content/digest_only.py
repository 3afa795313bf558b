"""Reads the digest of files that are moved or removed unchanged, without their bytes (`delete_file`; FILE-02)."""

from __future__ import annotations

import os
import stat

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.files import MAX_FILE_BYTES, FileImage, image_at, stale_file
from remit_server.workspace.content.open_files import digest_at
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

MAX_KNOWN_BYTES = 1024 * 1024 * 1024
"""The size limit of a file that is moved or removed unchanged: all of it is read for its digest, three times in all."""


def image_by_digest(workspace: Workspace, path: WorkspacePath) -> FileImage:
    """Returns the image of a file of any size up to the limit, with its digest; a large one's bytes are not held.

    Raises ToolError as `read_image` does, `too_large` only past MAX_KNOWN_BYTES, `stale` where it grows meanwhile.
    """
    fd = workspace.open_read(path)
    try:
        status = os.fstat(fd)
        if status.st_size <= MAX_FILE_BYTES:
            return image_at(fd, path)
        if status.st_size > MAX_KNOWN_BYTES:
            raise ToolError(
                f"cannot touch `{path.relative}`",
                f"it is larger than {MAX_KNOWN_BYTES} bytes, which is too much to make sure of before it goes",
                "ask the person to do it",
                code=ErrorCode.TOO_LARGE,
            )
        digest = digest_at(fd, status.st_size)
    finally:
        os.close(fd)
    if digest is None:
        raise stale_file(path, "it has grown")
    return FileImage(b"", digest, stat.S_IMODE(status.st_mode), status.st_nlink, left_out=status.st_size)
