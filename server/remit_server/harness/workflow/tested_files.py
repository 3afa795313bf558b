"""The files that a run of tests was over, by what the review and a session that is taken up again tell whether they are
still the same (FLW-10, FLW-12).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from remit_governance.workflow.states import Mode
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.harness.stages.resolve import make_tool_context
from remit_server.harness.workflow.test_snapshot import digest_files
from remit_server.tools.git.git_commit import GitCommitArguments, commit_plan
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import digest_of

Digests = Mapping[str, str | None]


async def digest_tested(ctx: CallContext) -> Digests:
    """Returns the digests of the files that the session has changed, and in strict mode of all that a commit would."""
    changes = (change for turn in ctx.turn.history.turns() for change in turn.changes)
    paths = {path for change in changes for path in (change.path, change.moved_from) if path}
    changed = await digest_files(ctx.parts.workspace, paths)
    if ctx.turn.memory.position.mode is not Mode.STRICT:
        return changed
    return {**changed, **await asyncio.to_thread(_digest_uncommitted, ctx)}


def untested_paths(changes: Iterable[FileChange], tested: Digests) -> tuple[str, ...]:
    """Returns the paths of a commit that are not as they were when the tests passed, or nobody knows that they are."""
    return tuple(path for path, digest in _digests(changes).items() if (path not in tested) or tested[path] != digest)


def _digest_uncommitted(ctx: CallContext) -> Digests:
    looks = make_tool_context("git_commit", ctx.turn, ctx.parts)
    try:
        return _digests(commit_plan(GitCommitArguments(message="all", all=True), looks).changes)
    except ToolError:  # then there is no commit that could be told to be the same
        return {}


def _digests(changes: Iterable[FileChange]) -> dict[str, str | None]:
    return {change.path.relative: None if change.after is None else digest_of(change.after) for change in changes}
