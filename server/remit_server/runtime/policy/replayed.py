"""What a replay came to, for machines and in words: which calls would be decided otherwise (POL-13, EDI-12)."""

from __future__ import annotations

from contextlib import closing

from remit_governance.canonical import Json
from remit_governance.policy.language.compile import Source
from remit_governance.policy.review.replay import LAST, Change, Replay, replay
from remit_governance.values import Action, Decision, Reason
from remit_governance.visible import visible
from remit_server.runtime.policy.policies import as_setup_error, compile_texts, load_in_force, read_past_calls, sources
from remit_server.runtime.settings import Settings

MAX_SHOWN = 80


def preview(settings: Settings, text: Source, last: int = LAST) -> Replay:
    """Judges the last calls as if the policy file had this text; nothing is written (EDI-12).

    Raises SetupError where the text, or another file in force, cannot be used.
    """
    with closing(load_in_force(settings)) as in_force:
        with as_setup_error():
            policy = compile_texts(settings, sources(settings, text), in_force.policy)
        return replay(policy, read_past_calls(settings.audit_database, last))


def replay_payload(replay: Replay) -> dict[str, Json]:
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


def _payload(change: Change) -> dict[str, Json]:
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
