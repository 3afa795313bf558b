"""`delete_file`: removes one file, if it is still as it was when the person saw it (TOOL-04)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.files.read_source import going_image, require_no_link
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Tool, ToolContext, WritePlan
from remit_server.tools.targets import path_targets


class DeleteFileArguments(Arguments):
    """Arguments of `delete_file`."""

    path: str = Field(max_length=4096, description="path of the file, relative to the workspace")


async def _prepare(arguments: DeleteFileArguments, ctx: ToolContext) -> Plan:
    path = ctx.resolve(arguments.path)
    require_no_link(arguments.path, path, ctx)
    image = await going_image(path, ctx)
    if not image.mode & 0o222:
        raise ToolError(
            f"cannot delete `{path.relative}`",
            "the file is marked read-only",
            "make it writable (`chmod u+w`)",
            code=ErrorCode.READ_ONLY,
        )
    line = f"deleted {path.relative}, {image.size} bytes"
    return WritePlan(
        changes=(FileChange(path, image, None),),
        outcome=Outcome(line, line, {"path": path.relative, "bytes_removed": image.size, "digest": image.digest}),
    )


DELETE_FILE = Tool(
    name="delete_file",
    summary="Delete one file.",
    effect=Effect.WRITE,
    arguments=DeleteFileArguments,
    targets=path_targets("fs.write"),
    prepare=_prepare,
    file_argument="path",
    most_chars=6_000,
    past="deleted",
    drop_rank=10,
)
