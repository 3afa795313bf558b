"""A rule held to its own examples (POL-06)."""

from __future__ import annotations

from collections.abc import Iterator

from remit_governance.errors import ActionError, Problem
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.document import Document, Place
from remit_governance.policy.language.policy_form import RuleForm
from remit_governance.policy.rules import Rule, Subject


def example_faults(form: RuleForm, rule: Rule, document: Document, place: Place) -> Iterator[Problem]:
    """One problem for each example that is no action, or that the rule takes the other way; `place` is the rule's."""
    syscalls = form.match.syscall or ()
    for key, wanted in (("match", True), ("not_match", False)):
        examples = form.examples.match if wanted else form.examples.not_match
        for i, example in enumerate(examples):
            at: Place = (*place, "examples", key, i)
            given = example if "syscall" in example or not syscalls else {"syscall": syscalls[0], **example}
            try:
                subject = Subject.of(parse_action(given))
            except ActionError as error:
                yield document.problem(at, f"the example of `{form.name}` is no action: {error.why}", error.fix)
                continue
            if _applies(rule, subject) is not wanted:
                problem = "does not match" if wanted else "matches"
                yield document.problem(at, f"`{form.name}` {problem} this example", "correct the rule or the example")


def _applies(rule: Rule, subject: Subject) -> bool:
    named = rule.syscalls is None or subject.action.syscall in rule.syscalls
    return named and rule.applies(subject)
