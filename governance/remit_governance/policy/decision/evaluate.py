"""The decision about one action: pure, and the same whatever the order of the rules (POL-01)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from remit_governance.authority import beyond_authority
from remit_governance.capabilities import Claim
from remit_governance.errors import ExtensionError
from remit_governance.policy.decision.risk import rated_parts, risk_of
from remit_governance.policy.matching.command_match import is_script, reads_history
from remit_governance.policy.matching.scripts import Parts
from remit_governance.policy.rules import IndexedRule, Policy, Subject
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Action, Decision, Reason, Verdict, strictest

NO_RULE = "no_rule"
RULE_ERROR = "rule_error"
EXTENSION_FAILED = "extension_failed"
TOKEN_ALLOW = "token_allow"  # noqa: S105 a reason's code
CONSTRAINT_UNMET = "constraint_unmet"
BEYOND_AUTHORITY = "beyond_authority"
AUTHORITY = "authority"
"""The layer of the reason that an action is beyond its caller's authority (AGT-16)."""
UNCLEAR_COMMAND = "unclear_command"
UNCLEAR_RULE = "builtin.unclear-command"

_QUICK_STEPS = 500_000
"""The characters of globs times the characters of a path, up to which RE2 takes only a few milliseconds."""
_PASS, _ALLOW, _DENY = Verdict.PASS, Verdict.ALLOW, Verdict.DENY  # a global is found faster than a member
_NOBODY_ALLOWED = Reason(
    code=NO_RULE,
    message="no rule explicitly allows this operation",
    verdict=Verdict.DENY,
    layer="default",
)
_NOTHING_SAID = Decision(Verdict.DENY, (_NOBODY_ALLOWED,))


def evaluate(policy: Policy, action: Action, claim: Claim | None = None) -> Decision:
    """Returns the decision: deny if any rule denies, review if one asks for it, allow if one allows, else deny.

    The reasons are those of every rule that spoke, by layer and name. After a layer that denies, later layers are not
    asked. An error inside a rule is that rule's deny, with the code `rule_error`. A `script` is judged part by part:
    the strictest decision counts, and a script with a doubt is never allowed without a review. The review of a write by
    a `held` script is left for later. A `claim` that covers the action replaces every layer but the built-in one; any
    other claim changes nothing. An action beyond its caller's authority is denied before any rule is asked.
    """
    if (beyond := beyond_authority(action)) is not None:
        return Decision(_DENY, (Reason(BEYOND_AUTHORITY, beyond, _DENY, AUTHORITY),))
    permit = None
    if claim is not None and claim.refusal(action, policy.version) is None:
        permit = Reason(TOKEN_ALLOW, f"capability token {claim.token.nonce} covers this", Verdict.ALLOW, "token")
    if action.syscall != "process.exec" or not policy.programs.project:
        return _judge_command(policy, action, permit)
    # A rule may allow only what is risky, so what a project's rows make riskier is also judged without these rows.
    without = replace(policy, programs=replace(policy.programs, project={}))
    return strictest([_judge_command(without, action, permit), _judge_command(policy, action, permit)])


def _judge_command(policy: Policy, action: Action, permit: Reason | None) -> Decision:
    if action.script is not None:
        return _script(policy, action, permit)
    if policy.programs.files and action.syscall == "process.exec":
        action = replace(action, risk=risk_of(action, policy.programs))
    decision = _command(policy, action, permit)
    return strictest([decision, _unclear(action.doubts)]) if action.doubts else decision


def may_take_long(policy: Policy, actions: Iterable[Action]) -> bool:
    """Tells whether `evaluate` may take more than a few milliseconds for one of the actions, which is too long for an
    event loop.
    """
    return policy.extension is not None or any(_is_slow(policy, action) for action in actions)


def _is_slow(policy: Policy, action: Action) -> bool:
    if action.script is not None or action.path is None:
        return action.script is not None
    subject = Subject.of(action)
    wild = sum(each.rule.wild for layer in policy.layers for each in layer.candidates(subject))
    return wild * len(action.path) > _QUICK_STEPS


def _command(policy: Policy, action: Action, permit: Reason | None) -> Decision:
    decision = _evaluate_simple(policy, action, permit)
    if not action.also:
        return decision
    # Another name of a command needs no rule that allows it, but a rule that denies it counts.
    named = (_evaluate_simple(policy, replace(action, command=argv, also=()), permit) for argv in action.also)
    return strictest([decision, *(each for each in named if each.verdict is Verdict.DENY and each.rules)])


def _script(policy: Policy, action: Action, permit: Reason | None) -> Decision:
    parts = rated_parts(action, policy.programs)
    judged = ((part, _evaluate_simple(policy, part, permit)) for part in parts.actions)
    decisions = [decision for part, decision in judged if not _deferred_write(part, decision)]
    shadows = (_evaluate_simple(policy, part, permit) for part in parts.shadows)
    # A wrapper needs no rule that allows it, but a rule that denies it counts.
    decisions += [shadow for shadow in shadows if shadow.verdict is Verdict.DENY and shadow.rules]
    doubts = [*_past(action, parts), *parts.doubts, *_suspicions(policy, parts.suspects, permit)][:3]
    if doubts:
        decisions.append(_unclear(doubts))
    return strictest(decisions)


