"""The decision about one action: pure, and the same whatever the order of the rules (003 §Rule Evaluation Engine)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from remit_governance.capabilities import Claim, Token
from remit_governance.errors import ExtensionError
from remit_governance.policy.commands import is_script
from remit_governance.policy.rules import LayerName, Policy, Rule, Subject
from remit_governance.policy.scripts import parts_of
from remit_governance.values import Action, Decision, Reason, Verdict, strictest

NO_RULE = "no_rule"
RULE_ERROR = "rule_error"
EXTENSION_FAILED = "extension_failed"
TOKEN_ALLOW = "token_allow"  # noqa: S105 a reason's code
CONSTRAINT_UNMET = "constraint_unmet"
UNCLEAR_COMMAND = "unclear_command"
UNCLEAR_RULE = "builtin.unclear-command"
REVIEW_EACH_TIME = "rule_review_each_time"

_NOBODY_ALLOWED = Reason(
    code=NO_RULE,
    message="no rule explicitly allows this operation",
    verdict=Verdict.DENY,
    layer="default",
)


def evaluate(policy: Policy, action: Action, claim: Claim | None = None) -> Decision:
    """Deny where any rule denies, review where one asks for it, allow where one allows it, else deny.

    Reasons are those of every rule that spoke, by layer and name. A layer that denies ends it: later ones are not
    asked. An error inside a rule is that rule's deny, with code `rule_error`. A `script` is judged part by part, the
    strictest decision counts, and what is not certain about it is never allowed without a look. A `claim` that covers
    the action stands in for every layer but the built-in one; any other claim changes nothing.
    """
    covered = claim is not None and claim.refusal(action, policy.version) is None
    permit = _permit(claim.token) if claim is not None and covered else None
    return _one(policy, action, permit) if action.script is None else _script(policy, action, permit)


def _permit(token: Token) -> Reason:
    return Reason(TOKEN_ALLOW, f"capability token {token.nonce} covers this", Verdict.ALLOW, "token")


def _script(policy: Policy, action: Action, permit: Reason | None) -> Decision:
    parts = parts_of(action)
    decisions = [_one(policy, part, permit) for part in parts.actions]
    shadows = (_one(policy, part, permit) for part in parts.shadows)
    # A wrapper needs no rule that allows it; but where a rule denies it, that counts.
    decisions += [shadow for shadow in shadows if shadow.verdict is Verdict.DENY and shadow.rules]
    if parts.doubts:
        unclear = Reason(UNCLEAR_COMMAND, "; ".join(parts.doubts[:3]), Verdict.REQUIRE_REVIEW, "builtin", UNCLEAR_RULE)
        decisions.append(Decision(Verdict.REQUIRE_REVIEW, (unclear,)))
    whole = strictest(decisions)
    return Decision(whole.verdict, tuple(dict.fromkeys(whole.reasons)))


def _one(policy: Policy, action: Action, permit: Reason | None) -> Decision:
    subject = Subject.of(action)
    reasons: list[Reason] = []
    granted = False
    for layer in policy.layers:
        if permit is not None and layer.name != "builtin":
            continue
        for rule in layer.candidates(subject):
            for reason in _judge(rule, subject, layer.name):
                reasons.append(reason)
                granted |= rule.grants and reason.verdict is not Verdict.PASS
        if _denied(reasons):
            return Decision(Verdict.DENY, tuple(reasons))
    beyond = _extension(policy, action) if permit is None else (permit,)
    reasons.extend(beyond)
    if not (granted or beyond or _denied(reasons)):
        return Decision(Verdict.DENY, (_NOBODY_ALLOWED, *reasons))
    return Decision(max(r.verdict for r in reasons), tuple(reasons))


def _denied(reasons: Iterable[Reason]) -> bool:
    return any(reason.verdict is Verdict.DENY for reason in reasons)


def _extension(policy: Policy, action: Action) -> Sequence[Reason]:
    """What the rules say that are programs; one that cannot be asked denies (003 §Test Specifications 20)."""
    if policy.extension is None:
        return ()
    try:
        return policy.extension(action)
    except ExtensionError as error:
        return (Reason(EXTENSION_FAILED, f"{error}; {error.fix}", Verdict.DENY, "extension"),)
    except Exception as error:  # the same, whatever broke
        message = f"the extension rules failed: {type(error).__name__}"
        return (Reason(EXTENSION_FAILED, message, Verdict.DENY, "extension"),)


def _judge(rule: Rule, subject: Subject, layer: LayerName) -> Iterator[Reason]:
    """What the rule says: nothing where it does not apply or abstains, else one reason."""
    try:
        applies = rule.matches(subject) and not (rule.excepted is not None and rule.excepted(subject))
    except Exception as error:  # a rule that cannot be asked has to deny, whatever broke
        yield _reason(rule, layer, RULE_ERROR, Verdict.DENY, f"the rule failed: {type(error).__name__}")
        return
    if not applies:
        return
    match rule.verdict:
        case Verdict.PASS:
            return
        case Verdict.DENY:
            yield _reason(rule, layer, "rule_deny", Verdict.DENY, rule.reason)
        case Verdict.REQUIRE_REVIEW:
            code = "rule_review" if rule.standing else REVIEW_EACH_TIME
            yield _reason(rule, layer, code, Verdict.REQUIRE_REVIEW, rule.reason)
        case Verdict.ALLOW:
            yield _allow(rule, subject.action, layer)
        case _:
            assert_never(rule.verdict)


def _allow(rule: Rule, action: Action, layer: LayerName) -> Reason:
    """An allow whose constraint does not hold abstains, and says so. An action without a size has none to exceed.

    What a command does that is more than plain words is not known, so it is never allowed without a look.
    """
    limit = rule.constraints.max_file_size
    if limit is not None and action.size is not None and action.size > limit:
        why = f"{action.size} bytes exceed its max_file_size of {limit}"
        return _reason(rule, layer, CONSTRAINT_UNMET, Verdict.PASS, why)
    if is_script(action.command):
        why = "the command is more than plain words, so no rule knows what it runs"
        return _reason(rule, layer, UNCLEAR_COMMAND, Verdict.REQUIRE_REVIEW, why)
    return _reason(rule, layer, "rule_allow", Verdict.ALLOW, rule.reason)


def _reason(rule: Rule, layer: LayerName, code: str, verdict: Verdict, message: str) -> Reason:
    return Reason(
        code=code, message=message, verdict=verdict, layer=layer, rule=rule.name, file=rule.file, line=rule.line
    )
