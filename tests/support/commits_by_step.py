"""Commits that are killed at their N-th system call, in the same way as in `step_by_step`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from commits import planned
from merges_by_step import killer

from remit_server.harness.writes.commit import write_commit
from remit_server.workspace.paths.workspace_path import Workspace


def serve(root: Path) -> None:
    """Each line names a step; the answer says whether the commit was killed there, or done."""
    for line in sys.stdin:
        step: int = json.loads(line)
        child = os.fork()
        if child == 0:
            plan = planned(root, all=True)
            workspace = Workspace(root)
            sys.setprofile(killer(step))
            write_commit(workspace, plan)
            sys.setprofile(None)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps("killed" if os.WIFSIGNALED(status) else "done"), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
