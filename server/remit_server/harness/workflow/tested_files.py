"""The files that a run of tests was about. By their digests, a review and a session that is taken up again can tell
whether they are still the same (FLW-10, FLW-12).

Also reads the test files of a workspace and their configuration from disk (FLW-04), and the digests of files that a
session changed (FLW-12).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from remit_governance.workflow.proof.runs import TestFiles
from remit_governance.workflow.test_files import locked_files
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.harness.stages.resolve import make_tool_context
from remit_server.tools.git.git_commit import GIT_COMMIT, NothingDiffers, commit_of_all
from remit_server.tools.spec import CommitPlan, FileChange
from remit_server.workspace.content.files import digest_of, read_image
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.walk import Limits, walk


@dataclass(frozen=True, slots=True)
class Tested:
    """What a run of tests was about. `digests` are those of the files that the session had changed and of all files
    that differed from the last commit, by path. `tree` is git's id of all files together, or None if they could not be
    committed. `committed` holds what the last commit has of the files that differ, None for a file that it lacks;
    `committed` itself is None if that is not known.
    """

    digests: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    tree: str | None = None
    committed: Mapping[str, bytes | None] | None = field(default=None, compare=False)

    def committed_texts(self, now: TestFiles) -> Mapping[str, str] | None:
        """Returns the test files as the last commit has them, or None if that is not known."""
        return None if self.committed is None else _texts_of(self.committed, now)


async def digest_tested(ctx: CallContext) -> Tested:
    """Returns what is about to be tested: the files that the session has changed, and all that a commit would
    include."""
    changes = (change for turn in ctx.turn.history.turns() for change in turn.changes)
    paths = {path for change in changes for path in (change.path, change.moved_from) if path}
    changed = await digest_files(ctx.parts.workspace, paths)
    try:
        commit = await asyncio.to_thread(commit_of_all, make_tool_context(GIT_COMMIT.name, ctx.turn, ctx.parts))
    except NothingDiffers:
        return Tested(changed, committed={})
    except ToolError:
        return Tested(changed)
    return Tested({**changed, **_digests(commit.changes)}, commit.tree, _committed(commit))


def texts_before(everything: CommitPlan, now: TestFiles) -> Mapping[str, str]:
    """Returns the test files as the last commit has them. `everything` is a commit of all files."""
    return _texts_of(_committed(everything), now)


def _committed(everything: CommitPlan) -> Mapping[str, bytes | None]:
    return {change.path.relative: change.before.data if change.before else None for change in everything.changes}


def _texts_of(committed: Mapping[str, bytes | None], now: TestFiles) -> Mapping[str, str]:
    texts = {path: data.decode(errors="surrogateescape") for path, data in committed.items() if data is not None}
    return {path: text for path, text in now.texts.items() if path not in committed} | texts


def plan_of_all(ctx: CallContext) -> CommitPlan | None:
    """Returns the commit of all files, or None if there can be none."""
    try:
        return commit_of_all(make_tool_context(GIT_COMMIT.name, ctx.turn, ctx.parts))
    except ToolError:
        return None


def is_committed(ctx: CallContext) -> bool:
    """Returns whether no file differs from the last commit; False if that is not known."""
    try:
        commit_of_all(make_tool_context(GIT_COMMIT.name, ctx.turn, ctx.parts))
    except NothingDiffers:
        return True
    except ToolError:
        return False
    return False


def untested_paths(changes: Iterable[FileChange], tested: Mapping[str, str | None]) -> tuple[str, ...]:
    """Returns the paths of a commit whose files are not known to be the same as when the tests passed."""
    return tuple(path for path, digest in _digests(changes).items() if (path not in tested) or tested[path] != digest)


def paths_left_out(commit: CommitPlan, everything: CommitPlan | None, tested: Mapping[str, str | None]) -> list[str]:
    """Returns the paths whose files the tests passed with, but which a commit does not have in that form: the commit
    does not name them, or git does not know or ignores them. `everything` is the commit of all files.
    """
    changed = {change.path.relative for change in commit.changes}
    return sorted(path for path in tested.keys() - changed if _is_left_out(path, tested[path], commit, everything))


def _is_left_out(path: str, digest: str | None, commit: CommitPlan, everything: CommitPlan | None) -> bool:
    name = os.fsencode(path)
    held = commit.files.get(name)
    if (held is None) != (digest is None):
        return True
    return everything is not None and everything.files.get(name) != held


def _digests(changes: Iterable[FileChange]) -> dict[str, str | None]:
    return {change.path.relative: None if change.after is None else digest_of(change.after) for change in changes}


MAX_FILES = 5_000
MAX_BYTES = 64 << 20
MAX_FILE_BYTES = 4 << 20


async def snapshot_tests(workspace: Workspace, tests: Sequence[tuple[str, ...]]) -> TestFiles:
    """Reads the files that these globs name, and those that configure tests. Raises ToolError if there are too many to
    keep."""
    return await asyncio.to_thread(_read, workspace, locked_files(tests))


async def digest_files(workspace: Workspace, paths: Collection[str]) -> Mapping[str, str | None]:
    """Returns the digests of files by path, with None for a path that is no file or too large to read."""
    return await asyncio.to_thread(lambda: {path: _digest(workspace, path) for path in sorted(paths)})


def _digest(workspace: Workspace, path: str) -> str | None:
    try:
        return read_image(workspace, workspace.resolve(path)).digest
    except ToolError:
        return None


def _read(workspace: Workspace, is_locked: Callable[[str], bool]) -> TestFiles:
    texts: dict[str, str] = {}
    size = 0
    for path in walk(workspace, workspace.resolve("."), Limits()):
        if not is_locked(path):
            continue
        data = read_image(workspace, workspace.resolve(path), MAX_FILE_BYTES).data
        size += len(data)
        if len(texts) >= MAX_FILES or size > MAX_BYTES:
            why = f"there are more than {MAX_FILES} files of tests, or {MAX_BYTES >> 20} MiB of them"
            fix = "the person can work in a folder below, or in explore mode"
            raise ToolError("the workflow cannot follow these tests", why, fix, code=ErrorCode.TOO_LARGE)
        texts[path] = data.decode(errors="surrogateescape")
    return TestFiles(texts)
