"""The reviewed change of a policy file: judged, proposed, written whole or not at all, audited (POL-12).

Nothing here asks anybody: `propose` says what would change, `apply` does it once a person has agreed.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import BEGUN
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import PolicyError, Problem
from remit_governance.permissions.permissions import Standing, decide
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import record_judgement
from remit_governance.policy.language.compile import Source
from remit_governance.policy.review.replay import replay
from remit_governance.policy.review.update import SYSCALL, Proposal, changed_settings, update_action
from remit_governance.policy.rules import Policy
from remit_governance.values import Decision, Reason, Verdict
from remit_server.errors import SetupError, os_reason
from remit_server.runtime.audit.audit_service import as_audit_errors
from remit_server.runtime.policy.past_calls import read_past_calls
from remit_server.runtime.policy.policies import InForce, compile_texts, sources
from remit_server.runtime.settings import PROJECT_POLICY, Settings
from remit_server.workspace.content.files import FileImage, collect_leftovers, read_image, write_atomically
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath


@dataclass(frozen=True, slots=True)
class Target:
    """The file that is to change: its folder, held open, its path, and its content now. `judged` is its path in the
    workspace, None for a file outside."""

    folder: Workspace
    path: WorkspacePath
    image: FileImage | None
    judged: str | None


@contextmanager
def target_file(settings: Settings, *, project: bool) -> Generator[Target]:
    """Yields the person's policy file, or the project's, after removing what writers that died left beside it. Raises
    SetupError, ToolError."""
    place = settings.project_policy if project else _real(settings.person_policy)
    if not project:
        _make_folder(place.parent)
    with Workspace(settings.workspace if project else place.parent) as folder:
        path = folder.resolve(str(PROJECT_POLICY) if project else place.name)
        if path.absolute != folder.root / (PROJECT_POLICY if project else place.name):
            raise SetupError(f"cannot update `{place}`", "it is a link, or behind one", "put a plain file in its place")
        beside = path.parent.absolute
        if beside.is_dir():
            with Workspace(beside) as around:
                collect_leftovers(around, below=False)
        image = read_image(folder, path) if path.absolute.exists() else None
        yield Target(folder, path, image, PROJECT_POLICY.as_posix() if project else None)


def judge(in_force: InForce, target: Target) -> Decision:
    """Returns the decision of the policy in force on the change: at least a review, by the built-in rule. The person's
    own permissions can make it a deny."""
    action = update_action(target.judged)
    decision = evaluate(in_force.policy, action)
    answer = decide(in_force.permissions, Standing(), action, decision)
    if answer.word not in {"deny", "final_deny"} or decision.verdict is Verdict.DENY:
        return decision
    refusal = Reason(answer.source, answer.reason, Verdict.DENY, "permissions")
    return Decision(Verdict.DENY, (*decision.reasons, refusal))


def propose(settings: Settings, in_force: Policy, target: Target, new: Source, last: int) -> Proposal:
    """Returns what the new text would change. Raises PolicyError with every problem in it, SetupError."""
    policy = compile_texts(settings, sources(settings, new), in_force)
    done = replay(policy, read_past_calls(settings.audit_database, last))
    before = None if target.image is None else _text(target)
    changed = tuple(changed_settings(in_force, policy))
    return Proposal(str(target.path.absolute), before, new.text, policy, done, changed)


@dataclass(frozen=True, slots=True)
class Entry:
    """Records the steps of a change, each durably before the next one begins."""

    log: AuditLog
    session: str
    decision: Decision
    version_before: str
    proposal: Proposal
    target: Target

    def record(self, outcome: str, *, deny_reason: str | None = None) -> None:
        """Record one step of the change. Raises SetupError (`audit_broken`)."""
        with as_audit_errors():
            self.log.append(self._event(outcome, deny_reason))

    def _event(self, outcome: str, deny_reason: str | None) -> AuditEvent:
        kept = record_judgement((update_action(self.target.judged),), self.decision, lambda text: text)
        breaking = str(len(self.proposal.replay.breaking))
        return AuditEvent(
            kind=AuditKind.POLICY_UPDATE,
            caller="human",
            session_id=self.session,
            syscall_type=SYSCALL,
            policy_decision="denied" if self.decision.verdict is Verdict.DENY else "review_required",
            policy_rule_name=", ".join(self.decision.rules) or None,
            policy_version=self.version_before,
            actions=kept.actions,
            reasons=kept.reasons,
            deny_reason=deny_reason,
            input_summary=self.proposal.target,
            output_summary=outcome,
            metadata={"breaking": breaking, "new_version": self.proposal.policy.version},
        )


def apply(proposal: Proposal, target: Target, entry: Entry) -> None:
    """Write the new text, with a record before and one after. Raises ToolError (`stale` if the file is no longer what
    was shown) and SetupError (`audit_broken`): the file is then unchanged, unless the error says otherwise."""
    entry.record(BEGUN)
    try:
        write_atomically(target.folder, target.path, target.image, proposal.after.encode())
    except BaseException as error:
        entry.record("failed", deny_reason=str(error))
        raise
    try:
        entry.record("done")
    except SetupError as error:
        raise SetupError(
            "the policy file was changed, but the audit log could not record it", error.why, error.fix, code=error.code
        ) from error


def _real(place: Path) -> Path:
    """Returns the file that a link at `place` leads to, so that a linked file changes and the link stays."""
    try:
        return place.resolve() if os.path.lexists(place) else place
    except (OSError, RuntimeError) as error:
        raise SetupError(f"cannot update `{place}`", "its links form a loop", "put a plain file there") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = os_reason(error)
        raise SetupError(f"cannot make the folder `{folder}`", why, "make it yourself") from error


def _text(target: Target) -> str:
    assert target.image is not None
    try:
        return target.image.data.decode("utf-8")
    except UnicodeDecodeError:
        place = str(target.path.absolute)
        raise PolicyError((Problem(place, 1, 1, "the file is not UTF-8", "save it as UTF-8"),)) from None
