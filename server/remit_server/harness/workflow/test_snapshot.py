"""The tests of a workspace as they are on the disk at one moment, with what configures them (FLW-04), and files that a
session changed (FLW-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from remit_governance.workflow.proof.runs import TestFiles
from remit_governance.workflow.test_files import locked_files
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.files import read_image
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.walk import Limits, walk

MAX_FILES = 5_000
MAX_BYTES = 64 << 20
MAX_FILE_BYTES = 4 << 20


async def snapshot_tests(workspace: Workspace, tests: Sequence[tuple[str, ...]]) -> TestFiles:
    """Reads the files that these globs name, and what configures tests. Raises ToolError where there are more than can
    be kept."""
    return await asyncio.to_thread(_read, workspace, locked_files(tests))


async def digest_files(workspace: Workspace, paths: Collection[str]) -> Mapping[str, str | None]:
    """Returns the digests of files by path; None for what is no file, or too large to be looked at."""
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
