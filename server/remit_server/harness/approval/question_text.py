"""A question as plain text, for whoever shows text and nothing more: what is asked, why, and exactly what would happen
(APP-03)."""

from __future__ import annotations

import shlex

from remit_governance.visible import visible_again
from remit_server.contract import ApprovalRequired


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
    """Returns which rules ask, and what each answer would remember, as a rule where it writes one."""
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
    """Returns the title, the reason for the question, and the risk."""
    why = [_one_line(f"Why: {reason}") for reason in dict.fromkeys(each.reason for each in question.reasons)]
    where = [_one_line(f"In the session: {question.session_name}")] if question.session_name is not None else []
    who = [_one_line(f"Asked by a sub-agent: {question.asked_by}")] if question.asked_by is not None else []
    which = [f"Call {question.step_call} of {question.step_calls}"] if question.step_calls > 1 else []
    return [_one_line(question.title), *which, *where, *who, *why, *(["Risk: high"] if question.risk == "high" else [])]


def _one_line(text: str) -> str:
    """Returns visible text on one line, so that it cannot forge a further line of the question."""
    return visible_again(text, "show")
