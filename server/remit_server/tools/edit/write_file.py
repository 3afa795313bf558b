"""`write_file`: writes a whole file, new or overwritten, with the encoding and line ends that it had (TOOL-04)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import AlreadySo, ToolError
from remit_server.tools.files.read_source import image_if_there, was_read, with_one_mark
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Target, Tool, ToolContext, WritePlan, always
from remit_server.workspace.content.files import MAX_FILE_BYTES, FileImage, digest_of
from remit_server.workspace.content.text import Text, plain
from remit_server.workspace.paths.workspace_path import WorkspacePath


class WriteFileArguments(Arguments):
    """Arguments of `write_file`."""

    path: str = Field(max_length=4096, description="path of the file, relative to the workspace")
    content: str = Field(max_length=MAX_FILE_BYTES, description="the whole new content")


def _targets(arguments: WriteFileArguments, ctx: ToolContext) -> tuple[Target, ...]:
    size = len(arguments.content.encode(errors="replace"))
    return (Target("fs.write", ctx.resolve(arguments.path), size=size),)


async def _prepare(arguments: WriteFileArguments, ctx: ToolContext) -> Plan:
    path = ctx.resolve(arguments.path)
    before = image_if_there(path, ctx)
    after = _encode_after(path, before, arguments.content)
    if before is not None and before.data == after:
        raise AlreadySo(f"{path.relative} was not written", "it already holds exactly this", "go on, or answer")
    if ctx.careful and before is not None and before.data and not was_read(path, before, ctx):
        why = "the file exists, and its present contents were not read"
        fix = "read it first; to change a part of it use edit_file"
        raise ToolError(f"cannot write `{path.relative}`", why, fix, code=ErrorCode.STALE)
    return WritePlan(
        changes=(FileChange(path, before, after),),
        outcome=Outcome(
            text=f"wrote {path.relative}: {len(after)} bytes",
            summary=f"{'created' if before is None else 'overwrote'} {path.relative}, {len(after)} bytes",
            data={
                "path": path.relative,
                "bytes_written": len(after),
                "created": before is None,
                "read_first": before is None or was_read(path, before, ctx),
                "digest": digest_of(after),
            },
        ),
    )


def _encode_after(path: WorkspacePath, before: FileImage | None, content: str) -> bytes:
    """Returns the bytes to write. A new file, or one that was no text, gets UTF-8 and the line ends of `content`."""
    text = Text(content)
    if before is not None and before.data:
        try:
            text = Text.decode(before.data, path.relative)
            content = with_one_mark(text, plain(content))
        except ToolError as error:
            if error.code is not ErrorCode.BINARY_FILE:
                raise
    return text.encode(content)


WRITE_FILE = Tool(
    name="write_file",
    summary="Write a whole file; parent folders are made. To change a part of a file use edit_file.",
    effect=Effect.WRITE,
    arguments=WriteFileArguments,
    targets=_targets,
    prepare=_prepare,
    new_file_argument="path",
    most_chars=6_000,
    sees_collected=always,
    past="written",
)
