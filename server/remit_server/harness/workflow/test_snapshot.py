"""The tests of a workspace as they are on the disk at one moment, with what configures them (FLW-04), and files that a
session changed (FLW-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from remit_governance.policy.matching.rule_globs import compile_globs
from remit_governance.workflow.proof import TestFiles
from remit_governance.workflow.test_files import is_locked_file
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.files import read_image
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.walk import Limits, walk

MAX_FILES = 5_000
MAX_BYTES = 64 << 20
MAX_FILE_BYTES = 4 << 20


async def snapshot_tests(workspace: Workspace, own: Sequence[tuple[str, ...]]) -> TestFiles:
    """Reads the test files, and what globs of `own` name. Raises ToolError where there are more than can be kept."""
    return await asyncio.to_thread(_read, workspace, own)


async def digest_files(workspace: Workspace, paths: Collection[str]) -> Mapping[str, str | None]:
    """Returns the digests of files by path; None for what is no file, or too large to be looked at."""
    return await asyncio.to_thread(lambda: {path: _digest(workspace, path) for path in sorted(paths)})


def _digest(workspace: Workspace, path: str) -> str | None:
    try:
        return read_image(workspace, workspace.resolve(path)).digest
    except ToolError:
        return None


def _read(workspace: Workspace, own: Sequence[tuple[str, ...]]) -> TestFiles:
    locked = (is_locked_file, *(compile_globs(globs) for globs in own))
    texts: dict[str, str] = {}
    size = 0
    for path in walk(workspace, workspace.resolve("."), Limits()):
        if not any(matches(path) for matches in locked):
            continue
        data = read_image(workspace, workspace.resolve(path), MAX_FILE_BYTES).data
        size += len(data)
        if len(texts) >= MAX_FILES or size > MAX_BYTES:
            why = f"there are more than {MAX_FILES} files of tests, or {MAX_BYTES >> 20} MiB of them"
            fix = "the person can work in a folder below, or in explore mode"
            raise ToolError("the workflow cannot follow these tests", why, fix, code=ErrorCode.TOO_LARGE)
        texts[path] = data.decode(errors="surrogateescape")
    return TestFiles(texts)