def _unclear(doubts: Sequence[str]) -> Decision:
    """Returns the review that doubts ask for, whatever the rules say."""
    unclear = Reason(UNCLEAR_COMMAND, "; ".join(doubts), Verdict.REQUIRE_REVIEW, "builtin", UNCLEAR_RULE)
    return Decision(Verdict.REQUIRE_REVIEW, (unclear,))


def _past(action: Action, parts: Parts) -> Iterator[str]:
    """Yields a doubt if a command of git may show files that policy does not let anybody read."""
    if action.history and reads_history(part.command or () for part in parts.actions):
        yield "git's history contains files that policy does not let be read, and this may show them"


def _deferred_write(part: Action, decision: Decision) -> bool:
    """Tells whether the review of a write may wait, because the file is held back and will be judged and shown with its
    final content.
    """
    return part.held and part.syscall == "fs.write" and decision.verdict is Verdict.REQUIRE_REVIEW


def _suspicions(policy: Policy, suspects: Iterable[Action], permit: Reason | None) -> Iterator[str]:
    """Yields a doubt for each suspect that a rule denies. Rules that are programs are not asked, because it is not
    certain that any suspect runs."""
    rules = replace(policy, extension=None) if policy.extension else policy
    for suspect in suspects:
        judged = _evaluate_simple(rules, suspect, permit)
        if judged.verdict is Verdict.DENY and judged.rules:
            yield f"it may run `{shorten(' '.join(suspect.command or ()), 60)}`"


def _evaluate_simple(policy: Policy, action: Action, permit: Reason | None) -> Decision:
    subject = Subject.of(action)
    reasons: list[Reason] = []
    worst, granted = _PASS, False
    for layer in policy.layers:
        if permit is not None and layer.name != "builtin":
            continue
        for indexed in layer.candidates(subject):
            reason = _judge(indexed, subject)
            if reason is not None:
                reasons.append(reason)
                worst = max(worst, reason.verdict)
                granted |= indexed.rule.grants and indexed.rule.verdict is not _DENY and reason.verdict is not _PASS
        if worst is _DENY:
            return Decision(_DENY, tuple(reasons))
    if permit is not None or policy.extension is not None:
        for reason in _beyond(policy, action, permit):
            reasons.append(reason)
            worst, granted = max(worst, reason.verdict), True
    if granted or worst is _DENY:
        return Decision(worst, tuple(reasons))
    return Decision(_DENY, (_NOBODY_ALLOWED, *reasons)) if reasons else _NOTHING_SAID


def _beyond(policy: Policy, action: Action, permit: Reason | None) -> Sequence[Reason]:
    """Returns the reasons that follow those of all layers: the permit, or else those of rules that are programs.

    If these rules cannot be asked, that is a deny (POL-01).
    """
    if permit is not None:
        return (permit,)
    if policy.extension is None:
        return ()
    try:
        return policy.extension(action)
    except ExtensionError as error:
        return (Reason(EXTENSION_FAILED, f"{error}; {error.fix}", Verdict.DENY, "extension"),)
    except Exception as error:  # a deny as well, whatever broke
        message = f"the extension rules failed: {type(error).__name__}"
        return (Reason(EXTENSION_FAILED, message, Verdict.DENY, "extension"),)


def _judge(indexed: IndexedRule, subject: Subject) -> Reason | None:
    """Returns the reason of a rule, or None if the rule does not apply or abstains."""
    try:
        applies = indexed.rule.applies(subject)
        if not applies and indexed.rule.may_apply(subject):
            return indexed.reason(UNCLEAR_COMMAND, Verdict.REQUIRE_REVIEW, f"it may be denied: {indexed.says.message}")
    except Exception as error:  # a rule that cannot be asked has to deny, whatever broke
        return indexed.reason(RULE_ERROR, Verdict.DENY, f"the rule failed: {type(error).__name__}")
    if not applies or indexed.rule.verdict is _PASS:
        return None
    return _allow(indexed, subject.action) if indexed.rule.verdict is _ALLOW else indexed.says


def _allow(indexed: IndexedRule, action: Action) -> Reason:
    """Returns the reason of a rule that allows. If one of its constraints is not met, the rule abstains and says why;
    an action without a size exceeds no size.

    A command that is not plain words gets a review instead, because it is not known what it does.
    """
    unmet = indexed.rule.constraints.unmet(action)
    if unmet is not None:
        return indexed.reason(CONSTRAINT_UNMET, Verdict.PASS, unmet)
    if is_script(action.command):
        why = "the command is not plain words, so no rule can tell what it runs"
        return indexed.reason(UNCLEAR_COMMAND, Verdict.REQUIRE_REVIEW, why)
    return indexed.says
