"""Actions from audit records, judged again by a changed policy, and the proposal of a policy change (POL-13)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS

from remit_governance.audit.log.unfinished_calls import outcome_not_known
from remit_governance.audit.reading.query import AuditFilter, calls_of, latest_audit, query_audit
from remit_governance.audit.record import AuditEvent, AuditKind, AuditRecord, Entry, read_content
from remit_governance.audit.store import AuditLog
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import MAX_RECORDED, record_judgement, recorded_actions, recorded_reasons
from remit_governance.policy.language.action_form import form_of, parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.matching.command_match import command_words
from remit_governance.policy.review.replay import PastCalls, past_call, past_calls, replay
from remit_governance.policy.review.update import MANY_BREAKING, Proposal, update_action
from remit_governance.policy.rules import Policy
from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Action, Decision, Intent, Verdict

READ = Action("fs.read", "src/a.py", tool="read_file", intent=Intent.READ_FILE, caller_tags=frozenset({"model"}))
ALLOW = "capabilities: [{name: reads, match: {syscall: fs.read}, action: allow}]"
DENY = "capabilities: [{name: no-reads, match: {syscall: fs.read}, action: deny, reason: no}]"

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
actions = st.builds(
    Action,
    syscall=words,
    path=st.none() | words,
    tool=st.none() | words,
    intent=st.none() | st.sampled_from(Intent),
    command=st.none() | st.lists(words, min_size=1, max_size=3).map(tuple),
    host=st.none() | words,
    size=st.none() | st.integers(0, 10**12),
    caller_tags=st.frozensets(words, max_size=3),
    state=words,
    mode=words,
    cwd=st.none() | words,
)
scripts = words.map(lambda line: Action("process.exec", command=command_words(line), script=line, cwd="."))


def policy(text: str) -> Policy:
    return compile_policy([Source("policy.yaml", f"version: 1\n{text}")])


def as_is(text: str) -> str:
    return text


def announced(number: int, action: Action | None, word: str | None, **more: object) -> AuditRecord:
    kept = record_judgement((action,) if action else (), None, as_is)
    event = AuditEvent(AuditKind.TOOL_INTENT, actions=kept.actions, policy_decision=word, tool_call_id=f"c{number}")
    return AuditRecord(number, number, "", "", replace(event, **more))  # type: ignore[arg-type]


@given(actions | scripts)
def test_an_action_is_read_back_as_it_was_written(action: Action) -> None:
    assert parse_action(json.loads(json.dumps(form_of(action)))) == action


@given(st.lists(actions | scripts, min_size=1, max_size=3))
def test_a_record_keeps_actions_through_the_chain(judged: list[Action]) -> None:
    kept = record_judgement(tuple(judged), None, as_is)
    event = AuditEvent(AuditKind.TOOL_INTENT, actions=kept.actions, metadata=kept.notes)
    _, _, again = read_content(Entry.of(2, event).content(1).decode())
    assert again == event
    assert recorded_actions(again) == (tuple(judged) if kept.actions else ())


def test_secrets_of_an_action_are_redacted_string_by_string() -> None:
    """An escape before a secret in JSON (`\\n` ends in a letter) must not hide the secret."""
    token = "ghp_" + "a1" * 12
    action = Action("process.exec", script=f"echo\n{token}", command=("echo", token), path=f"x/{token}", host=token)
    kept = record_judgement((action, replace(action, script=None)), None, Redactor().redact)
    assert kept.actions is not None
    assert token not in kept.actions
    assert kept.notes == {"actions": "redacted"}


def test_too_many_characters_are_left_out_with_a_note() -> None:
    long = Action("process.exec", script="x" * MAX_RECORDED)
    kept = record_judgement((long,), None, as_is)
    assert kept.actions is None
    assert kept.notes["actions"].startswith("left out: 4")
    assert past_call(announced(1, None, "denied", metadata=kept.notes)) == SAYS.too_long_to_be_kept


def test_reasons_are_kept_unless_one_rule_allowed_it() -> None:
    assert record_judgement((READ,), evaluate(policy(ALLOW), READ), as_is).reasons is None
    refused = record_judgement((READ,), evaluate(policy(DENY), READ), as_is)
    told = recorded_reasons(AuditEvent(AuditKind.TOOL_INTENT, reasons=refused.reasons))
    assert told == ({"action": "deny", "rule": "no-reads", "reason": "no", "at": "policy.yaml:2"},)


def test_what_is_no_action_and_no_reason_is_none() -> None:
    for text in ("", "{", "7", "[7]", '[{"syscall": 7}]', "[" * 5000, 7):
        assert recorded_actions(AuditEvent(AuditKind.TOOL_INTENT, actions=text)) == ()
    for text in ("{", "7", "[7]", "[" * 5000, 7):
        assert recorded_reasons(AuditEvent(AuditKind.TOOL_INTENT, reasons=text)) == ()


def test_a_record_without_the_field_is_read_as_before_and_skipped() -> None:
    old = (
        b'{"caller":"model","input_summary":"","kind":"tool_intent","number":1,"policy_decision":"allowed",'
        b'"session_mode":"strict","state_machine_state":"idle","timestamp":5}'
    )
    _, _, event = read_content(old.decode())
    assert event.actions is None
    assert Entry.of(5, event).content(1) == old  # so that its hash stays valid
    assert past_call(AuditRecord(1, 5, "", "", event)) == SAYS.recorded_without_their_actions


def test_the_settled_outcome_of_a_call_does_not_repeat_what_was_judged() -> None:
    settled = outcome_not_known(announced(1, READ, "allowed").event)
    assert (settled.actions, settled.reasons) == (None, None)


def test_only_changed_verdicts_are_shown_and_allow_to_deny_is_breaking() -> None:
    past = past_calls([announced(n, READ, word) for n, word in ((3, "denied"), (2, "review_required"), (1, "allowed"))])
    done = replay(policy(DENY), past)
    assert [(c.call.record.number, c.call.was, c.breaking) for c in done.changes] == [
        (1, Verdict.ALLOW, True),
        (2, Verdict.REQUIRE_REVIEW, False),
    ]
    assert [c.call.record.number for c in done.breaking] == [1]
    assert replay(policy(ALLOW), past_calls([announced(1, READ, "allowed")])).changes == ()


@given(st.lists(st.sampled_from(["allowed", "allowed_by_token", "review_required", "denied", None])), st.booleans())
def test_replay_counts_each_record_once(words: list[str | None], kept: bool) -> None:
    records = [announced(n, READ if kept else None, word) for n, word in enumerate(words, 1)]
    past = past_calls(reversed(records), last=3)
    assert len(past.calls) <= 3
    if len(past.calls) < 3:
        assert len(past.calls) + sum(past.skipped.values()) == len(records)
    assert [c.record.number for c in past.calls] == sorted(c.record.number for c in past.calls)


def test_the_last_calls_are_taken_from_the_log_newest_first(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "audit.sqlite3") as log:
        for number in range(10):
            log.append(announced(number, READ, "allowed" if number % 2 else None).event)
    newest_first = list(latest_audit(log.path, AuditFilter(kind=AuditKind.TOOL_INTENT)))
    assert [record.number for record in newest_first] == list(range(10, 0, -1))
    past = past_calls(newest_first, last=2)
    assert [call.record.number for call in past.calls] == [8, 10]
    assert past.skipped == {SAYS.refused_before_policy_was_asked: 1}
    assert [record.number for record in query_audit(log.path, AuditFilter(number=4))] == [4]


def test_calls_are_put_together_from_their_records() -> None:
    kinds = (
        AuditKind.INTENT_SELECTED,
        AuditKind.APPROVAL_REQUIRED,
        AuditKind.APPROVAL_RESOLVED,
        AuditKind.TOOL_INTENT,
        AuditKind.TOOL_OUTCOME,
        AuditKind.TOOL_INTENT,
        AuditKind.APPROVAL_REQUIRED,
    )
    own = {"session_id": "s", "turn_id": "1", "tool_call_id": "c"}
    records = [AuditRecord(n, n, "", "", AuditEvent(kind, **own)) for n, kind in enumerate(kinds, 1)]  # type: ignore[arg-type]
    assert [call.numbers for call in calls_of(records)] == [(2, 3, 4, 5), (7, 6)]
    assert calls_of(records[1:3]) == ()


def proposal(after: str, breaking: int) -> Proposal:
    past = PastCalls(tuple(past_calls(announced(n, READ, "allowed") for n in range(breaking, 0, -1)).calls))
    return Proposal("/etc/policy.yaml", ALLOW, after, policy(DENY), replay(policy(DENY), past))


def test_a_phrase_is_needed_above_five_breaking_changes() -> None:
    assert not proposal(DENY, MANY_BREAKING).needs_phrase
    assert proposal(DENY, MANY_BREAKING + 1).needs_phrase


def test_the_phrase_is_for_one_change_only() -> None:
    one = proposal(DENY, 3)
    others = (
        proposal(DENY, 4),
        proposal(f"{DENY}\n", 3),
        replace(one, before=None),
        replace(one, target="/etc/other.yaml"),
    )
    assert one.phrase == proposal(DENY, 3).phrase
    assert len({one.phrase, *(other.phrase for other in others)}) == 5


def test_a_proposal_shows_its_diff() -> None:
    assert [line for line in proposal(DENY, 0).diff if line[0] in "+-"][2:] == [f"-{ALLOW}", f"+{DENY}"]
    assert not replace(proposal(DENY, 0), before=DENY).changes


def test_a_policy_update_is_always_reviewed_and_a_deny_stays_one() -> None:
    """POL-04: a built-in rule requires a review, whatever the files allow."""
    allowing = policy("capabilities: [{name: all, match: {}, action: allow}]")
    for path in (None, ".remit/policy.yaml"):
        decision = evaluate(allowing, update_action(path))
        assert (decision.verdict, decision.rules) == (Verdict.REQUIRE_REVIEW, ("builtin.policy-update",))
        denying = policy("capabilities: [{name: frozen, match: {syscall: policy.update}, action: deny}]")
        assert evaluate(denying, update_action(path)).verdict is Verdict.DENY


def test_an_empty_decision_keeps_no_reasons() -> None:
    assert record_judgement((), None, as_is).actions is None
    assert record_judgement((), Decision(Verdict.DENY, ()), as_is).reasons is None
