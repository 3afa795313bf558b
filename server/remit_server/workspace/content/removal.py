"""Removes and moves files only as they were judged: the same contents, from and to the same place (FILE-02)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from remit_server.machine.descriptors import closing_fd
from remit_server.workspace.content.files import (
    FileImage,
    explain_error,
    missing_folders,
    must_hold,
    remove_empty,
    stale_file,
)
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath, sync_folder


def remove_file(workspace: Workspace, path: WorkspacePath, before: FileImage) -> None:
    """Removes the file if it still holds `before`, and returns once that is on disk. Raises ToolError (`stale`,
    `read_only`).
    """
    with _folder(workspace, path) as folder:
        must_hold(folder, path, before)
        os.unlink(path.names[-1], dir_fd=folder)
        sync_folder(folder)


def move_file(workspace: Workspace, source: WorkspacePath, before: FileImage, target: WorkspacePath) -> None:
    """Moves the file if it still holds `before` and the target does not exist. Missing folders are made.

    Raises ToolError (`stale`, `read_only`); the file is then where it was.
    """
    with contextlib.ExitStack() as undo, _folder(workspace, source) as here:
        undo.callback(remove_empty, workspace, missing_folders(target))
        must_hold(here, source, before)
        with _translate_errors(target), closing_fd(workspace.make_folder(target.parent)) as there:
            _rename(here, source, there, target)
        undo.pop_all()


def change_folder(workspace: Workspace, path: WorkspacePath, *, made: bool) -> bool:
    """Makes the folder, or removes it if it is empty; returns whether the folder is then as wanted.

    Raises ToolError if something else is where the folder should be made.
    """
    if not made:
        remove_empty(workspace, (path,))
        return not os.path.lexists(path.absolute)
    with _translate_errors(path):
        os.close(workspace.make_folder(path))
    return True


def _rename(here: int, source: WorkspacePath, there: int, target: WorkspacePath) -> None:
    """Moves by a second hard link: unlike a rename, it never replaces an existing file."""
    old, new = source.names[-1], target.names[-1]
    try:
        os.link(old, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)
    except FileExistsError as error:
        raise stale_file(target, "a file of that name has appeared") from error
    sync_folder(there)
    os.unlink(old, dir_fd=here)
    sync_folder(here)


@contextlib.contextmanager
def _folder(workspace: Workspace, path: WorkspacePath) -> Generator[int]:
    with closing_fd(workspace.open_folder(path.parent)) as folder, _translate_errors(path):
        yield folder


@contextlib.contextmanager
def _translate_errors(path: WorkspacePath) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise explain_error(path, error) from error
