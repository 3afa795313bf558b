"""Turns the patch of one file into changes: everything that the diff says about the file, or a refusal (`apply_diff`;
TOOL-05).

Also computes a file's bytes after a patch, and a line about each of its hunks (`apply_diff`; TOOL-05).

Encoding, byte order mark and line ends stay as they were, unless the diff shows them and so changes them on purpose.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.edit.near_miss import explain
from remit_server.tools.edit.patch.apply import Placed, Unplaced, apply_hunks, place
from remit_server.tools.edit.patch.envelope import NO_NEWLINE, FilePatch, Hunk
from remit_server.tools.files.read_source import MARK, current_image, read_saved_image, require_no_link, with_one_mark
from remit_server.tools.spec import FileChange, ToolContext
from remit_server.workspace.content.files import MAX_FILE_BYTES, FileImage, is_executable
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath

Planned = tuple[list[FileChange], list[str]]
"""Changes, and the lines that report them."""


def changes_of(patch: FilePatch, ctx: ToolContext) -> Planned:
    """Returns the changes of a patch, with a line about each of them and each hunk. Raises ToolError."""
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
        raise diff_refusal(patch, "the diff creates a file, but expects lines in it", "use `--- a/path`")
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
            patch, "the diff changes its mode, but it is open in the editor", "close it there first", ErrorCode.STALE
        )
    image = current_image(source, ctx)
    after, lines = edit_image(patch, image, ctx.redact) if patch.hunks else (image.data, [])
    if after == image.data and patch.executable is None:
        raise diff_refusal(patch, "it already holds exactly this", "leave it out of the diff")
    return [FileChange(source, image, after, executable=patch.executable)], [*_mode_lines(patch, image), *lines]


def _plan_move(patch: FilePatch, source: WorkspacePath, ctx: ToolContext) -> Planned:
    target, image = _free(patch, ctx), read_saved_image(source, ctx)
    report = [f"{patch.old}: {'copied' if patch.copied else 'moved'} to {patch.new}", *_mode_lines(patch, image)]
    if not (patch.copied or patch.hunks or patch.executable is not None):
        return [FileChange(target, image, image.data, moved_from=source)], report
    if not image.mode & 0o004:
        why = f"`{patch.old}` cannot be read by others (mode {image.mode & 0o777:o}), but a new file could be"
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
        why = f"its mode lines change nothing: it is already {'' if patch.executable else 'not '}executable"
        raise diff_refusal(patch, why, "leave out its mode lines")
    return [f"{patch.path}: {'becomes' if patch.executable else 'is no longer'} executable"]


def _free(patch: FilePatch, ctx: ToolContext) -> WorkspacePath:
    path = ctx.resolve(patch.path)
    if os.path.lexists(path.absolute) or path.relative in ctx.made:
        raise diff_refusal(patch, "that path already exists", "patch it as `--- a/path`, or name another path")
    return path


def must_go_together(changes: list[FileChange]) -> None:
    """Raises ToolError if the changes could fail half-way, after other files were changed, as far as can be seen
    before."""
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


def edit_image(patch: FilePatch, image: FileImage, redact: Callable[[str], str]) -> tuple[bytes, list[str]]:
    """Returns the bytes after the patch, and a line on where each hunk fits. Raises ToolError if a hunk fits nowhere;
    the message quotes the file after `redact`."""
    text, placed = Text(""), tuple[Placed | Unplaced, ...]()
    for text, hunks in _readings(image.data, patch):
        shown = _shows_mark(text, hunks)
        placed = place(MARK + text.content if shown else text.content, hunks)
        good = [each for each in placed if isinstance(each, Placed)]
        if len(good) == len(placed):
            return _encode(patch, text, good, shown=shown), _lines(patch, placed)
    raise _misplaced_error(patch, placed, text.content, redact)


def diff_refusal(patch: FilePatch, why: str, fix: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENTS) -> ToolError:
    """Returns the refusal of a whole diff because of one of its files."""
    return ToolError(f"nothing was changed: cannot patch `{patch.path}`", why, fix, code=code)


def _readings(data: bytes, patch: FilePatch) -> Iterator[tuple[Text, Sequence[Hunk]]]:
    r"""Yields the ways to read the file and the hunks. If the diff shows line ends (`\r`), they are compared exactly
    first."""
    text = Text.decode(data, patch.path)
    ends = {line.endswith("\r") for hunk in patch.hunks for line in (*hunk.old, *hunk.new)}
    if True in ends:
        raw = data[len(text.mark) :].decode(text.encoding)
        yield Text(raw, text.encoding, text.mark), patch.hunks
    if ends != {True, False}:
        # The diff shows no mix of line ends, so it changes none, and those of the file can stay.
        yield text, [hunk.plain for hunk in patch.hunks]


def _shows_mark(text: Text, hunks: Sequence[Hunk]) -> bool:
    """Returns whether the diff shows the file's byte order mark as the first character of a line, as git does."""
    return bool(text.mark) and any(line.startswith(MARK) for hunk in hunks for line in hunk.old)


