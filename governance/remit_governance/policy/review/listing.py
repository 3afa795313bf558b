"""All rules in force, each with what it says in a line, and those that can never have their way (protocol.md §4
`policy show`). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from remit_governance.errors import Problem
from remit_governance.policy.decision.builtin import BUILTIN, DENIED, READING
from remit_governance.policy.language.compile import Source, parse_policy
from remit_governance.policy.language.policy_form import MatchForm, RuleForm
from remit_governance.policy.language.rule_warnings import warnings_of
from remit_governance.policy.matching.covering import covers, folded_globs_cover
from remit_governance.values import Verdict

_VERDICTS: Mapping[str, Verdict] = {verdict.word: verdict for verdict in Verdict}


@dataclass(frozen=True, slots=True)
class ListedRule:
    """One rule as a person reads it. `project` is whether it came with the workspace; `dead` says why it can never do
    what it seems to, `shadowed_by` names a stricter rule that speaks wherever this one does."""

    name: str
    layer: str
    action: str
    match: str
    file: str | None = None
    line: int | None = None
    project: bool = False
    dead: tuple[str, ...] = ()
    shadowed_by: str | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    form: RuleForm
    source: Source
    line: int
    warnings: tuple[Problem, ...]


def list_rules(sources: Sequence[Source]) -> tuple[ListedRule, ...]:
    """The built-in rules, then those of the files in their order. Raises PolicyError where a file is no policy."""
    written = [rule for source in sources for rule in _written(source)]
    builtin = [ListedRule(rule.name, "builtin", rule.verdict.word, rule.reason) for rule in BUILTIN.rules]
    return (*builtin, *(_list_rule(rule, written) for rule in written))


def match_line(form: RuleForm) -> str:
    """Says in one line what a rule matches: `syscall fs.write, path_glob src/** or tests/**, except …`."""
    return f"{_describe(form.match)}{''.join(f', except {_describe(item)}' for item in form.except_)}"


def _describe(match: MatchForm) -> str:
    given = [(key, values) for key, values in match if values is not None]
    return ", ".join(f"{key} {' or '.join(values) or 'never'}" for key, values in given) or "everything"


def _written(source: Source) -> Iterator[_Written]:
    document, form = parse_policy(source.file, source.text)
    warnings = tuple(warnings_of(document, form))
    for i, rule in enumerate(form.capabilities):
        own = tuple(w for w in warnings if w.message.startswith(f"`{rule.name}` "))
        yield _Written(rule, source, document.mark(("capabilities", i))[0], own)


def _list_rule(rule: _Written, others: Sequence[_Written]) -> ListedRule:
    return ListedRule(
        name=rule.form.name,
        layer="yaml",
        action=rule.form.action,
        match=match_line(rule.form),
        file=rule.source.file,
        line=rule.line,
        project=rule.source.project,
        dead=tuple(f"{warning.message}; {warning.fix}" for warning in rule.warnings),
        shadowed_by=_shadow(rule.form, others),
    )


def _shadow(form: RuleForm, others: Sequence[_Written]) -> str | None:
    if form.action in {"pass", "deny"}:
        return None
    builtin = _builtin_shadow(form)
    return builtin or next((other.form.name for other in others if _shadows(other, form)), None)


def _shadows(other: _Written, form: RuleForm) -> bool:
    """A project's review is left out: it needs the allow that it turns into a question."""
    stricter = _VERDICTS[other.form.action] > _VERDICTS[form.action]
    grants = other.form.action == "deny" or not other.source.project
    return stricter and grants and _excepts_less(other.form, form) and covers(other.form.match, form.match)


def _excepts_less(wide: RuleForm, narrow: RuleForm) -> bool:
    """Tells whether the wide rule leaves out nothing but what the narrow one leaves out as well."""
    return all(any(mine.same(item) for mine in narrow.except_) for item in wide.except_)


def _builtin_shadow(form: RuleForm) -> str | None:
    """The built-in deny that refuses every write this rule is about."""
    syscalls, globs = form.match.syscall, form.match.path_glob
    if not syscalls or not globs or not all(s.startswith("fs.") and s not in READING for s in syscalls):
        return None
    return next((name for name, (_, refused) in DENIED.items() if folded_globs_cover(refused, globs)), None)
