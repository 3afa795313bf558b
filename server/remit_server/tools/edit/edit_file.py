"""`edit_file`: replaces an exact text, either one that is unique or every occurrence (TOOL-04)."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.counted import counted
from remit_server.errors import ToolError
from remit_server.tools.edit.near_miss import explain
from remit_server.tools.edit.occurrences import (
    find_all,
    find_each,
    line_numbers,
    quoted_as,
    replace_at,
    spelled_there,
)
from remit_server.tools.files.read_source import read_source, was_read, with_one_mark
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Tool, ToolContext, WritePlan, always
from remit_server.tools.targets import path_targets
from remit_server.workspace.content.files import MAX_FILE_BYTES, digest_of
from remit_server.workspace.content.text import plain
from remit_server.workspace.paths.workspace_path import WorkspacePath

MAX_WORD_CHARS = 200
_LISTED = 10
_TELLING = 8
"""A new text of at least so many characters is hardly in a file by chance."""


class EditFileArguments(Arguments):
    """Arguments of `edit_file`."""

    path: str = Field(max_length=4096, description="path of the file, relative to the workspace")
    old_text: str = Field(min_length=1, max_length=MAX_FILE_BYTES, description="exact text to replace")
    new_text: str = Field(max_length=MAX_FILE_BYTES, description="text to put in its place")
    replace_all: bool = Field(default=False, description="replace every occurrence; else it has to be unique")
    whole_word: bool = Field(default=False, description="old_text must stand as a whole identifier")
    loosely: bool = Field(default=False, description="spaces within a line and the kind of quotes may differ")
    line: int | None = Field(default=None, ge=1, le=100_000_000, description="only where old_text starts on this line")


def edit_content(
    path: WorkspacePath, content: str, arguments: EditFileArguments, redact: Callable[[str], str]
) -> tuple[str, int]:
    """Returns the new content and the number of replacements. Raises ToolError (`no_match`, `not_unique`, `too_large`).

    The message about a text that does not match quotes the file after `redact`.
    """
    old, new = plain(arguments.old_text), plain(arguments.new_text)
    if old == new:
        raise edit_refusal(
            path, ErrorCode.INVALID_ARGUMENTS, "old_text and new_text are the same", "say what should change"
        )
    if arguments.whole_word and len(old) > MAX_WORD_CHARS:
        # A long text that occurs at many places, almost as a whole word, could take hours to find.
        why = f"old_text is longer than {MAX_WORD_CHARS} characters, too long for an identifier"
        raise edit_refusal(path, ErrorCode.INVALID_ARGUMENTS, why, "leave out whole_word")
    offsets = _find_old(path, content, old, arguments)
    if not offsets and arguments.loosely and (there := spelled_there(content, old)) is not None:
        meant = {"old_text": there, "new_text": quoted_as(there, old, new.lstrip(" \t")), "loosely": False}
        return edit_content(path, content, arguments.model_copy(update=meant), redact)
    if not offsets and len(new.strip()) >= _TELLING and find_each(content, new, whole_word=False, most=1):
        as_word = " as a whole word" if arguments.whole_word else ""
        why = f"old_text does not occur in it{as_word}, but new_text does: this edit may have been made already"
        raise edit_refusal(path, ErrorCode.NO_MATCH, why, "read the file again, or answer")
    if not offsets:
        miss = explain(redact(content), old, whole_word=arguments.whole_word)
        raise edit_refusal(path, ErrorCode.NO_MATCH, f"old_text does not occur in it; {miss.why}", miss.fix)
    if len(offsets) > 1 and not arguments.replace_all:
        times = str(len(offsets)) if len(offsets) <= _LISTED else f"more than {_LISTED}"
        numbers = ", ".join(map(str, line_numbers(content, offsets[:_LISTED])))
        raise edit_refusal(
            path,
            ErrorCode.NOT_UNIQUE,
            f"old_text occurs {times} times, on lines {numbers}{', …' if len(offsets) > _LISTED else ''}",
            "add neighbouring lines to old_text, name the line, or set replace_all",
        )
    # Check the size first, because a small file and a long new_text can make a huge text.
    if len(content) + len(offsets) * (len(new) - len(old)) > MAX_FILE_BYTES:
        raise edit_refusal(
            path, ErrorCode.TOO_LARGE, f"it would become larger than {MAX_FILE_BYTES} bytes", "change less"
        )
    return replace_at(content, offsets, len(old), new), len(offsets)


def _find_old(path: WorkspacePath, content: str, old: str, arguments: EditFileArguments) -> tuple[int, ...]:
    """Returns the offsets of `old`: with `replace_all` all that do not overlap, else the first few, overlaps included,
    to tell whether it is unique.

    Raises ToolError if `old` occurs, but not on the named line.
    """
    whole_word, line = arguments.whole_word, arguments.line
    if arguments.replace_all:
        offsets = find_all(content, old, whole_word=whole_word)
    else:
        start = 0 if line is None else _line_start(content, line)
        offsets = find_each(content, old, whole_word=whole_word, most=_LISTED + 1, start=start)
    if line is None:
        return offsets
    numbers = line_numbers(content, offsets)
    here = tuple(at for at, number in zip(offsets, numbers, strict=True) if number == line)
    if not here and (known := find_each(content, old, whole_word=whole_word, most=_LISTED)):
        elsewhere = ", ".join(map(str, line_numbers(content, known)))
        why = f"old_text does not start on line {line}; it starts on {elsewhere}"
        raise edit_refusal(path, ErrorCode.NO_MATCH, why, "correct `line`, or read the file again")
    return here


def _line_start(content: str, line: int) -> int:
    """Returns where the line, counted from 1, begins; the end of the text if it has fewer lines."""
    at = 0
    for _ in range(line - 1):
        at = content.find("\n", at) + 1
        if not at:
            return len(content)
    return at


def edit_refusal(path: WorkspacePath, code: ErrorCode, why: str, fix: str) -> ToolError:
    """Returns the error for an edit of this file that cannot be made."""
    return ToolError(f"cannot edit `{path.relative}`", why, fix, code=code)


async def _prepare(arguments: EditFileArguments, ctx: ToolContext) -> Plan:
    path = ctx.resolve(arguments.path)
    source = read_source(path, ctx)
    content, count = edit_content(path, source.text.content, arguments, ctx.redact)
    after = source.text.encode(with_one_mark(source.text, content))
    line = f"edited {path.relative}: {counted(count, 'replacement')}"
    return WritePlan(
        changes=(FileChange(path, source.image, after),),
        outcome=Outcome(
            text=line,
            summary=line,
            data={
                "path": path.relative,
                "replacements": count,
                "read_first": was_read(path, source.image, ctx),
                "digest": digest_of(after),
            },
        ),
    )


EDIT_FILE = Tool(
    name="edit_file",
    summary="Replace exact text in a file. Read the file first.",
    effect=Effect.WRITE,
    arguments=EditFileArguments,
    # A message about a text that does not match quotes the file, so an edit is a read too.
    targets=path_targets("fs.read", "fs.write"),
    prepare=_prepare,
    file_argument="path",
    most_chars=8_000,
    sees_collected=always,
    past="edited",
)
