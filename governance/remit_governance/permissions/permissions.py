"""The person's standing answers, applied after policy has decided: they tighten, and they answer reviews if the rule
permits that (APP-06).

Nothing here lifts a policy's deny, and a remembered "allow" never outranks an explicit deny. A rule applies in the
workspace that it names by the folder's path; a rule that allows may also name the workspace's id, which another folder
at the same path does not have (APP-05).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, StrictStr, model_validator

from remit_governance.policy.language.policy_form import Commands, Form, Globs, Word, Words
from remit_governance.policy.matching.command_match import Match, is_script, same_command
from remit_governance.policy.matching.conditions import on_command, on_host, on_path
from remit_governance.policy.matching.paths import FOLDS_CASE, fold, normalise
from remit_governance.policy.matching.scripts import Parts, parts_of
from remit_governance.policy.rules import REVIEW_EACH_TIME, Subject
from remit_governance.values import Action, Decision, Reason, Verdict

ANY_ARGUMENTS = "{…}"
"""Stands for the arguments in the command of a tool that the person added: an answer about that command is about all
arguments."""

AnswerWord = Literal["allow", "ask", "deny", "final_deny"]
AnswerSource = Literal["policy", "final_deny", "session", "edits", "override", "deny", "allow", "default", "workflow"]


def _absolute(path: str) -> str:
    if not path.startswith(("/", "~/")):
        raise ValueError(f"`{path}` is not an absolute path; begin it with `/` or `~/`")
    return path


@dataclass(frozen=True, slots=True)
class WrittenAt:
    """Where in a permission file something is written, if it comes from a file. Equal to every other place, so that
    rules are the same rule wherever they are written."""

    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "" if self.file is None else f"{self.file}:{self.line}"


class PermissionRule(Form):
    """The subject of a standing answer: every key that is given has to hold, by any of its values.

    `path`, `argv` and `cwd` are exact: one file, one whole command with nothing before, after or in place of a word. A
    rule that stops also means the same command in another spelling. A `host` without a port means the default port in a
    rule that allows, and every port in a rule that stops. `workspace` is the folder in which the rule applies (without
    it, all); `in_workspace` leaves out the rules of other workspaces.
    """

    tool: Words | None = None
    syscall: Words | None = None
    path: Words | None = None
    path_glob: Globs | None = None
    command: Commands | None = None
    argv: Annotated[tuple[StrictStr, ...], Field(min_length=1)] | None = None
    cwd: Word | None = None
    host: Words | None = None
    workspace: Annotated[Word, AfterValidator(_absolute)] | None = None
    workspace_id: Word | None = None
    _at: WrittenAt = PrivateAttr(default=WrittenAt())

    @property
    def at(self) -> WrittenAt:
        """Where the rule is written."""
        return self._at

    def written_at(self, file: str, line: int) -> Self:
        """Returns the rule with the place where it is written."""
        placed = self.model_copy()
        placed._at = WrittenAt(file, line)  # noqa: SLF001  its own
        return placed

    @model_validator(mode="after")
    def _id_of_a_workspace(self) -> Self:
        if self.workspace_id is not None and self.workspace is None:
            raise ValueError("`workspace_id` says which folder at a path is meant; name the path as `workspace`")
        return self

    def concerns(self, action: Action, fold_case: bool = FOLDS_CASE) -> Match:
        """Returns how certain it is that the rule means this action, or any part of its script; for rules that stop.

        Like a policy's rule that stops, it means commands in every spelling.
        """
        if action.script is None:
            named = (replace(action, command=argv, also=()) for argv in action.also)
            return max(self._stops(each, fold_case) for each in (action, *named))
        parts = parts_of(action)
        judged = [self._stops(part, fold_case) for part in (action, *parts.actions, *parts.shadows)]
        # It is never certain that an unknown program runs its arguments.
        judged += [min(Match.MAYBE, self._stops(part, fold_case)) for part in parts.suspects]
        if max(judged) is Match.NO and self.cwd is not None and _moves(parts):
            elsewhere = self.model_copy(update={"cwd": None})
            return min(Match.MAYBE, elsewhere.concerns(action, fold_case))
        return max(judged)

    def covers(self, action: Action) -> bool:
        """Tells whether the rule means this action, or every part of its script; for rules that allow.

        A `command` is exactly the leading words. An `argv` is the whole command line, so that an argv `git status` does
        not cover the first part of `git status && x`.
        """
        if action.script is None or self.argv is not None:
            return self._holds(action, None, fold_case=False)
        return all(self._holds(part, None, fold_case=False) for part in parts_of(action).actions)

    def _stops(self, action: Action, fold_case: bool) -> Match:
        if not self._holds(action, Match.MAYBE, fold_case=fold_case):
            return Match.NO
        return Match.YES if self._holds(action, Match.YES, fold_case=fold_case) else Match.MAYBE

    def _holds(self, action: Action, stops: Match | None, *, fold_case: bool) -> bool:
        """Tells whether every key holds. `stops` is how certain it has to be that the rule means the command; if it is
        None, the command has to match exactly.
        """
        return (
            (self.tool is None or action.tool in self.tool)
            and (self.syscall is None or action.syscall in self.syscall)
            and (self.path is None or any(_same(action.path, path, fold_case) for path in self.path))
            and (self.path_glob is None or on_path(self.path_glob, fold_case)(Subject.of(action)))
            and (self.command is None or on_command(self.command, stops)(Subject.of(action)))
            and (self.argv is None or _is(action.command, self.argv, stops))
            and (self.cwd is None or _same(action.cwd, self.cwd, fold_case))
            and (self.host is None or on_host(self.host, stops=stops is not None)(Subject.of(action)))
        )


def _same(one: str | None, other: str, fold_case: bool) -> bool:
    """Tells whether both are the same path."""
    if one is None:
        return False
    first, second = normalise(one), normalise(other)
    return first == second or (fold_case and fold(first) == fold(second))


def _is(command: tuple[str, ...] | None, argv: tuple[str, ...], stops: Match | None) -> bool:
    if stops is None:
        return command == argv
    return command is not None and same_command(argv, command) >= stops


def _moves(parts: Parts) -> bool:
    """Tells whether a part of a script may run in another folder than the script starts in."""
    commands = (part.command for part in (*parts.actions, *parts.shadows))
    return any(command is not None and command[0] in _GO_ELSEWHERE for command in commands)


_GO_ELSEWHERE = frozenset({"cd", "pushd", "popd", "env"})


class Override(PermissionRule):
    """An answer that is looked up before the lists `deny` and `allow`, for exceptions from them."""

    answer: Literal["allow", "ask", "deny"]


class PermissionConfig(Form):
    """The person's configuration. `default_action` is for what policy allows; a review without an answer is asked."""

    version: Literal[1] = 1
    final_deny: tuple[PermissionRule, ...] = ()
    overrides: tuple[Override, ...] = ()
    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    default_action: Literal["allow", "ask", "deny"] = "allow"


