"""What a person is shown of a proposal: a title, everything that would be done, and why they are asked (APP-03).

`question_text` returns it as plain text, for transports that can show only text.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import assert_never

from remit_governance.approvals import Pending
from remit_governance.canonical import digest_bytes
from remit_governance.permissions.remembered import EVERY_EDIT, Offer, rule_text, sentence
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.shell.catalogue.rows import NO_ROWS, OwnRows
from remit_governance.values import Decision, Effect, Intent, Risk
from remit_governance.visible import visible, visible_again
from remit_server.contract import ApprovalRequired, FileDiff, ReasonPayload, Scope
from remit_server.harness.approval.proposal import Proposal
from remit_server.harness.approval.review import can_be_chosen, describe_choices, describe_file, name_mode
from remit_server.harness.calls import ToolCall
from remit_server.harness.judgement import Judgement
from remit_server.harness.record.audit_events import reason_payload
from remit_server.harness.turn import Stamp, Turn
from remit_server.tools.spec import (
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
    count_files,
)

RISKS: tuple[Risk, ...] = ("low", "medium", "high")
MAX_TITLE = 120
"""The most characters of a command or a subject in a title. The question shows the whole below the title."""
MAX_NAMED = 8
"""The most changes that a title names."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the person is shown, with the fields of `ApprovalRequired`; hostile characters are made visible."""

    tool_call_id: str
    tool: str
    intent: Intent | None
    effect: Effect
    title: str
    reasons: tuple[ReasonPayload, ...]
    diffs: tuple[FileDiff, ...]
    by_hunk: bool
    argv: tuple[str, ...] | None
    command: str | None
    cwd: str | None
    hosts: tuple[str, ...]
    near: str | None
    risk: Risk
    session_rule: str | None
    edits_rule: str | None
    always_rule: str | None
    everywhere_rule: str | None
    step_call: int
    step_calls: int
    asked_by: str | None

    @property
    def parts(self) -> dict[str, int]:
        """The number of parts of each file that the person can take one by one; empty if it is all or nothing."""
        return {diff.path: max(1, diff.hunks) for diff in self.diffs} if self.by_hunk else {}

    def by_file(self) -> Question:
        """Returns the question with whole files as its parts, not hunks."""
        whole = tuple(diff.model_copy(update={"hunks": 0}) for diff in self.diffs)
        return replace(self, diffs=whole, by_hunk=len(whole) > 1)

    def asked(self, stamp: Stamp, opened: Pending, session_name: str | None, deadline: str) -> ApprovalRequired:
        """Returns the event that asks the question, which is open under the id and digest of `opened`."""
        return ApprovalRequired(
            **stamp,
            approval_id=opened.id,
            digest=opened.digest,
            scopes=tuple(Scope(scope) for scope in opened.scopes),
            session_name=session_name,
            deadline=deadline,
            tool_call_id=self.tool_call_id,
            tool=self.tool,
            intent=self.intent,
            effect=self.effect,
            title=self.title,
            reasons=self.reasons,
            diffs=self.diffs,
            by_hunk=self.by_hunk,
            argv=self.argv,
            command=self.command,
            cwd=self.cwd,
            hosts=self.hosts,
            near=self.near,
            risk=self.risk,
            session_rule=self.session_rule,
            edits_rule=self.edits_rule,
            always_rule=self.always_rule,
            everywhere_rule=self.everywhere_rule,
            step_call=self.step_call,
            step_calls=self.step_calls,
            asked_by=self.asked_by,
        )


