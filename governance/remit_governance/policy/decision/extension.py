"""Rules that are programs: what they are asked, and what their answers mean; pure (EXT-01).

Their text is only read here and never run. An `Ask` runs them in a process without files and network.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from remit_governance.canonical import Json, digest
from remit_governance.errors import ExtensionError, PolicyError, Problem
from remit_governance.policy.decision.evaluate import RULE_ERROR, UNCLEAR_COMMAND
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.matching.command_match import is_script
from remit_governance.policy.matching.paths import normalise
from remit_governance.policy.rules import Extension, Policy
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Action, Reason, Verdict
from remit_governance.visible import visible

MAX_REASON = 500
"""The most characters of a rule's reason, as in policy files."""

_VERDICTS = {verdict.word: verdict for verdict in Verdict}
_CODES = {Verdict.ALLOW: "rule_allow", Verdict.REQUIRE_REVIEW: "rule_review", Verdict.DENY: "rule_deny"}
_NOT_UNDERSTOOD = "the extension rules' answers cannot be understood"
_CORRECT = "correct the rule's file, or remove it"


@dataclass(frozen=True, slots=True)
class ExtensionRule:
    """One file of a person's `rules/`: the rule's name, the file's text, the line of `def rule`, and the syscalls that
    the rule is asked about, or None for all.
    """

    name: str
    file: str
    line: int
    text: str
    syscalls: frozenset[str] | None = None

    def hears_of(self, action: Action) -> bool:
        """Tells whether the rule is asked about this action."""
        return self.syscalls is None or action.syscall in self.syscalls


Facts = dict[str, Json]
"""An action as rules that are programs get it."""

Ask = Callable[[Sequence[str], Facts], Json]
"""Asks the rules with these names at once, and returns their answers in the same order. Raises ExtensionError.

An answer is `{verdict, reason}` with a word and a text or null, or `{error}` if the rule failed.
"""


def read_rule(file: str, stem: str, text: str) -> ExtensionRule:
    """Returns the rule in a file's text; `stem` is the file's name without its ending. Raises PolicyError with the
    place of the fault."""
    try:
        module = ast.parse(text, file)
        compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        raise _wrong(file, line, column, error.msg, "correct the Python") from None
    except (ValueError, RecursionError, MemoryError) as error:
        why = str(error) if isinstance(error, ValueError) else "the file is nested too deeply"
        raise _wrong(file, 1, 1, why, "correct the Python") from None
    rule = _definition(file, module)
    return ExtensionRule(f"extension.{stem}", file, rule.lineno, text, _syscalls(file, module))


def _definition(file: str, module: ast.Module) -> ast.FunctionDef:
    found = [n for n in module.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == "rule"]
    if not found:
        raise _wrong(file, 1, 1, "the file defines no rule", "add `def rule(action):`")
    rule = found[-1]
    if not isinstance(rule, ast.FunctionDef):
        raise _wrong(file, rule.lineno, rule.col_offset + 1, "`rule` is async", "write `def rule(action):`")
    given = rule.args
    plain = len(given.posonlyargs) + len(given.args)
    takes_one = plain - len(given.defaults) <= 1 and (plain >= 1 or given.vararg is not None)
    if not takes_one or None in given.kw_defaults:
        raise _wrong(
            file,
            rule.lineno,
            rule.col_offset + 1,
            "`rule` has to take one argument",
            "write `def rule(action):`",
        )
    return rule


def _syscalls(file: str, module: ast.Module) -> frozenset[str] | None:
    """Returns the syscalls in the file's `SYSCALLS`, or None if it has none. The assignment is read from the syntax
    tree, because nothing of the file runs here."""
    for node in reversed(module.body):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(isinstance(target, ast.Name) and target.id == "SYSCALLS" for target in targets):
            continue
        value = node.value
        elements = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else []
        words = [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str) and e.value]
        if not words or len(words) != len(elements):
            fix = 'write it like `SYSCALLS = ("fs.write",)`'
            raise _wrong(file, node.lineno, node.col_offset + 1, "`SYSCALLS` is not a tuple of words", fix)
        return frozenset(words)
    return None


