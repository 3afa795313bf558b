"""`read_file`: returns numbered lines of a text file, a part at a time (TOOL-03)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine.descriptors import closing_fd
from remit_server.tools.files.long_files import pieces_of
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Tool, ToolContext, always
from remit_server.tools.targets import path_targets
from remit_server.workspace.content.files import MAX_FILE_BYTES, FileImage, image_at, image_of_text
from remit_server.workspace.content.open_files import digest_at
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath

MAX_LINE_CHARS = 2_000
MOST_CHARS = 40_000

# The result is redacted once more, which may make it longer.
_ROOM_CHARS = 1_000


class ReadFileArguments(Arguments):
    """Arguments of `read_file`."""

    path: str = Field(max_length=4096, description="path of the file, relative to the workspace")
    offset: int = Field(default=1, ge=1, le=100_000_000, description="first line to read")
    limit: int = Field(default=500, ge=1, le=5_000, description="how many lines to read")


def read_lines(path: WorkspacePath, ctx: ToolContext, offset: int, limit: int) -> Outcome:
    """Returns up to `limit` lines from line `offset` (from 1). Raises ToolError if there is no such line, file or
    text."""
    view = _view(path, ctx, offset, limit)
    total = view.total
    if offset > max(total, 1):
        raise ToolError(
            f"cannot read `{path.relative}` from line {offset}",
            f"it has {total} lines",
            f"use an offset from 1 to {max(total, 1)}",
        )
    room = MOST_CHARS if ctx.room_chars is None else min(MOST_CHARS, ctx.room_chars)
    shown = _fitting(view.lines, offset, room - min(_ROOM_CHARS, room // 4) - len(path.relative))
    last = offset + len(shown) - 1
    span = f"lines {offset}-{last} of {total}" if total else "empty"
    more = f"; more with offset {last + 1}" if last < total else ""
    return Outcome(
        text="\n".join([f"{path.relative} ({span}{more}{_encoding_note(view.encoding)})", *shown]),
        summary=f"read {path.relative}, {span}",
        data={
            "path": path.relative,
            "first_line": offset,
            "last_line": last,
            "total_lines": total,
            "truncated": last < total,
            "digest": view.digest,
            "encoding": view.encoding,
        },
    )


@dataclass(frozen=True, slots=True)
class _View:
    """Some lines of a text without secrets, the number of all lines, and the digest and encoding of the text."""

    lines: list[str]
    total: int
    digest: str
    encoding: str


def _view(path: WorkspacePath, ctx: ToolContext, offset: int, limit: int) -> _View:
    """Returns up to `limit` lines from line `offset`. Raises ToolError as `read_source` does."""
    if (document := ctx.documents.get(path.relative)) is not None:
        return _short(image_of_text(document.text), path, ctx, offset, limit)
    with closing_fd(ctx.workspace.open_read(path)) as fd:
        if os.fstat(fd).st_size <= MAX_FILE_BYTES:
            return _short(image_at(fd, path), path, ctx, offset, limit)
        return _long(fd, path, ctx, offset, limit)


def _short(image: FileImage, path: WorkspacePath, ctx: ToolContext, offset: int, limit: int) -> _View:
    text = Text.decode(image.data, path.relative)
    lines = Text(ctx.redact(text.content)).lines
    return _View(lines[offset - 1 : offset - 1 + limit], len(lines), image.digest, text.encoding)


def _long(fd: int, path: WorkspacePath, ctx: ToolContext, offset: int, limit: int) -> _View:
    """Returns the view of a long file. Reads it in pieces, and redacts only those with the requested lines."""
    before = os.fstat(fd)
    digest = digest_at(fd, before.st_size)
    os.lseek(fd, 0, os.SEEK_SET)
    lines: list[str] = []
    total, encoding = 0, ""
    for piece in pieces_of(fd, path.relative):
        own = piece.own
        first, end = (max(at - piece.first, 0) for at in (offset, offset + limit))
        if first < len(own) and end > 0:
            lines += ctx.redact(piece.text).split("\n")[own.start - 1 : own.stop - 1][first:end]
        total, encoding = piece.first - 1 + len(own), piece.encoding
    now = os.fstat(fd)
    if digest is None or (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise ToolError(
            f"cannot read `{path.relative}`", "it changed while it was read", "try again", code=ErrorCode.STALE
        )
    return _View(lines, total, digest, encoding)


def _encoding_note(encoding: str) -> str:
    """Returns a note on the encoding. Without a byte order mark, text that is not UTF-8 may have been decoded
    wrongly."""
    if encoding == "utf-8":
        return ""
    return f"; in {encoding}" if encoding.startswith("utf-") else f"; not UTF-8, read as {encoding}, which is a guess"


def _fitting(lines: list[str], first: int, room: int) -> list[str]:
    """Returns as many of the numbered lines as fit into `room` characters, but at least one."""
    shown: list[str] = []
    for number, line in enumerate(lines, first):
        cut = len(line) - MAX_LINE_CHARS
        text = f"{number}|{line}" if cut <= 0 else f"{number}|{line[:MAX_LINE_CHARS]}… ({cut} more characters)"
        room -= len(text) + 1
        if room < 0 and shown:
            break
        shown.append(text)
    return shown


async def _prepare(arguments: ReadFileArguments, ctx: ToolContext) -> Plan:
    path = ctx.resolve(arguments.path)

    async def run() -> Outcome:
        return read_lines(path, ctx, arguments.offset, arguments.limit)

    return ReadPlan(run)


READ_FILE = Tool(
    name="read_file",
    summary="Read a text file, with line numbers. Use it before editing a file.",
    effect=Effect.READ,
    arguments=ReadFileArguments,
    targets=path_targets("fs.read"),
    prepare=_prepare,
    file_argument="path",
    only_resolves=True,
    most_chars=MOST_CHARS,
    sees_collected=always,
)
