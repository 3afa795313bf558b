"""The changes that a file's patch comes to: all that the diff says of it, or a refusal (`apply_diff`; TOOL-05)."""

from __future__ import annotations

import os

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.edit.patch.edited import diff_refusal, edit_image
from remit_server.tools.edit.patch.parts import FilePatch
from remit_server.tools.files.read_source import current_image, read_saved_image, require_no_link
from remit_server.tools.spec import FileChange, ToolContext
from remit_server.workspace.content.files import FileImage, is_executable
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath

Planned = tuple[list[FileChange], list[str]]
"""Changes, and what is reported of them."""


def changes_of(patch: FilePatch, ctx: ToolContext) -> Planned:
    """What the patch comes to, with a line about each thing done and each hunk. Raises ToolError."""
    for name in filter(None, (patch.old, patch.new)):
        require_no_link(name, ctx.resolve(name), ctx)
    if patch.old is None:
        return _plan_creation(patch, ctx)
    source = ctx.resolve(patch.old)
    if patch.new is None:
        return _plan_removal(patch, source, ctx)
    if patch.new == patch.old:
        return _plan_change(patch, source, ctx)
    return _plan_move(patch, source, ctx)


def _plan_creation(patch: FilePatch, ctx: ToolContext) -> Planned:
    path = _free(patch, ctx)
    if any(hunk.old for hunk in patch.hunks):
        raise diff_refusal(
            patch, "the diff makes a new file, yet it has lines that should be there", "use `--- a/path`"
        )
    new = [line for hunk in patch.hunks for line in hunk.new]
    ended = not patch.hunks or patch.hunks[-1].ended[1] is not False
    content = "\n".join(new) + ("\n" if new and ended else "")
    change = FileChange(path, None, Text("").encode(content), executable=patch.executable)
    return [change], [f"{path.relative}: created, {len(new)} lines{', executable' if patch.executable else ''}"]


def _plan_removal(patch: FilePatch, source: WorkspacePath, ctx: ToolContext) -> Planned:
    image = read_saved_image(source, ctx)
    if patch.whole:
        return [FileChange(source, image, None)], [f"{patch.old}: deleted"]
    left = edit_image(patch, image, ctx.redact)[0] if patch.hunks else image.data
    if left and (not patch.hunks or Text.decode(left, source.relative).content):
        raise diff_refusal(patch, "the diff removes the file, but not all of its lines", "use delete_file")
    return [FileChange(source, image, None)], [f"{patch.old}: deleted"]


def _plan_change(patch: FilePatch, source: WorkspacePath, ctx: ToolContext) -> Planned:
    if patch.executable is not None and ctx.documents.get(source.relative) is not None:
        raise diff_refusal(
            patch, "its mode changes, and it is open in the editor", "close it there first", ErrorCode.STALE
        )
    image = current_image(source, ctx)
    after, lines = edit_image(patch, image, ctx.redact) if patch.hunks else (image.data, [])
    if after == image.data and patch.executable is None:
        raise diff_refusal(patch, "it holds exactly this already", "leave it out of the diff")
    return [FileChange(source, image, after, executable=patch.executable)], [*_mode_lines(patch, image), *lines]


def _plan_move(patch: FilePatch, source: WorkspacePath, ctx: ToolContext) -> Planned:
    target, image = _free(patch, ctx), read_saved_image(source, ctx)
    report = [f"{patch.old}: {'copied' if patch.copied else 'moved'} to {patch.new}", *_mode_lines(patch, image)]
    if not (patch.copied or patch.hunks or patch.executable is not None):
        return [FileChange(target, image, image.data, moved_from=source)], report
    if not image.mode & 0o004:
        why = f"`{patch.old}` is not for everybody (mode {image.mode & 0o777:o}), and a new file would be"
        fix = "use write_file, if others may read it" if patch.copied else "use move_file, then patch it there"
        raise diff_refusal(patch, why, fix)
    after, lines = edit_image(patch, image, ctx.redact) if patch.hunks else (image.data, [])
    runs = is_executable(image.mode) if patch.executable is None else patch.executable
    made = FileChange(target, None, after, executable=runs or None)
    return [made, *([] if patch.copied else [FileChange(source, image, None)])], [*report, *lines]


def _mode_lines(patch: FilePatch, image: FileImage) -> list[str]:
    if patch.executable is None:
        return []
    if patch.executable is is_executable(image.mode):
        why = f"its mode should change, and it is {'' if patch.executable else 'not '}executable already"
        raise diff_refusal(patch, why, "leave out its mode lines")
    return [f"{patch.path}: {'becomes' if patch.executable else 'is no longer'} executable"]


def _free(patch: FilePatch, ctx: ToolContext) -> WorkspacePath:
    path = ctx.resolve(patch.path)
    if os.path.lexists(path.absolute) or path.relative in ctx.made:
        raise diff_refusal(
            patch, "something of that path is there already", "patch it as `--- a/path`, or name another path"
        )
    return path


def must_go_together(changes: list[FileChange]) -> None:
    """What can be seen beforehand to fail half-way, after other files were changed. Raises ToolError."""
    touched = [path.relative for change in changes for path, _, _ in change.touched]
    made = {change.path.relative for change in changes if change.after is not None}
    for change in changes:
        path = change.path
        if touched.count(path.relative) > 1 or (change.moved_from and touched.count(change.moved_from.relative) > 1):
            raise _conflict_error(path, "the diff changes it twice", "put all its hunks under one header")
        if change.before is not None and change.moved_from is None and not change.before.mode & 0o222:
            why, fix = "the file is marked read-only", "make it writable (`chmod u+w`)"
            raise _conflict_error(path, why, fix, ErrorCode.READ_ONLY)
        while path.parent.names:
            path = path.parent
            if path.relative in made:
                raise _conflict_error(path, "the diff makes it a file and a folder", "name another path")


def _conflict_error(
    path: WorkspacePath, why: str, fix: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENTS
) -> ToolError:
    return ToolError(f"nothing was changed: cannot patch `{path.relative}`", why, fix, code=code)