@dataclass(frozen=True, slots=True, order=True)
class StandingRule:
    """One exact action answered for the session: this tool on this path, this argv in this folder, or this tool to this
    host."""

    tool: str
    syscall: str
    path: str | None = None
    command: tuple[str, ...] | None = None
    cwd: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The person's answers for this session; `edits` is whether they allowed every edit (APP-15)."""

    allowed: frozenset[StandingRule] = frozenset()
    denied: frozenset[StandingRule] = frozenset()
    edits: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer about an action: what to do with it, why, and which part of the configuration said so, `at` the place
    of its rule."""

    word: AnswerWord
    reason: str
    source: AnswerSource
    at: WrittenAt = WrittenAt()


def standing_rule(action: Action) -> StandingRule | None:
    """Returns the exact rule that a session answer about this action would remember, or None if there is nothing exact
    to remember."""
    if action.tool is None or (action.path is None and action.command is None and action.host is None):
        return None
    path = None if action.path is None else normalise(action.path)
    return StandingRule(action.tool, action.syscall, path, action.command, action.cwd, action.host)


def remember(memory: Standing, rules: tuple[StandingRule, ...], decision: Literal["allow", "deny"]) -> Standing:
    """Returns the memory with these answers; the latest answer about a rule counts."""
    new = frozenset(rules)
    if decision == "allow":
        return replace(memory, allowed=memory.allowed | new, denied=memory.denied - new)
    return replace(memory, allowed=memory.allowed - new, denied=memory.denied | new)


def is_edit(action: Action) -> bool:
    """Tells whether an action is part of an edit: one of Remit's own tools reads, lists or writes a path (APP-15).

    Files that a command has written are not edits, and neither are the actions of tools from elsewhere, because these
    actions do not have the caller tag `trusted_write`.
    """
    return action.path is not None and action.syscall in _OF_AN_EDIT and "trusted_write" in action.caller_tags


_OF_AN_EDIT = frozenset({"fs.read", "fs.list", "fs.write"})


def permits_standing(decision: Decision) -> bool:
    """Tells whether every rule that asks for a review permits an answer in advance."""
    return all(reason.code != REVIEW_EACH_TIME for reason in decision.reasons)


def decide(
    config: PermissionConfig,
    memory: Standing,
    action: Action,
    policy_decision: Decision,
    fold_case: bool = FOLDS_CASE,
) -> Answer:
    """Returns the answer for one action, never laxer than the policy's decision.

    The first that speaks decides: `final_deny`, a deny of policy, the session's answer about exactly this action,
    `overrides`, `deny`, `allow`, the session's answer about edits, the default. `fold_case` is whether the workspace's
    file system ignores case.
    """
    final = _strongest(config.final_deny, action, fold_case)
    if final.match is Match.YES:
        return Answer("final_deny", "your configuration always forbids this", "final_deny", final.at)
    if policy_decision.verdict is Verdict.DENY or policy_decision.verdict is Verdict.PASS:
        return Answer("deny", policy_decision.deciding.message, "policy")
    answer = _standing_answer(config, memory, action, fold_case) or _configured_answer(
        config, action, final.match, fold_case
    )
    # The general answer for edits comes after every answer about this file, of the session or of the configuration.
    if memory.edits and answer.source == "default" and answer.word != "deny" and is_edit(action):
        answer = Answer("allow", "you allowed edits for the session", "edits")
    if policy_decision.verdict is Verdict.ALLOW or answer.word != "allow":
        return answer
    # A rule cannot have meant a command that is not certain, but an answer for the session was about its exact text.
    if answer.source == "default" or (_unclear(action) and answer.source != "session"):
        return Answer("ask", policy_decision.deciding.message, "policy")
    if not permits_standing(policy_decision):
        return Answer("ask", "you are asked each time", "policy")
    return answer


_STANDS_AS: Mapping[AnswerWord, Verdict] = {
    "allow": Verdict.ALLOW,
    "ask": Verdict.REQUIRE_REVIEW,
    "deny": Verdict.DENY,
    "final_deny": Verdict.DENY,
}
LAYER = "permissions"
"""The layer of the reason that a standing answer gives."""


def settle(config: PermissionConfig, action: Action, decision: Decision) -> Decision:
    """Returns policy's decision on an action as the person's configuration leaves it (POL-10)."""
    return with_answer(decision, decide(config, Standing(), action, decision))


def with_answer(decision: Decision, answer: Answer) -> Decision:
    """Returns a decision as this answer leaves it, with the answer as its first reason if it changes the verdict."""
    verdict = _STANDS_AS[answer.word]
    if answer.source == "policy" or verdict is decision.verdict:
        return decision
    rule, at = f"{LAYER}.{answer.source}", answer.at
    reason = Reason(rule, answer.reason, verdict, LAYER, rule, at.file, at.line)
    return Decision(verdict, (reason, *decision.reasons))


@dataclass(frozen=True, slots=True)
class _Stop:
    """How certain it is that a rule which stops means an action, and where the most certain one is written."""

    match: Match = Match.NO
    at: WrittenAt = WrittenAt()


def _strongest(rules: Iterable[PermissionRule], action: Action, fold_case: bool) -> _Stop:
    """Returns how certain it is that any of these rules, which stop, means this action."""
    found = (_Stop(rule.concerns(action, fold_case), rule.at) for rule in rules)
    return max(found, key=lambda stop: stop.match, default=_Stop())


def _unclear(action: Action) -> bool:
    if action.script is None:
        return bool(action.doubts) or (action.command is not None and is_script(action.command))
    return bool(parts_of(action).doubts)


def _standing_answer(config: PermissionConfig, memory: Standing, action: Action, fold_case: bool) -> Answer | None:
    """Returns the person's answer for the session about exactly this action, or None if there is none."""
    rule = standing_rule(action)
    if rule in memory.denied:
        return Answer("deny", "you refused this for the session", "session")
    # A remembered allow answers questions, and what the configuration denies is never asked about.
    if rule in memory.allowed and _strongest(config.deny, action, fold_case).match is not Match.YES:
        return Answer("allow", "you allowed this for the session", "session")
    return None