def _wrong(file: str, line: int, column: int, message: str, fix: str) -> PolicyError:
    return PolicyError((Problem(file, line, column, message, fix),))


def with_extension(policy: Policy, rules: Sequence[ExtensionRule], ask: Ask) -> Policy:
    """Returns the policy with these rules. Its version also depends on their texts."""
    if not rules:
        return policy
    texts: list[Json] = [[rule.name, rule.text] for rule in rules]
    return replace(
        policy,
        version=digest([policy.version, texts]),
        extension=extension_of(rules, ask),
        files=(*policy.files, *(rule.file for rule in rules)),
    )


def extension_of(rules: Sequence[ExtensionRule], ask: Ask) -> Extension:
    """Returns the function by which `evaluate` asks these rules. It calls `ask` only if a rule is asked about the
    action."""

    def extension(action: Action) -> Sequence[Reason]:
        asked = [rule for rule in rules if rule.hears_of(action)]
        if not asked:
            return ()
        return reasons_of(asked, action, ask([rule.name for rule in asked], facts_of(action)))

    return extension


def facts_of(action: Action) -> Facts:
    """Returns the action as JSON, with its path normalised and with its risk."""
    return {
        "syscall": action.syscall,
        "path": None if action.path is None else normalise(action.path),
        "tool": action.tool,
        "intent": action.intent,
        "command": None if action.command is None else list(action.command),
        "cwd": action.cwd,
        "host": action.host,
        "size": action.size,
        "caller_tags": sorted(action.caller_tags),
        "state": action.state,
        "mode": action.mode,
        "risk": risk_of(action),
    }


def reasons_of(rules: Sequence[ExtensionRule], action: Action, answers: Json) -> tuple[Reason, ...]:
    """Returns the reasons that the answers of these rules give, in the same order. A rule that abstains gives none.

    A rule that failed denies. Raises ExtensionError if the answers cannot be understood.
    """
    if not isinstance(answers, list) or len(answers) != len(rules):
        raise ExtensionError(_NOT_UNDERSTOOD, "there is not one answer for each rule", _CORRECT)
    reasons = (_reason(rule, action, answer) for rule, answer in zip(rules, answers, strict=True))
    return tuple(reason for reason in reasons if reason is not None)


def _reason(rule: ExtensionRule, action: Action, answer: Json) -> Reason | None:
    if not isinstance(answer, Mapping):
        raise ExtensionError(_NOT_UNDERSTOOD, f"the answer of `{rule.name}` is not an object", _CORRECT)
    error, word, said = answer.get("error"), answer.get("verdict"), answer.get("reason")
    if isinstance(error, str):
        return _reason_of(rule, RULE_ERROR, Verdict.DENY, f"the rule failed: {error}")
    if not isinstance(word, str) or word not in _VERDICTS or not isinstance(said, str | None):
        raise ExtensionError(_NOT_UNDERSTOOD, f"`{rule.name}` gave no verdict", _CORRECT)
    verdict = _VERDICTS[word]
    if verdict is Verdict.PASS:
        return None
    if verdict is Verdict.ALLOW and is_script(action.command):
        why = "the command is not plain words, so no rule can tell what it runs"
        return _reason_of(rule, UNCLEAR_COMMAND, Verdict.REQUIRE_REVIEW, why)
    return _reason_of(rule, _CODES[verdict], verdict, said or f"rule {rule.name}")


def _reason_of(rule: ExtensionRule, code: str, verdict: Verdict, message: str) -> Reason:
    # Made visible, because a reason may quote the path that it is about.
    shown = shorten(visible(message, "show"), MAX_REASON)
    return Reason(code, shown, verdict, "extension", rule.name, rule.file, rule.line)


@dataclass(slots=True)
class ScriptedRules:
    """An `Ask` for tests that answers from a table by rule. `asked` are the facts that it was asked about, in order."""

    answers: Mapping[str, Json]
    asked: list[Facts] = field(default_factory=list[Facts])

    def __call__(self, names: Sequence[str], facts: Facts) -> Json:
        """Returns the table's answers; a rule that is not in it abstains."""
        self.asked.append(facts)
        return [self.answers.get(name, {"verdict": "pass", "reason": None}) for name in names]
