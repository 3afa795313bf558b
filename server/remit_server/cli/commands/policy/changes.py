"""Draws changed verdicts, for `remit policy replay`, `remit policy update` and `remit audit why`."""

from __future__ import annotations

from collections.abc import Iterator

from remit_governance.policy.review.replay import Change, Replay
from remit_governance.values import Action, Decision, Reason
from remit_governance.visible import visible
from remit_server.cli.console import style_text

MAX_SHOWN = 80


def change_lines(replay: Replay) -> Iterator[str]:
    """Yields a line for every changed verdict, then the numbers of changed and skipped ones."""
    for change in replay.changes:
        yield _line(change)
    yield _count_words(replay)


def replay_payload(replay: Replay) -> dict[str, object]:
    """Returns the changed verdicts as JSON."""
    return {
        "judged": replay.judged,
        "changed": [_payload(change) for change in replay.changes],
        "breaking": len(replay.breaking),
        "skipped": dict(replay.skipped),
    }


def deciding_rules(decision: Decision) -> str:
    """Returns the deciding rules, each with its place: `no-secrets (policy.yaml:7)`."""
    carried = dict.fromkeys(reason for reason in decision.reasons if reason.verdict is decision.verdict)
    return ", ".join(_place(reason) for reason in carried)


def about(action: Action) -> str:
    """Returns an action's path or command on one line."""
    command = action.script or " ".join(action.command or ())
    text = visible(command or action.path or action.host or "", "show")
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _place(reason: Reason) -> str:
    place = f" ({reason.file}:{reason.line})" if reason.file else ""
    return f"{reason.rule or reason.message}{place}"


def _line(change: Change) -> str:
    record = change.call.record
    what = f"{record.event.tool_name or change.call.actions[0].syscall} {about(change.call.actions[0])}".rstrip()
    mark = f"{style_text('[BREAKING]', 'red')} " if change.breaking else ""
    verdicts = f"{change.call.was.word} → {change.now.verdict.word}"
    return f"{mark}record {record.number}: {what}: {verdicts} by {deciding_rules(change.now)}"


def _count_words(replay: Replay) -> str:
    calls = f"{replay.judged} call{'' if replay.judged == 1 else 's'} judged again"
    changed = f"{len(replay.changes) or 'none'} would be decided differently"
    breaking = f", {len(replay.breaking)} of them [BREAKING]" if replay.breaking else ""
    skipped = "".join(f"; {count} skipped: {why}" for why, count in sorted(replay.skipped.items()))
    return f"{calls}: {changed}{breaking}{skipped}"


def _payload(change: Change) -> dict[str, object]:
    record = change.call.record
    return {
        "number": record.number,
        "tool_call_id": record.event.tool_call_id,
        "session_id": record.event.session_id,
        "tool": record.event.tool_name,
        "about": [about(action) for action in change.call.actions],
        "was": change.call.was.word,
        "was_rule": record.event.policy_rule_name,
        "now": change.now.verdict.word,
        "now_rules": list(change.now.rules),
        "now_by": deciding_rules(change.now),
        "breaking": change.breaking,
        "redacted": record.event.metadata.get("actions") == "redacted",
    }
