"""What a call proposes to do, and the digest that binds an answer to it (APP-01).

Writes that make a folder a git repository, or change one that has no `.git` in its path, are marked (GIT-05). Git takes
any folder with `HEAD`, `objects` and `refs` for a bare repository, and starts programs that its `config` and hooks
name. These files may be written in any order. So a write of one of git's own files is marked if, after all writes of
the call, the folder holds a file `HEAD` and another of git's files.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from pydantic import BaseModel

from remit_governance.approvals import ApprovalSubject, PathBinding
from remit_governance.permissions.remembered import Offer
from remit_governance.policy.decision.builtin import GIT_NAMES, READING
from remit_governance.policy.matching.paths import fold, normalise
from remit_governance.values import Action
from remit_server.harness.approval.executed_files import find_executed_files
from remit_server.harness.approval.review import name_mode
from remit_server.harness.judgement import RUN_INSIDE
from remit_server.harness.turn import Turn
from remit_server.tools.spec import (
    AnyTool,
    CommandPlan,
    CommitPlan,
    DelegatePlan,
    FileChange,
    FolderChange,
    Plan,
    PublishPlan,
    ReadPlan,
    StartPlan,
    StopPlan,
    WritePlan,
)
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

_HEAD = "head"
_BESIDE_HEAD = frozenset({"config", "config.worktree", "objects", "refs", "commondir", "hooks", "packed-refs"})


def mark_repositories(actions: Sequence[Action], root: Path) -> tuple[Action, ...]:
    """Returns the actions, with those marked that write one of git's files in a folder below `root` that is, or
    becomes, a repository."""
    written = {action.path for action in actions if action.path and _is_write(action)}
    marked = {path for folder, parts in _by_folder(written).items() for path in _in_repository(root, folder, parts)}
    return tuple(
        replace(action, repository=True) if action.path in marked and _is_write(action) else action
        for action in actions
    )


def _is_write(action: Action) -> bool:
    return action.syscall.startswith("fs.") and action.syscall not in READING


def _by_folder(paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Returns, for each folder that may be a repository, the paths below it, each with its first part in that folder,
    which is one of git's names."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in paths:
        for folder, name in git_folders(path):
            found[folder][path] = name
    return found


def git_folders(path: str) -> Iterator[tuple[str, str]]:
    """Yields each folder above a path that may be a repository because the path's next part is one of git's names, and
    that name."""
    parts = normalise(path).split("/")
    for place, part in enumerate(parts):
        name = fold(part)
        # Git's `HEAD` is a file, so a folder of that name does not count.
        if name in GIT_NAMES and (name != _HEAD or place == len(parts) - 1):
            yield "/".join(parts[:place]), name


def _in_repository(root: Path, folder: str, parts: dict[str, str]) -> Iterable[str]:
    there = {*_names(root / folder), *parts.values()}
    return parts if _HEAD in there and not there.isdisjoint(_BESIDE_HEAD) else ()


def _names(folder: Path) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = fold(entry.name)
            if name in GIT_NAMES and (name != _HEAD or not entry.is_dir(follow_symlinks=False)):
                yield name


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call with its actions, and the plan that it would carry out."""

    tool: AnyTool
    arguments: BaseModel
    actions: tuple[Action, ...]
    plan: Plan

    @property
    def name(self) -> str:
        """The first path that the proposal is about, or the tool's name if there is none."""
        return next((a.path for a in self.actions if a.path), self.tool.name)


def changes_of(plan: Plan) -> tuple[FileChange, ...]:
    """Returns the file changes that a plan is about."""
    return plan.changes if isinstance(plan, WritePlan | CommitPlan) else ()


