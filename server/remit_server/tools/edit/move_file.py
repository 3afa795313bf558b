"""`move_file`: gives one file another path, where nothing exists yet; its bytes stay (TOOL-04)."""

from __future__ import annotations

import os

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.files.read_source import going_image, require_no_link
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Target, Tool, ToolContext, WritePlan
from remit_server.workspace.paths.workspace_path import WorkspacePath


class MoveFileArguments(Arguments):
    """Arguments of `move_file`."""

    path: str = Field(max_length=4096, description="path of the file, relative to the workspace")
    new_path: str = Field(max_length=4096, description="its new path; the folders on the way are made")


def _targets(arguments: MoveFileArguments, ctx: ToolContext) -> tuple[Target, ...]:
    source, target = ctx.resolve(arguments.path), ctx.resolve(arguments.new_path)
    # A move needs the right to read the file, because it may bring the file to where reading is allowed.
    return (Target("fs.read", source), Target("fs.write", source), Target("fs.write", target))


async def _prepare(arguments: MoveFileArguments, ctx: ToolContext) -> Plan:
    source, target = ctx.resolve(arguments.path), ctx.resolve(arguments.new_path)
    require_no_link(arguments.path, source, ctx)
    require_no_link(arguments.new_path, target, ctx)
    image = await going_image(source, ctx)
    _must_be_free(source, target)
    line = f"moved {source.relative} to {target.relative}"
    return WritePlan(
        changes=(FileChange(target, image, image.data, moved_from=source),),
        outcome=Outcome(line, line, {"path": source.relative, "new_path": target.relative, "digest": image.digest}),
    )


def _must_be_free(source: WorkspacePath, target: WorkspacePath) -> None:
    if os.path.lexists(target.absolute):
        raise ToolError(
            f"cannot move `{source.relative}` to `{target.relative}`",
            "that path already exists",
            "give a free path, with the file's name; or delete what is there first",
            code=ErrorCode.INVALID_ARGUMENTS,
        )


MOVE_FILE = Tool(
    name="move_file",
    summary="Move or rename one file. Other files that name it are not changed.",
    effect=Effect.WRITE,
    arguments=MoveFileArguments,
    targets=_targets,
    prepare=_prepare,
    file_argument="path",
    new_file_argument="new_path",
    most_chars=6_000,
    past="moved",
    drop_rank=7,
)