def describe_question(
    proposal: Proposal,
    call: ToolCall,
    turn: Turn,
    offer: Offer,
    reasons: tuple[ReasonPayload, ...],
    *,
    programs: OwnRows = NO_ROWS,
) -> Question:
    """Returns what the person is shown; hostile characters are made visible.

    `programs` are the policy's own rows, so that the shown risk is the one that rules see.
    """
    plan = proposal.plan
    command = plan if isinstance(plan, CommandPlan | StartPlan) else None
    risks: list[Risk] = [risk_of(action, programs) for action in proposal.actions]
    return Question(
        tool_call_id=call.id,
        tool=proposal.tool.name,
        intent=turn.intent.active,
        effect=proposal.tool.effect,
        title=write_title(proposal),
        reasons=reasons,
        diffs=_diffs(plan),
        by_hunk=can_be_chosen(plan),
        argv=tuple(visible(word, "show") for word in command.spec.argv) if command else None,
        command=_command_text(plan),
        cwd=visible(str(command.spec.cwd), "show") if command else None,
        hosts=tuple(visible(host, "show") for host in command.spec.reached) if command else (),
        near=command.spec.near.means if command and command.spec.near else None,
        risk=max(risks, key=RISKS.index),
        session_rule=sentence(offer.standing) or None,
        edits_rule=EVERY_EDIT if offer.edits else None,
        always_rule=None if offer.always is None else rule_text(offer.always),
        everywhere_rule=None if offer.everywhere is None else rule_text(offer.everywhere),
        step_call=call.number,
        step_calls=call.count,
        asked_by=None if turn.handed is None else turn.handed.work,
    )


def _diffs(plan: Plan) -> tuple[FileDiff, ...]:
    match plan:
        case WritePlan():
            return describe_choices(plan)
        case CommitPlan(changes=changes):
            return tuple(describe_file(change) for change in changes)
        case CommandPlan() | ReadPlan() | StartPlan() | StopPlan() | PublishPlan() | DelegatePlan():
            return ()
        case _:
            assert_never(plan)


def reasons_to_ask(judgement: Judgement) -> tuple[ReasonPayload, ...]:
    """Returns the reasons with the strictest verdict, because milder reasons do not explain a question.

    If the person's own configuration asks, that is the first reason.
    """
    carrying = carrying_reasons(judgement.decision)
    if not judgement.asks or judgement.answer.source == "policy":
        return carrying
    own = ReasonPayload(layer="permissions", action="require_review", reason=judgement.answer.reason)
    return (own, *(reason for reason in carrying if reason.action != "allow"))


def carrying_reasons(decision: Decision) -> tuple[ReasonPayload, ...]:
    """Returns the reasons whose verdict is the decision's, each once."""
    carrying = dict.fromkeys(r for r in decision.reasons if r.verdict is decision.verdict)
    return tuple(map(reason_payload, carrying))


def write_title(proposal: Proposal) -> str:
    """Says in one line what will happen."""
    match proposal.plan:
        case WritePlan(changes=changes, folders=folders):
            all_of_it = [*map(_describe_change, changes), *map(_describe_folder, folders)]
            more = f"and {len(all_of_it) - MAX_NAMED} {'changes' if folders else 'files'} more, shown below"
            what = "; ".join([*all_of_it[:MAX_NAMED], *([more] if len(all_of_it) > MAX_NAMED else [])])
            return f"keep what the command changed: {what}" if proposal.tool.effect is Effect.EXECUTE else what
        case CommandPlan(spec=spec, display=display):
            hosts = [*spec.reached[:3], *(["and more, shown below"] if len(spec.reached) > 3 else [])]
            return f"run {_cut_for_title(display)}{' with network to ' if hosts else ''}{', '.join(hosts)}"
        case CommitPlan(message=message, where=where):
            subject = _cut_for_title(message.partition("\n")[0])
            return f"commit {count_files(len(proposal.plan.changes))} to {visible(where, 'show')}: {subject}"
        case StartPlan() | StopPlan() | PublishPlan():
            return _describe_process(proposal.plan)
        case DelegatePlan(work=work):
            return f"hand to a sub-agent: {_cut_for_title(work)}"
        case ReadPlan():
            return f"read {visible(proposal.name, 'show')}"
        case _:
            assert_never(proposal.plan)


def _describe_process(plan: StartPlan | StopPlan | PublishPlan) -> str:
    match plan:
        case StartPlan(spec=spec, display=display):
            thrown = ", ".join(visible(str(each.relative_to(spec.workspace)), "show") for each in spec.scratch)
            more = f"; what it writes to {thrown} is thrown away" if thrown else ""
            return f"start in the background: {_cut_for_title(display)}{more}"
        case StopPlan(process=process):
            return f"end the process {visible(process, 'show')}"
        case PublishPlan(process=process, port=port):
            return f"publish port {port} of the process {visible(process, 'show')} on this machine"
        case _:
            assert_never(plan)