def _encode(patch: FilePatch, text: Text, placed: Sequence[Placed], *, shown: bool) -> bytes:
    after = apply_hunks(MARK + text.content if shown else text.content, placed)
    if len(after) > MAX_FILE_BYTES:
        raise diff_refusal(patch, f"it would become larger than {MAX_FILE_BYTES} bytes", "change less")
    if not shown:
        return text.encode(with_one_mark(text, after))
    # A mark that the diff showed and removed is gone, unless the encoding needs it.
    gone = not after.startswith(MARK) and text.encoding == "utf-8"
    return (replace(text, mark=b"") if gone else text).encode(after.removeprefix(MARK))


def _lines(patch: FilePatch, placed: Sequence[Placed | Unplaced]) -> list[str]:
    return [f"{patch.path}: {_describe_placement(number, each)}" for number, each in enumerate(placed, 1)]


def _describe_placement(number: int, each: Placed | Unplaced) -> str:
    match each:
        case Placed(start=start, drift=0):
            return f"hunk {number} fits at line {start + 1}"
        case Placed(start=start, drift=drift):
            return f"hunk {number} fits at line {start + 1}, {abs(drift)} lines {'below' if drift > 0 else 'above'}"
        case Unplaced(trouble="missing"):
            return f"hunk {number} fits nowhere"
        case Unplaced(trouble="ambiguous", lines=lines):
            return f"hunk {number} fits at lines {', '.join(map(str, lines))}"
        case Unplaced(trouble="repetitive"):
            return f"hunk {number} could fit at too many places to compare them all"
        case Unplaced(lines=lines):
            return f"hunk {number} overlaps another one at line {lines[0]}"


def _misplaced_error(
    patch: FilePatch, placed: Sequence[Placed | Unplaced], content: str, redact: Callable[[str], str]
) -> ToolError:
    failed = next(each for each in placed if isinstance(each, Unplaced))
    said = "; ".join(_lines(patch, placed))
    match failed.trouble:
        case "missing" if failed.hunk.at_end and "\n".join(failed.hunk.plain.old) in content:
            why = f"{said}: its last line is not the file's last line, as `{NO_NEWLINE}` says"
            return diff_refusal(patch, why, "leave that line out, or correct the hunk", ErrorCode.NO_MATCH)
        case "missing" if failed.hunk.old:
            miss = explain(redact(content), "\n".join(failed.hunk.old), whole_word=False)
            return diff_refusal(patch, f"{said}: {miss.why}", miss.fix, ErrorCode.NO_MATCH)
        case "missing":
            return diff_refusal(patch, f"{said}: it has no context", "add lines around it", ErrorCode.NO_MATCH)
        case "ambiguous" | "repetitive":
            return diff_refusal(
                patch, said, "add more lines of context, or the right line number", ErrorCode.NOT_UNIQUE
            )
        case "overlaps":
            return diff_refusal(patch, said, "put the two into one hunk", ErrorCode.INVALID_ARGUMENTS)