def _configured_answer(config: PermissionConfig, action: Action, doubt: Match, fold_case: bool) -> Answer:
    """Returns the configuration's answer, which comes after the session's: overrides, deny, allow, default.

    `doubt` is how certain it is that an earlier rule stops the action. If one may stop it, an allow becomes a question.
    """
    for override in config.overrides:
        if override.answer == "allow":
            meant = Match.YES if override.covers(action) else Match.NO
        else:
            meant = override.concerns(action, fold_case)
        if meant is Match.YES:
            why = "an override in your configuration decides this"
            return _unless(doubt, Answer(override.answer, why, "override", override.at))
        doubt = max(doubt, meant)
    denied = _strongest(config.deny, action, fold_case)
    if denied.match is Match.YES:
        return Answer("deny", "your configuration denies this", "deny", denied.at)
    doubt = max(doubt, denied.match)
    allowed = next((rule for rule in config.allow if rule.covers(action)), None)
    if allowed is not None:
        return _unless(doubt, Answer("allow", "your configuration allows this", "allow", allowed.at))
    return _unless(doubt, Answer(config.default_action, "your configuration's default", "default"))


def _unless(doubt: Match, answer: Answer) -> Answer:
    """Returns the answer, or a question if the answer allows what an earlier rule may stop."""
    if doubt is Match.NO or answer.word != "allow":
        return answer
    return Answer("ask", "it may be what your configuration denies, in a spelling that Remit does not know", "deny")


@dataclass(frozen=True, slots=True)
class WorkspaceIdentity:
    """The real path of a workspace's folder, and its id in the person's state, or None if no id is recorded."""

    path: str
    id: str | None


def in_workspace(
    config: PermissionConfig, here: WorkspaceIdentity, real_path: Callable[[str], str]
) -> PermissionConfig:
    """Returns the rules of a configuration that apply in this workspace.

    `real_path` resolves a path that a person wrote. A rule that allows also needs the workspace's id, if it names one.
    A rule that stops applies by the path alone, because a folder that replaced another is not trusted more than it.
    """

    def named(rule: PermissionRule) -> bool:
        return rule.workspace is None or real_path(rule.workspace) == here.path

    def same(rule: PermissionRule) -> bool:
        return named(rule) and (rule.workspace_id is None or rule.workspace_id == here.id)

    return config.model_copy(
        update={
            "final_deny": tuple(filter(named, config.final_deny)),
            "overrides": tuple(o for o in config.overrides if (same(o) if o.answer == "allow" else named(o))),
            "deny": tuple(filter(named, config.deny)),
            "allow": tuple(filter(same, config.allow)),
        }
    )
