"""Commits that are killed at their N-th system call, in the same way as in `step_by_step`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from commits import planned
from merges_by_step import answer_steps

from remit_server.harness.writes.commit import write_commit
from remit_server.workspace.paths.workspace_path import Workspace


def serve(root: Path) -> None:
    answer_steps(lambda: partial(write_commit, Workspace(root), planned(root, all=True)))


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
