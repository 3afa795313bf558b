"""What a call proposes to do, and the digest that binds an answer to it (APP-01)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from pydantic import BaseModel

from remit_governance.approvals import ApprovalSubject, PathBinding
from remit_governance.permissions.remembered import Offer
from remit_governance.values import Action
from remit_server.harness.approval.diffs import name_mode
from remit_server.harness.approval.executed_files import find_executed_files
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


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that policy has judged, and the plan it would carry out."""

    tool: AnyTool
    arguments: BaseModel
    actions: tuple[Action, ...]
    plan: Plan

    @property
    def name(self) -> str:
        """What it is about, in a word: the first path, or the tool."""
        return next((a.path for a in self.actions if a.path), self.tool.name)


def changes_of(plan: Plan) -> tuple[FileChange, ...]:
    """Returns the changes of files that a plan is about."""
    return plan.changes if isinstance(plan, WritePlan | CommitPlan) else ()


def measure_actions(actions: tuple[Action, ...], plan: Plan, *, layers: bool = False) -> tuple[Action, ...]:
    """Adds to the actions what only the plan knows: how large each file becomes that it writes, and whether what a
    command writes is held back: the plan wants that, and the sandbox has `layers`."""
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
    """Adds an action for each file that the commit changes: only the plan knows which."""
    (first, *_) = (action for action in actions if action.syscall == "git.commit")
    known = {action.path for action in actions if action.syscall == "git.commit"}
    more = (change.path.relative for change in plan.changes if change.path.relative not in known)
    return (*actions, *(replace(first, path=path) for path in more))


def subject_of(
    proposal: Proposal, turn: Turn, policy_version: str, workspace: Workspace, offer: Offer
) -> ApprovalSubject:
    """Returns what the approval is about: arguments, bytes before and after, argv, cwd, environment, policy, intent.

    For a command, also the contents of the workspace files it names, so that a script cannot be rewritten while its
    approval is pending.
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
            # Without a time, for only the commit itself has one: tree, parent, author and message to the letter.
            head = PathBinding(".git/HEAD", digest_of(commit.head), digest_of(commit.written("")))
            return (head, *files), None
        case ReadPlan() | DelegatePlan():
            return tuple(PathBinding(a.path) for a in proposal.actions if a.path), None
        case StopPlan() | PublishPlan():
            return (), None
        case _:
            assert_never(proposal.plan)
