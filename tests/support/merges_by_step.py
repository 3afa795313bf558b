"""Merges that are killed at their N-th system call, in the same way as in `step_by_step`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

CHANGES: Mapping[str, tuple[str | None, str | None]] = {
    "a.txt": ("old a\n", "new a\n"),
    "made/b.txt": (None, "new b\n"),
    "gone.txt": ("old gone\n", None),
    "c.txt": ("old c\n", "new c\n" * 1000),
    "moved.txt": ("old moved\n", None),
    "to/moved.txt": (None, "old moved\n"),
}
"""Every path of the merge, with what it holds before and after."""

EXECUTABLE = "c.txt"
"""The path that becomes executable."""


def reset(workspace: Path) -> None:
    """Writes the files as they are before the merge."""
    for child in workspace.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    for path, (before, _) in CHANGES.items():
        if before is not None:
            (workspace / path).write_text(before)


def serve(root: Path, log: Path) -> None:
    from remit_server.harness.stages.write import Merger
    from remit_server.tools.spec import FileChange
    from remit_server.workspace.content.files import read_image
    from remit_server.workspace.merges.merge_log import MergeLog
    from remit_server.workspace.paths.workspace_path import Workspace
    from remit_server.workspace.ports import NoDocuments

    async def inline(function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)  # one thread, so that the calls can be counted

    asyncio.to_thread = inline  # type: ignore[assignment]
    workspace = Workspace(root)
    merger = Merger(workspace, NoDocuments(), MergeLog(log))

    def changes() -> tuple[FileChange, ...]:
        made: list[FileChange] = []
        for name, (before, after) in CHANGES.items():
            path = workspace.resolve(name)
            image = None if before is None else read_image(workspace, path)
            if not name.endswith("moved.txt"):
                runs = True if name == EXECUTABLE else None
                made.append(FileChange(path, image, None if after is None else after.encode(), executable=runs))
            elif image is not None:
                made.append(FileChange(workspace.resolve(f"to/{name}"), image, image.data, moved_from=path))
        return tuple(made)

    answer_steps(lambda: partial(asyncio.run, merger.merge(changes(), "test", [], "policy")))


def answer_steps(prepare: Callable[[], Callable[[], object]]) -> None:
    """Does the work that `prepare` returns, for each line, which names a step; the answer says whether the work was
    killed there, or done."""
    for line in sys.stdin:
        step: int = json.loads(line)
        child = os.fork()
        if child == 0:
            work = prepare()
            sys.setprofile(killer(step))
            work()
            sys.setprofile(None)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps("killed" if os.WIFSIGNALED(status) else "done"), flush=True)


def killer(step: int) -> Callable[..., None]:
    """Returns a profiler that kills this process before its system call number `step`."""
    seen = 0

    def profile(frame: Any, event: str, function: Any) -> None:
        nonlocal seen
        del frame
        if event == "c_call" and getattr(function, "__module__", None) in {"posix", "fcntl"}:
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    return profile


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
