"""A question as a permission request, and what its answer comes to (TRN-14): a yes is for once, whatever was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp import schema

from remit_governance.visible import visible_again
from remit_server.contract import ApprovalAnswer, ApprovalRequired
from remit_server.harness.approval.proposed_texts import ProposedText
from remit_server.transports.acp.updates import diff_of, in_text, kind_of

_FILE = {"path", "before_digest", "after_digest", "created", "deleted", "moved_from"}
ALLOW, ALWAYS, DENY = "allow", "allow_and_show_rule", "deny"


def request_of(
    session: str, question: ApprovalRequired, texts: Sequence[ProposedText], root: Path
) -> schema.RequestPermissionRequest:
    """Returns the request: what will run, byte for byte, and the digest that an answer is bound to."""
    shown: list[Any] = [*(diff_of(root, each) for each in texts), in_text(describe(question))]
    options = [schema.PermissionOption(option_id=ALLOW, name="Allow", kind="allow_once")]
    if question.always_rule is not None:
        name = "Allow this once, and show the rule that would always allow it"
        options.append(schema.PermissionOption(option_id=ALWAYS, name=name, kind="allow_always"))
    options.append(schema.PermissionOption(option_id=DENY, name="Deny", kind="reject_once"))
    call = schema.ToolCallUpdate(
        tool_call_id=question.tool_call_id,
        title=question.title,
        kind=kind_of(question.tool, has_file=bool(texts)),
        status="pending",
        content=shown,
        raw_input=_bound(question),
        locations=[schema.ToolCallLocation(path=str(root / each.path)) for each in texts] or None,
    )
    return schema.RequestPermissionRequest(session_id=session, tool_call=call, options=options)


def describe(question: ApprovalRequired) -> str:
    """Returns the question in words: why, what will run, where it reaches, the digest."""
    lines = [f"{question.title} · risk {question.risk}"]
    if question.session_name is not None:
        lines.append(f"In the session: {visible_again(question.session_name, 'show')}")
    if question.asked_by is not None:
        lines.append(f"Asked by a sub-agent: {visible_again(question.asked_by, 'show')}")
    lines += dict.fromkeys(visible_again(reason.reason) for reason in question.reasons)
    if question.command is not None:
        where = f"in {question.cwd}" if question.cwd else "in the folder of the session"
        reach = f"network only to {', '.join(question.hosts)}" if question.hosts else "no network"
        lines.append(f"$ {question.command}\n{where}, in the sandbox, {reach}")
    if question.near is not None:
        lines.append(f"Reaches the process in the background: {visible_again(question.near, 'show')}")
    lines += [diff.diff for diff in question.diffs if diff.diff]
    return "\n".join([*lines, f"Your answer is for exactly this: {question.digest}"])


def _bound(question: ApprovalRequired) -> dict[str, Any]:
    """Returns what the answer is bound to, for programs."""
    told = question.model_dump(
        mode="json",
        include={"approval_id", "digest", "effect", "argv", "command", "cwd", "hosts", "near", "risk", "deadline"},
    )
    told["files"] = [
        each.model_dump(
            mode="json", include={"path", "before_digest", "after_digest", "created", "deleted", "moved_from"}
        )
        for each in question.diffs
    ]
    return told


def chosen(answer: schema.RequestPermissionResponse) -> str:
    """Returns the option that was chosen; all but a clear yes is a no."""
    outcome = answer.outcome
    named = outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else DENY
    return named if named in {ALLOW, ALWAYS} else DENY


def answer_of(question: ApprovalRequired, option: str) -> ApprovalAnswer:
    """Returns the answer to exactly this question, for once."""
    return ApprovalAnswer(
        approval_id=question.approval_id, decision="deny" if option == DENY else "allow", digest=question.digest
    )


def proposed_rule(question: ApprovalRequired, permissions: Path) -> str:
    """Returns what is said of the rule that would always allow it: nobody but the person writes it."""
    rule = visible_again(question.always_rule or "", "show")
    return f"Allowed once. To always allow it, add this line to `{permissions}`:\n\n```\n{rule}\n```\n\n"
