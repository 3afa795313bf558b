"""`apply_diff`: a unified diff over one or more files, all of it or nothing (agent.md §2)."""

from __future__ import annotations

import os
from collections.abc import Callable

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.near_miss import explain
from remit_server.tools.patch.apply import Failed, Placed, applied, place
from remit_server.tools.patch.parse import FilePatch, parse_diff
from remit_server.tools.source import not_a_link, read_source, saved_image, was_read
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Target, Tool, ToolContext, WritePlan
from remit_server.workspace.files import MAX_FILE_BYTES, digest_of
from remit_server.workspace.paths import WorkspacePath
from remit_server.workspace.text import Text


class ApplyDiffArguments(Arguments):
    """Arguments of `apply_diff`."""

    diff: str = Field(min_length=1, max_length=MAX_FILE_BYTES, description="unified diff, with `--- a/path` headers")


def _targets(arguments: ApplyDiffArguments, ctx: ToolContext) -> tuple[Target, ...]:
    targets: list[Target] = []
    for patch in parse_diff(arguments.diff):
        for name in dict.fromkeys(filter(None, (patch.old, patch.new))):
            path = ctx.resolve(name)
            # What does not fit is explained with the file's own words, so a patch of a file is a read too.
            targets += [Target("fs.read", path)] if patch.old is not None else []
            targets.append(Target("fs.write", path))
    return tuple(targets)


async def _prepare(arguments: ApplyDiffArguments, ctx: ToolContext) -> Plan:
    changes: list[FileChange] = []
    reports: list[str] = []
    read_first = True
    for patch in parse_diff(arguments.diff):
        made, report = _patched(patch, ctx)
        changes += made
        reports += report
        read_first &= all(c.before is None or was_read(c.moved_from or c.path, c.before, ctx) for c in made)
    names = ", ".join(change.path.relative for change in changes)
    return WritePlan(
        changes=tuple(changes),
        outcome=Outcome(
            text="\n".join(reports),
            summary=f"patched {names}",
            data={
                "files": [
                    {"path": c.path.relative, "digest": None if c.after is None else digest_of(c.after)}
                    for c in changes
                ],
                "read_first": read_first,
            },
        ),
    )


def _patched(patch: FilePatch, ctx: ToolContext) -> tuple[list[FileChange], list[str]]:
    """The changes that one file's patch comes to, and a line about each hunk. Raises ToolError."""
    for name in filter(None, (patch.old, patch.new)):
        not_a_link(name, ctx.resolve(name), ctx)
    if patch.old is None:
        return _created(patch, ctx)
    source = ctx.resolve(patch.old)
    if patch.new != patch.old and not patch.hunks and patch.new is not None:
        target = _free(patch, ctx)
        image = saved_image(source, ctx)
        return [FileChange(target, image, image.data, moved_from=source)], [f"{patch.old}: moved to {patch.new}"]
    text = read_source(source, ctx)
    content, lines = _edited(patch, text.text.content, ctx.redact)
    after = text.text.encode(content)
    if patch.new is None:
        if content:
            raise _refused(patch, "the diff removes the file, but not all of its lines", "use delete_file")
        return [FileChange(source, saved_image(source, ctx), None)], [f"{patch.old}: deleted"]
    if patch.new == patch.old:
        return [FileChange(source, text.image, after)], lines
    moved = [FileChange(_free(patch, ctx), None, after), FileChange(source, saved_image(source, ctx), None)]
    return moved, [f"{patch.old}: moved to {patch.new}", *lines]


def _created(patch: FilePatch, ctx: ToolContext) -> tuple[list[FileChange], list[str]]:
    path = _free(patch, ctx)
    if any(hunk.old for hunk in patch.hunks):
        raise _refused(patch, "the diff makes a new file, yet it has lines that should be there", "use `--- a/path`")
    new = [line for hunk in patch.hunks for line in hunk.new]
    ended = not patch.hunks or patch.hunks[-1].ended[1] is not False
    content = "\n".join(new) + ("\n" if new and ended else "")
    return [FileChange(path, None, Text("").encode(content))], [f"{path.relative}: created, {len(new)} lines"]


def _free(patch: FilePatch, ctx: ToolContext) -> WorkspacePath:
    path = ctx.resolve(patch.path)
    if os.path.lexists(path.absolute):
        raise _refused(patch, "a file of that path is there already", "patch it as `--- a/path`, or name another path")
    return path


def _edited(patch: FilePatch, content: str, redact: Callable[[str], str]) -> tuple[str, list[str]]:
    placed = place(content, patch.hunks)
    good = [each for each in placed if isinstance(each, Placed)]
    lines = [f"{patch.path}: {_said(number, each)}" for number, each in enumerate(placed, 1)]
    if len(good) < len(placed):
        failed = next(each for each in placed if isinstance(each, Failed))
        raise _not_placed(patch, failed, lines, content, redact)
    after = applied(content, good)
    if len(after) > MAX_FILE_BYTES:
        raise _refused(patch, f"it would become larger than {MAX_FILE_BYTES} bytes", "change less")
    return after, lines


def _said(number: int, each: Placed | Failed) -> str:
    match each:
        case Placed(start=start, drift=0):
            return f"hunk {number} fits at line {start + 1}"
        case Placed(start=start, drift=drift):
            return f"hunk {number} fits at line {start + 1}, {abs(drift)} lines {'below' if drift > 0 else 'above'}"
        case Failed(trouble="missing"):
            return f"hunk {number} fits nowhere"
        case Failed(trouble="ambiguous", lines=lines):
            return f"hunk {number} fits at lines {', '.join(map(str, lines))}"
        case Failed(lines=lines):
            return f"hunk {number} overlaps another one at line {lines[0]}"


def _not_placed(
    patch: FilePatch, failed: Failed, lines: list[str], content: str, redact: Callable[[str], str]
) -> ToolError:
    said = "; ".join(lines)
    match failed.trouble:
        case "missing" if failed.hunk.old:
            miss = explain(redact(content), "\n".join(failed.hunk.old), whole_word=False)
            return _refused(patch, f"{said}: {miss.why}", miss.fix, ErrorCode.NO_MATCH)
        case "missing":
            return _refused(patch, f"{said}: it has no context", "add lines around it", ErrorCode.NO_MATCH)
        case "ambiguous":
            return _refused(patch, said, "add more lines of context, or the right line number", ErrorCode.NOT_UNIQUE)
        case "overlaps":
            return _refused(patch, said, "put the two into one hunk", ErrorCode.INVALID_ARGUMENTS)


def _refused(patch: FilePatch, why: str, fix: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENTS) -> ToolError:
    return ToolError(f"nothing was changed: cannot patch `{patch.path}`", why, fix, code=code)


APPLY_DIFF = Tool(
    name="apply_diff",
    summary="Apply a unified diff to one or more files, all or nothing. Read the files first.",
    effect=Effect.WRITE,
    arguments=ApplyDiffArguments,
    targets=_targets,
    prepare=_prepare,
)
