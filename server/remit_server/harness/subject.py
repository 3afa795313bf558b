"""What a person is asked about, and the digest that binds the answer to it (governance.md §4, invariant 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, assert_never

from pydantic import BaseModel

from remit_governance.approvals import ApprovalSubject, PathBinding
from remit_governance.canonical import digest_bytes
from remit_governance.policy.risk import risk_of
from remit_governance.standing import Offer, rule_text, sentence
from remit_governance.values import Action, Effect
from remit_governance.visible import visible
from remit_server.contract import ReasonPayload
from remit_server.harness.diffs import file_diff, mode_word
from remit_server.harness.naming import named_files
from remit_server.harness.trail import Trail
from remit_server.harness.turn import Turn
from remit_server.tools.spec import CommandPlan, CommitPlan, FileChange, Plan, ReadPlan, Tool, WritePlan
from remit_server.workspace.files import digest_of
from remit_server.workspace.paths import Workspace, WorkspacePath

RISKS = ("low", "medium", "high")
MAX_TITLE = 120
"""Characters of a command or a subject in a title. The whole stands below it."""
MAX_NAMED = 8
"""Files that a title names."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that policy has judged, and the plan it would carry out."""

    tool: Tool[Any]
    arguments: BaseModel
    actions: tuple[Action, ...]
    plan: Plan

    @property
    def name(self) -> str:
        """What it is about, in a word: the first path, or the tool."""
        return next((a.path for a in self.actions if a.path), self.tool.name)


def about(turn: Turn, tool: str, syscall: str, path: str | None, **more: Any) -> Action:
    """An action with who does it and in which intent; `more` are other fields of it. There is no workflow state yet."""
    return Action(
        syscall,
        path,
        tool=tool,
        intent=turn.intent.active,
        caller_tags=turn.caller_tags,
        **more,
    )


def measured(actions: tuple[Action, ...], plan: Plan, *, layers: bool = False) -> tuple[Action, ...]:
    """The actions with what only the plan knows: how large each file becomes that it writes, and whether what a command
    writes is held back: the plan wants that, and the sandbox has `layers`."""
    if isinstance(plan, CommandPlan):
        held = plan.spec.writes and layers
        return tuple(replace(action, held=held and action.script is not None) for action in actions)
    if isinstance(plan, CommitPlan):
        return committing(actions, plan)
    if not isinstance(plan, WritePlan):
        return actions
    sizes = {path.relative: 0 for change in plan.changes for path, _, _ in change.touched}
    sizes |= {change.path.relative: change.size for change in plan.changes}
    unjudged = sizes.keys() - {action.path for action in actions if action.syscall == "fs.write"}
    assert not unjudged, f"a tool planned a write that policy has not seen: {sorted(unjudged)}"
    return tuple(replace(a, size=sizes.get(a.path or "")) if a.syscall == "fs.write" else a for a in actions)


def committing(actions: tuple[Action, ...], plan: CommitPlan) -> tuple[Action, ...]:
    """The actions, and one for each file that the commit changes: only the plan knows which."""
    (first, *_) = (action for action in actions if action.syscall == "git.commit")
    known = {action.path for action in actions if action.syscall == "git.commit"}
    more = (change.path.relative for change in plan.changes if change.path.relative not in known)
    return (*actions, *(replace(first, path=path) for path in more))


def subject_of(
    proposal: Proposal, turn: Turn, policy_version: str, workspace: Workspace, offer: Offer
) -> ApprovalSubject:
    """Everything the approval is about: arguments, bytes before and after, argv, cwd, environment, policy, intent.

    For a command, also the contents of the workspace files it names, so that a script cannot be rewritten while its
    approval is pending.
    """
    paths, command = _bound(proposal, workspace)
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
    )