def measure_actions(actions: tuple[Action, ...], plan: Plan, *, layers: bool = False) -> tuple[Action, ...]:
    """Returns the actions with what only the plan knows: the size of each file that it writes, and whether a command's
    writes are held back in a layer, which the plan must want and the sandbox must offer (`layers`)."""
    if isinstance(plan, CommandPlan | StartPlan):
        held = (plan.spec.writes or plan.spec.background) and layers
        where = plan.spec.template
        return tuple(
            replace(a, held=held and a.script is not None, sandbox=where if a.syscall in RUN_INSIDE else a.sandbox)
            for a in actions
        )
    if isinstance(plan, CommitPlan):
        return _commit_actions(actions, plan)
    if not isinstance(plan, WritePlan):
        return actions
    sizes = {path.relative: 0 for change in plan.changes for path, _, _ in change.touched}
    sizes |= {change.path.relative: change.size for change in plan.changes}
    unjudged = sizes.keys() - {action.path for action in actions if action.syscall == "fs.write"}
    assert not unjudged, f"a tool planned a write that policy has not seen: {sorted(unjudged)}"
    return tuple(replace(a, size=sizes.get(a.path or "")) if a.syscall == "fs.write" else a for a in actions)


def _commit_actions(actions: tuple[Action, ...], plan: CommitPlan) -> tuple[Action, ...]:
    """Returns the actions, with one more for each file that the commit changes, because only the plan knows the
    files."""
    (first, *_) = (action for action in actions if action.syscall == "git.commit")
    known = {action.path for action in actions if action.syscall == "git.commit"}
    more = (change.path.relative for change in plan.changes if change.path.relative not in known)
    return (*actions, *(replace(first, path=path) for path in more))


def subject_of(
    proposal: Proposal, turn: Turn, policy_version: str, workspace: Workspace, offer: Offer
) -> ApprovalSubject:
    """Returns the subject of the approval: arguments, bytes before and after, argv, cwd, environment, policy, intent.

    For a command, it includes the contents of the workspace files that the command names, so that a script cannot be
    rewritten while its approval is pending.
    """
    paths, command = _bind_plan(proposal, workspace)
    return ApprovalSubject(
        tool=proposal.tool.name,
        arguments=proposal.arguments.model_dump(mode="json"),
        policy_version=policy_version,
        session=turn.session_id,
        intent=turn.intent.active,
        paths=paths,
        argv=command.spec.argv if command else None,
        cwd=str(command.spec.cwd) if command else None,
        environment=dict(command.spec.environment) if command else {},
        standing=offer.standing,
        always=offer.always,
        everywhere=offer.everywhere,
        edits=offer.edits,
    )


def _bind_change(change: FileChange, path: WorkspacePath, before: str | None, after: str | None) -> PathBinding:
    mode = "" if change.executable is None else f" {name_mode(change.executable)}"
    return PathBinding(path.relative, before, None if after is None else after + mode)


def _bind_folder(folder: FolderChange) -> PathBinding:
    return PathBinding(folder.path.relative, *(None, "folder") if folder.made else ("folder", None))


def _bind_plan(
    proposal: Proposal, workspace: Workspace
) -> tuple[tuple[PathBinding, ...], CommandPlan | StartPlan | None]:
    match proposal.plan:
        case WritePlan(changes=changes, folders=folders):
            files = tuple(_bind_change(c, *touched) for c in changes for touched in c.touched)
            return (*files, *map(_bind_folder, folders)), None
        case (CommandPlan() | StartPlan()) as command:
            return find_executed_files(command, workspace), command
        case CommitPlan(changes=changes) as commit:
            files = tuple(_bind_change(c, *touched) for c in changes for touched in c.touched)
            # Binds tree, parent, author and message, but no time, because the time is set only when the commit is made.
            head = PathBinding(".git/HEAD", digest_of(commit.head), digest_of(commit.written("")))
            return (head, *files), None
        case ReadPlan() | DelegatePlan():
            return tuple(PathBinding(a.path) for a in proposal.actions if a.path), None
        case StopPlan() | PublishPlan():
            return (), None
        case _:
            assert_never(proposal.plan)
