"""`apply_diff`: applies a unified diff to one or more files, all of it or nothing (TOOL-05)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_server.tools.edit.patch.changes import changes_of, must_go_together
from remit_server.tools.edit.patch.parse import parse_diff
from remit_server.tools.files.read_source import was_read
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Target, Tool, ToolContext, WritePlan
from remit_server.workspace.content.files import MAX_FILE_BYTES, digest_of


class ApplyDiffArguments(Arguments):
    """Arguments of `apply_diff`."""

    diff: str = Field(min_length=1, max_length=MAX_FILE_BYTES, description="unified diff, with `--- a/path` headers")


def _targets(arguments: ApplyDiffArguments, ctx: ToolContext) -> tuple[Target, ...]:
    targets: list[Target] = []
    for patch in parse_diff(arguments.diff):
        for name in dict.fromkeys(filter(None, (patch.old, patch.new))):
            path = ctx.resolve(name)
            # A message about a patch that does not fit quotes the file, so a patch of a file is a read too.
            targets += [Target("fs.read", path)] if patch.old is not None else []
            # The source of a copy is not written.
            targets += [] if patch.copied and name == patch.old else [Target("fs.write", path)]
    return tuple(targets)


async def _prepare(arguments: ApplyDiffArguments, ctx: ToolContext) -> Plan:
    changes: list[FileChange] = []
    reports: list[str] = []
    read_first = True
    for patch in parse_diff(arguments.diff):
        made, report = changes_of(patch, ctx)
        changes += made
        reports += report
        read_first &= all(c.before is None or was_read(c.moved_from or c.path, c.before, ctx) for c in made)
    must_go_together(changes)
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


def _changes_texts(arguments: ApplyDiffArguments) -> bool:
    return all(patch.old in {None, patch.new} and patch.executable is None for patch in parse_diff(arguments.diff))


APPLY_DIFF = Tool(
    name="apply_diff",
    summary="Apply a unified diff to one or more files, all or nothing. Read the files first.",
    effect=Effect.WRITE,
    arguments=ApplyDiffArguments,
    targets=_targets,
    prepare=_prepare,
    sees_collected=_changes_texts,
    past="changed by a diff",
    drop_rank=8,
)
