"""Writes an approved commit into the repository: objects first, then index and ref under git's own locks
(GIT-02).

If the process is killed at any step, the head is the old or the new one, and `git fsck` finds no error. At worst,
unreferenced objects are left, and an index that already holds the commit's files, as after `git add`.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import ExitStack

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.calls import stale
from remit_server.tools.spec import CommitPlan
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.git_folder import (
    GitFiles,
    append_line,
    clear_stale_locks,
    git_lock,
    open_git,
    write_object,
)
from remit_server.workspace.git_linked import find_repository
from remit_server.workspace.paths.workspace_path import Workspace

_NOTHING = "0" * 40


def write_commit(workspace: Workspace, plan: CommitPlan) -> str:
    """Writes the commit, and moves its branch from exactly `plan.parent`; returns the commit's id.

    Raises ToolError: `stale` if branch, HEAD or index is no longer what was approved, `busy` if git works on the
    repository. The head has not moved then.
    """
    when = f"{int(time.time())} {time.strftime('%z')}"
    body = plan.written(when)
    whole = b"commit %d\x00" % len(body) + body
    commit = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    try:
        if find_repository(workspace.root) != plan.folders:
            raise stale("the repository's place")
        with open_git(workspace, plan.folders) as git:
            clear_stale_locks(git, ("index", "HEAD", *([plan.ref] if plan.ref else [])))
            _require_unchanged(git, plan)
            for sha, data in (*plan.objects.items(), (commit, whole)):
                write_object(git, sha, data)
            _move(git, plan, commit, when)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ToolError(
            "nothing was committed",
            f"the repository cannot be written: {why}",
            "free some space, or check the permissions of `.git`, and try again",
            code=ErrorCode.COMMAND_FAILED,
        ) from error
    return commit


def _move(git: GitFiles, plan: CommitPlan, commit: str, when: str) -> None:
    """Writes the index before the ref, so that a crash between them leaves changes staged, and never a commit whose
    changes look undone."""
    new = f"{commit}\n".encode()
    with ExitStack() as held:
        index = held.enter_context(git_lock(git, "index", plan.index_after, _index_mode(git)))
        head = held.enter_context(git_lock(git, "HEAD", new if plan.ref is None else plan.head))
        moved = head if plan.ref is None else held.enter_context(git_lock(git, plan.ref, new))
        _require_unchanged(git, plan)
        _append_reflog(git, plan, commit, when)
        index.finish()
        moved.finish()


def _require_unchanged(git: GitFiles, plan: CommitPlan) -> None:
    if git.read("HEAD") != plan.head:
        raise stale("HEAD")
    if plan.ref is not None and git.read_ref(plan.ref) != plan.parent:
        raise stale(plan.where)
    index = git.read("index")
    if (None if index is None else digest_of(index)) != plan.index_before:
        raise stale("the index")


def _append_reflog(git: GitFiles, plan: CommitPlan, commit: str, when: str) -> None:
    if not plan.logs:
        return
    kind = "commit" if plan.parent else "commit (initial)"
    subject = plan.message.partition("\n")[0]
    line = f"{plan.parent or _NOTHING} {commit} {plan.author} {when}\t{kind}: {subject}\n".encode()
    for name in dict.fromkeys(("HEAD", plan.ref or "HEAD")):
        append_line(git, f"logs/{name}", line)


def _index_mode(git: GitFiles) -> int:
    try:
        return git.absolute("index").lstat().st_mode & 0o666
    except FileNotFoundError:
        return 0o644
