"""A repository's objects, read so that nothing among them makes us wait or takes all memory (threats.md, Paths)."""

from __future__ import annotations

import os
import stat

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.files import MAX_FILE_BYTES
from remit_server.workspace.git_folder import inside
from remit_server.workspace.paths import Workspace

_PACKED = ("objects/pack", "objects/info", "objects/info/commit-graphs")


class Objects(DiskObjectStore):
    """Opens files only: reading a FIFO waits until somebody writes to it, which may be never."""

    def _get_loose_object(self, sha: ObjectID) -> ShaFile | None:
        if not _is_file(self._get_shafile_path(sha)):
            return None
        return super()._get_loose_object(sha)


def objects_of(workspace: Workspace) -> Objects:
    """The objects of the workspace's repository. Raises ToolError where what should be a file of them is none."""
    for name in _PACKED:
        try:
            folder = workspace.open_folder(inside(workspace, name))
        except ToolError as error:
            if error.code is ErrorCode.NOT_FOUND:
                continue
            raise
        try:
            names = os.listdir(folder)  # noqa: PTH208  by its descriptor
            odd = [each for each in names if not _is_file(each, folder) and each != "commit-graphs"]
        finally:
            os.close(folder)
        if odd:
            raise ToolError(
                "cannot commit", f"`.git/{name}/{odd[0]}` is no file", "look at the repository with `git fsck`"
            )
    return Objects(inside(workspace, "objects").absolute, loose_object_size_limit=MAX_FILE_BYTES * 4)


def _is_file(name: str, folder: int | None = None) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
