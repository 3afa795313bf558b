"""The person's standing answers, after policy has spoken: they tighten, and answer reviews where a rule permits
(002 §3.4 Security Model: final_deny → session memory → overrides → deny → allow → default).

Nothing here lifts a policy's deny, and a remembered "allow" never outranks an explicit deny.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, StrictStr

from remit_governance.policy.commands import command_prefix, is_script, starts_with
from remit_governance.policy.file import Commands, Form, Globs, Word, Words
from remit_governance.policy.globs import compile_globs
from remit_governance.policy.paths import normalise
from remit_governance.policy.rules import REVIEW_EACH_TIME
from remit_governance.policy.scripts import parts_of
from remit_governance.values import Action, Decision, Verdict

AnswerWord = Literal["allow", "ask", "deny", "final_deny"]
AnswerSource = Literal["policy", "final_deny", "session", "override", "deny", "allow", "default"]


class PermissionRule(Form):
    """What a standing answer is about: every key that is given has to hold, by any of its values.

    `path`, `argv` and `cwd` are exact: one file, one whole command with nothing before, after or in place of a word.
    """

    tool: Words | None = None
    syscall: Words | None = None
    path: Words | None = None
    path_glob: Globs | None = None
    command: Commands | None = None
    argv: Annotated[tuple[StrictStr, ...], Field(min_length=1)] | None = None
    cwd: Word | None = None

    def concerns(self, action: Action) -> bool:
        """Whether this action, or any part of its script, is one of those meant: how a rule that stops is read."""
        if action.script is None:
            return self._holds(action)
        parts = parts_of(action)
        return self.covers(action) or any(self._holds(part) for part in (*parts.actions, *parts.shadows))

    def covers(self, action: Action) -> bool:
        """Whether this action, or every part of its script, is one of those meant: how a rule that allows is read.

        An `argv` is the whole command line: `git status` is not a part of `git status && x`.
        """
        if action.script is None or self.argv is not None:
            return self._holds(action)
        return all(self._holds(part) for part in parts_of(action).actions)

    def _holds(self, action: Action) -> bool:
        path = None if action.path is None else normalise(action.path)
        command = action.command
        return (
            (self.tool is None or action.tool in self.tool)
            and (self.syscall is None or action.syscall in self.syscall)
            and (self.path is None or (path is not None and path in map(normalise, self.path)))
            and (self.path_glob is None or (path is not None and compile_globs(self.path_glob)(path)))
            and (self.argv is None or command == self.argv)
            and (self.cwd is None or (action.cwd is not None and normalise(action.cwd) == normalise(self.cwd)))
            and (
                self.command is None
                or (command is not None and any(starts_with(command, command_prefix(words)) for words in self.command))
            )
        )


class Override(PermissionRule):
    """An answer that goes before the lists, for exceptions from them."""

    answer: Literal["allow", "ask", "deny"]


class PermissionConfig(Form):
    """The person's configuration. `default_action` speaks of what policy allows; a review nothing answers is asked."""

    version: Literal[1] = 1
    final_deny: tuple[PermissionRule, ...] = ()
    overrides: tuple[Override, ...] = ()
    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    default_action: Literal["allow", "ask", "deny"] = "allow"


@dataclass(frozen=True, slots=True, order=True)
class StandingRule:
    """One exact action answered for the session: this tool on this path, or this argv in this folder."""

    tool: str
    syscall: str
    path: str | None = None
    command: tuple[str, ...] | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What the person answered for this session."""

    allowed: frozenset[StandingRule] = frozenset()
    denied: frozenset[StandingRule] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be done about an action, why, and which part of the configuration said so."""

    word: AnswerWord
    reason: str
    source: AnswerSource


def standing_rule(action: Action) -> StandingRule | None:
    """The exact rule a session answer about this action would be; None where there is nothing exact to remember."""
    if action.tool is None or (action.path is None and action.command is None):
        return None
    path = None if action.path is None else normalise(action.path)
    return StandingRule(action.tool, action.syscall, path, action.command, action.cwd)


def remember(memory: Standing, rules: tuple[StandingRule, ...], decision: Literal["allow", "deny"]) -> Standing:
    """The memory with these answers; the latest answer about a rule counts."""
    new = frozenset(rules)
    if decision == "allow":
        return Standing(memory.allowed | new, memory.denied - new)
    return Standing(memory.allowed - new, memory.denied | new)


def permits_standing(decision: Decision) -> bool:
    """Whether every rule that wants a review lets it be answered in advance."""
    return all(reason.code != REVIEW_EACH_TIME for reason in decision.reasons)


def decide(config: PermissionConfig, memory: Standing, action: Action, policy_decision: Decision) -> Answer:
    """The answer for one action, in the seed's order; never laxer than the policy's decision."""
    if any(rule.concerns(action) for rule in config.final_deny):
        return Answer("final_deny", "your configuration forbids this for good", "final_deny")
    if policy_decision.verdict is Verdict.DENY or policy_decision.verdict is Verdict.PASS:
        return Answer("deny", policy_decision.deciding.message, "policy")
    answer = _configured(config, memory, action)
    if policy_decision.verdict is Verdict.ALLOW or answer.word != "allow":
        return answer
    # A rule cannot have meant a command that is not certain; an answer for the session was about its exact text.
    if answer.source == "default" or (_unclear(action) and answer.source != "session"):
        return Answer("ask", policy_decision.deciding.message, "policy")
    if not permits_standing(policy_decision):
        return Answer("ask", "this review is asked each time", "policy")
    return answer


def _unclear(action: Action) -> bool:
    return is_script(action.command) if action.script is None else bool(parts_of(action).doubts)


def _configured(config: PermissionConfig, memory: Standing, action: Action) -> Answer:
    """The configuration's own word, in the seed's order after `final_deny`."""
    denied = any(rule.concerns(action) for rule in config.deny)
    rule = standing_rule(action)
    if rule in memory.denied:
        return Answer("deny", "you refused this for the session", "session")
    # A remembered allow answers questions; what the configuration denies is no question.
    if rule in memory.allowed and not denied:
        return Answer("allow", "you allowed this for the session", "session")
    for override in config.overrides:
        if override.covers(action) if override.answer == "allow" else override.concerns(action):
            return Answer(override.answer, "an override of your configuration says so", "override")
    if denied:
        return Answer("deny", "your configuration denies this", "deny")
    if any(rule.covers(action) for rule in config.allow):
        return Answer("allow", "your configuration allows this", "allow")
    return Answer(config.default_action, "your configuration's default", "default")