def _cut_for_title(text: str) -> str:
    """Returns the first line of a text, cut for a title. If anything is cut, adds the digest of the whole text."""
    line = text.partition("\n")[0]
    cut = line if len(line) <= MAX_TITLE else line[:MAX_TITLE]
    if len(cut) == len(text):
        return visible(text, "show")
    whole = digest_bytes(text.encode(errors="replace"))[:19]
    return f"{visible(cut, 'show')}… ({len(text) - len(cut):,} characters more, shown below; {whole})"


def _command_text(plan: Plan) -> str | None:
    """Returns in full what is run, committed (and by whom), handed over, or done to folders, or None if there is
    nothing to say besides the diffs."""
    match plan:
        case CommandPlan(display=display) | StartPlan(display=display):
            return visible(display)
        case CommitPlan(author=author, message=message, remarks=remarks):
            lines = (f"git commit by {visible(author, 'show')}", *(visible(each, "show") for each in remarks))
            return "\n".join([*lines, "", visible(message.rstrip("\n"))])
        case WritePlan(folders=folders):
            return "\n".join(map(_describe_folder, folders)) or None
        case DelegatePlan(work=work):
            return visible(work)
        case ReadPlan() | StopPlan() | PublishPlan():
            return None
        case _:
            assert_never(plan)


def _describe_folder(folder: FolderChange) -> str:
    return f"{'make' if folder.made else 'remove'} the folder {visible(folder.path.relative, 'show')}"


def _describe_change(change: FileChange) -> str:
    name = visible(change.path.relative, "show")
    if change.moved_from is not None:
        return f"move {visible(change.moved_from.relative, 'show')} to {name}"
    if change.after is None:
        return f"delete {name}"
    text = f"{'create' if change.before is None else 'change'} {name}"
    return text if change.executable is None else f"{text} ({name_mode(change.executable)})"


def question_text(question: ApprovalRequired) -> str:
    """Returns what is asked, why, and exactly what would happen, with invisible characters spelled out."""
    lines = summarise(question)
    command = question.command or (shlex.join(question.argv) if question.argv else None)
    if command is not None:
        lines.append(f"Runs: {visible_again(command)}".replace("\n", "\n      "))
    if question.cwd is not None:
        lines.append(_one_line(f"In: {question.cwd}"))
    if question.hosts:
        lines.append(_one_line(f"With network to: {', '.join(question.hosts)}"))
    if question.near is not None:
        lines.append(_one_line(f"Reaches the process in the background: {question.near}"))
    lines += _for_the_session(question)
    lines += [visible_again(diff.diff) for diff in question.diffs]
    return "\n".join(lines)


def _for_the_session(question: ApprovalRequired) -> list[str]:
    rules = (question.session_rule, question.edits_rule)
    return [_one_line(f"This session: allow {rule}") for rule in rules if rule is not None]


def details_text(question: ApprovalRequired) -> str:
    """Returns which rules ask, and what each answer would remember or write into the permission file."""
    lines = [_one_line(question.title)]
    lines += [
        _one_line(f"Asked by: {reason.reason} (rule {reason.rule or reason.layer})") for reason in question.reasons
    ]
    lines += _for_the_session(question)
    if question.always_rule is not None:
        lines.append(_one_line(f"Always in this workspace: adds to permissions.yaml: {question.always_rule}"))
    if question.everywhere_rule is not None:
        lines.append(_one_line(f"Always in every workspace: adds instead: {question.everywhere_rule}"))
    return "\n".join(lines)


def summarise(question: ApprovalRequired) -> list[str]:
    """Returns the lines with the title, who asks and why, and the risk if it is high."""
    why = [_one_line(f"Why: {reason}") for reason in dict.fromkeys(each.reason for each in question.reasons)]
    where = [_one_line(f"In the session: {question.session_name}")] if question.session_name is not None else []
    who = [_one_line(f"Asked by a sub-agent: {question.asked_by}")] if question.asked_by is not None else []
    which = [f"Call {question.step_call} of {question.step_calls}"] if question.step_calls > 1 else []
    return [_one_line(question.title), *which, *where, *who, *why, *(["Risk: high"] if question.risk == "high" else [])]


def _one_line(text: str) -> str:
    """Returns visible text on one line, so that it cannot forge a further line of the question."""
    return visible_again(text, "show")
