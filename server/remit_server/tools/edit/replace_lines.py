"""`replace_lines`: replaces lines of a file that was read, by their numbers (TOOL-10).

It is for models that cannot spell a text exactly: they read numbered lines, and name the numbers.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.tools.edit.edit_file import edit_refusal
from remit_server.tools.files.read_source import read_source, was_read, with_one_mark
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Tool, ToolContext, WritePlan, always
from remit_server.tools.targets import path_targets
from remit_server.workspace.content.files import MAX_FILE_BYTES
from remit_server.workspace.content.text import plain
from remit_server.workspace.paths.workspace_path import WorkspacePath

_MOST_LINES = 100_000_000


class ReplaceLinesArguments(Arguments):
    """Arguments of `replace_lines`."""

    path: str = Field(max_length=4096, description="path of the file, relative to the workspace")
    first_line: int = Field(ge=1, le=_MOST_LINES, description="first line to replace, as read_file numbers them")
    last_line: int = Field(ge=0, le=_MOST_LINES, description="last line to replace; first_line - 1 to insert before it")
    new_text: str = Field(max_length=MAX_FILE_BYTES, description="the lines in their place; empty to remove them")

    @model_validator(mode="after")
    def _is_a_range(self) -> ReplaceLinesArguments:
        if self.last_line < self.first_line - 1:
            raise ValueError("last_line is before first_line")
        return self


def replace_lines(path: WorkspacePath, content: str, arguments: ReplaceLinesArguments) -> str:
    """Returns the new content. Raises ToolError if the file has fewer lines, or if nothing changes."""
    lines = content.split("\n")
    ends_open = lines[-1] != ""
    held = lines if ends_open else lines[:-1]
    first, last = arguments.first_line, arguments.last_line
    if last > len(held) or first > len(held) + 1:
        why = f"it has {len(held)} lines, so there is no line {max(first, last)}"
        raise edit_refusal(path, ErrorCode.INVALID_ARGUMENTS, why, "read the file again")
    new = plain(arguments.new_text)
    put = new.removesuffix("\n").split("\n") if new else []
    made = [*held[: first - 1], *put, *held[last:]]
    after = "\n".join(made) + ("\n" if made and not ends_open else "")
    if after == content:
        raise edit_refusal(
            path, ErrorCode.INVALID_ARGUMENTS, "the file already has exactly these lines", "say what should change"
        )
    if len(after) > MAX_FILE_BYTES:
        raise edit_refusal(
            path, ErrorCode.TOO_LARGE, f"it would become larger than {MAX_FILE_BYTES} bytes", "change less"
        )
    return after


async def _prepare(arguments: ReplaceLinesArguments, ctx: ToolContext) -> Plan:
    path = ctx.resolve(arguments.path)
    source = read_source(path, ctx)
    if not was_read(path, source.image, ctx):
        # If the file has changed since it was read, a number means another line.
        why = "it was not read, or has changed since"
        raise edit_refusal(path, ErrorCode.STALE, why, "read it with read_file, and name the lines again")
    content = replace_lines(path, source.text.content, arguments)
    after = source.text.encode(with_one_mark(source.text, content))
    line = f"edited {path.relative}: {_told(arguments)}"
    return WritePlan(
        changes=(FileChange(path, source.image, after),),
        outcome=Outcome(
            text=f"{line}; read it again before you name lines",
            summary=line,
            data={"path": path.relative, "first_line": arguments.first_line, "last_line": arguments.last_line},
        ),
    )


def _told(arguments: ReplaceLinesArguments) -> str:
    first, last = arguments.first_line, arguments.last_line
    if last < first:
        return f"lines put in before line {first}"
    return f"line {first} replaced" if first == last else f"lines {first} to {last} replaced"


REPLACE_LINES = Tool(
    name="replace_lines",
    summary="Replace lines of a file by their numbers. Read the file first.",
    effect=Effect.WRITE,
    arguments=ReplaceLinesArguments,
    targets=path_targets("fs.read", "fs.write"),
    prepare=_prepare,
    file_argument="path",
    sees_collected=always,
    past="edited",
    if_named=True,
)