def question(
    proposal: Proposal, trail: Trail, offer: Offer, reasons: tuple[ReasonPayload, ...] | None = None
) -> dict[str, Any]:
    """What the person is shown, as fields of `approval_required`; hostile characters are made visible."""
    plan = proposal.plan
    command = plan if isinstance(plan, CommandPlan) else None
    return {
        "tool_call_id": trail.call.id,
        "tool": proposal.tool.name,
        "intent": trail.turn.intent.active,
        "effect": proposal.tool.effect,
        "title": title(proposal),
        "reasons": trail.asking if reasons is None else reasons,
        "diffs": tuple(file_diff(c) for c in plan.changes) if isinstance(plan, WritePlan | CommitPlan) else (),
        "argv": tuple(visible(word, "show") for word in command.spec.argv) if command else None,
        "command": _said(plan),
        "cwd": visible(str(command.spec.cwd), "show") if command else None,
        "hosts": tuple(visible(host, "show") for host in command.spec.network) if command else (),
        "risk": max((risk_of(action) for action in proposal.actions), key=RISKS.index),
        "session_rule": sentence(offer.standing) or None,
        "always_rule": None if offer.always is None else rule_text(offer.always),
        "everywhere_rule": None if offer.everywhere is None else rule_text(offer.everywhere),
    }


def title(proposal: Proposal) -> str:
    """One line that says what will happen."""
    match proposal.plan:
        case WritePlan(changes=changes):
            what = "; ".join(_verb(change) for change in changes[:MAX_NAMED])
            what += f"; and {len(changes) - MAX_NAMED} files more, shown below" if len(changes) > MAX_NAMED else ""
            return f"keep what the command changed: {what}" if proposal.tool.effect is Effect.EXECUTE else what
        case CommandPlan(spec=spec, display=display):
            hosts = [*spec.network[:3], *(["and more, shown below"] if len(spec.network) > 3 else [])]
            return f"run {_in_title(display)}{' with network to ' if hosts else ''}{', '.join(hosts)}"
        case CommitPlan(message=message, where=where):
            subject = _in_title(message.partition("\n")[0])
            return f"commit {len(proposal.plan.changes)} files to {visible(where, 'show')}: {subject}"
        case ReadPlan():
            return f"read {visible(proposal.name, 'show')}"
        case _:
            assert_never(proposal.plan)


def _in_title(text: str) -> str:
    """A text as far as a title has room for it, with the digest of the whole, which stands below."""
    line = text.partition("\n")[0]
    cut = line if len(line) <= MAX_TITLE else line[:MAX_TITLE]
    if len(cut) == len(text):
        return visible(text, "show")
    whole = digest_bytes(text.encode(errors="replace"))[:19]
    return f"{visible(cut, 'show')}… ({len(text) - len(cut):,} characters more, shown below; {whole})"


def _said(plan: Plan) -> str | None:
    """What is run, or committed and by whom, in full; None where the diffs say it all."""
    match plan:
        case CommandPlan(display=display):
            return visible(display)
        case CommitPlan(author=author, message=message, remarks=remarks):
            lines = (f"git commit by {visible(author, 'show')}", *(visible(each, "show") for each in remarks))
            return "\n".join([*lines, "", visible(message.rstrip("\n"))])
        case WritePlan() | ReadPlan():
            return None
        case _:
            assert_never(plan)


def _verb(change: FileChange) -> str:
    name = visible(change.path.relative, "show")
    if change.moved_from is not None:
        return f"move {visible(change.moved_from.relative, 'show')} to {name}"
    if change.after is None:
        return f"delete {name}"
    said = f"{'create' if change.before is None else 'change'} {name}"
    return said if change.executable is None else f"{said} ({mode_word(change.executable)})"


def _written(change: FileChange, path: WorkspacePath, before: str | None, after: str | None) -> PathBinding:
    mode = "" if change.executable is None else f" {mode_word(change.executable)}"
    return PathBinding(path.relative, before, None if after is None else after + mode)


def _bound(proposal: Proposal, workspace: Workspace) -> tuple[tuple[PathBinding, ...], CommandPlan | None]:
    match proposal.plan:
        case WritePlan(changes=changes):
            return tuple(_written(c, *touched) for c in changes for touched in c.touched), None
        case CommandPlan() as command:
            return named_files(command, workspace), command
        case CommitPlan(changes=changes) as commit:
            files = tuple(_written(c, *touched) for c in changes for touched in c.touched)
            # Without a time, for only the commit itself has one: tree, parent, author and message to the letter.
            head = PathBinding(".git/HEAD", digest_of(commit.head), digest_of(commit.written("")))
            return (head, *files), None
        case ReadPlan():
            return tuple(PathBinding(a.path) for a in proposal.actions if a.path), None
        case _:
            assert_never(proposal.plan)
