"""Judges actions: policy first, then the person's standing answers. Nothing else in the harness asks the rules.

A judgement is a value. Its `denial` says whether it stops a call, its `asks` whether a person has to be asked;
`record/` records it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from remit_governance.permissions.permissions import Answer, Standing, decide, permits_standing, with_answer
from remit_governance.policy.decision.evaluate import AUTHORITY, evaluate, may_take_long
from remit_governance.policy.rules import Policy
from remit_governance.rulebook import Rulebook
from remit_governance.values import Action, Decision, Reason, SandboxName, Verdict, strictest
from remit_governance.work_items import SCOPE_RULES
from remit_governance.workflow.position import Position, describe
from remit_server.contract import ErrorCode
from remit_server.errors import STANDING_ANSWER, ToolError
from remit_server.harness.calls import SUB_AGENT, RunDenied, tags_of
from remit_server.harness.turn import Turn

RUN_INSIDE = frozenset({"process.exec", "net.connect"})
"""The syscalls that are carried out in a sandbox, never by the server."""
WORKFLOW_RULES = "workflow."
"""The prefix of the names of the workflow's packaged rules."""
STRICTNESS = ("allow", "ask", "deny", "final_deny")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decisions of the policy `policy_version` on each action, and the strictest of the person's standing answers.

    `decision` combines the decisions: the strictest verdict, with all reasons. `basis` is everything that the judgement
    was derived from, or None if the same basis may be judged differently next time, because a rule is a program.
    """

    actions: tuple[Action, ...]
    decisions: tuple[Decision, ...]
    answer: Answer
    policy_version: str
    basis: object = field(default=None, compare=False, repr=False)
    decision: Decision = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "decision", strictest(self.decisions))

    @property
    def pairs(self) -> tuple[tuple[Action, Decision], ...]:
        """Each action with its decision."""
        return tuple(zip(self.actions, self.decisions, strict=True))

    @property
    def asks(self) -> bool:
        """Whether the person has to be asked."""
        return self.answer.word == "ask"

    @property
    def denies(self) -> bool:
        """Whether policy or the person's configuration denies the call."""
        return self.answer.word in {"deny", "final_deny"}

    @property
    def denied_by_person(self) -> bool:
        """Whether a standing answer denies what policy does not deny."""
        return self.denies and self.decision.verdict not in {Verdict.DENY, Verdict.PASS}

    @property
    def settled(self) -> Decision:
        """The decision, or the deny that a standing answer makes of it."""
        return with_answer(self.decision, self.answer) if self.denied_by_person else self.decision

    def denial(self, tool: str, position: Position | None = None) -> ToolError | None:
        """Returns the refusal of a call of `tool` if it is denied (a RunDenied if the deny is final), else None.

        If the workflow denies, the refusal says what would make the call possible from `position` (FLW-03).
        """
        if not self.denies:
            return None
        kind = RunDenied if self.answer.word == "final_deny" else ToolError
        decision = self.decision
        by_policy = decision.verdict is Verdict.DENY
        rules = ", ".join(decision.rules) if by_policy else _SOURCES.get(self.answer.source, self.answer.source)
        # If one file is denied by a rule and another because no rule allows it, give the rule's reason.
        named = next((each for each in decision.reasons if each.verdict is Verdict.DENY and each.rule), None)
        by_default = decision.deciding.layer == "default"
        unruled = "default" if by_default else f"the {decision.deciding.layer} layer"
        beyond = by_policy and decision.deciding.layer == AUTHORITY
        error = kind(
            f"`{tool}` is beyond what was handed over" if beyond else f"`{tool}` was denied by {rules or unruled}",
            named.message if by_default and named else self.answer.reason,
            _way_on(decision, named or decision.deciding, position) if by_policy else _LEAVE_IT.format(rules),
            code=ErrorCode.DENIED,
            for_person="" if beyond else None,
        )
        if not by_policy:
            error.data = {STANDING_ANSWER: self.answer.source}
        return error


_LEAVE_IT = "leave it as it is; a person can change {}"


def _way_on(decision: Decision, deciding: Reason, position: Position | None) -> str:
    """Returns what helps against a deny of policy, by where the rule that denies comes from."""
    if any(each.layer == "builtin" and each.verdict is Verdict.DENY for each in decision.reasons):
        return "leave it as it is; no policy can allow this, so a person has to do it without Remit"
    rule = deciding.rule or ""
    if position is not None and rule.startswith(WORKFLOW_RULES):
        return describe(position)
    if deciding.layer == AUTHORITY:
        return "do without it, and say in your answer what is missing"
    if deciding.layer == "default":
        return "a person can add a rule that allows it"
    return _LEAVE_IT.format("the scope of the work item" if rule.startswith(SCOPE_RULES) else "the policy")


_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "final_deny": "`final_deny` in permissions.yaml",
        "deny": "`deny` in permissions.yaml",
        "override": "`overrides` in permissions.yaml",
        "default": "`default_action` in permissions.yaml",
        "session": "the answer for this session",
    }
)
"""The sources of standing answers, in words."""


def answered_by_typing(judgement: Judgement, turn: Turn) -> bool:
    """Returns whether no question is needed because the person typed the command themselves (APP-17). False if a rule
    wants a question each time, or if the person's own configuration asks.
    """
    return turn.typed and judgement.answer.source == "policy" and permits_standing(judgement.decision)


def action_for(turn: Turn, tool: str, syscall: str, path: str | None) -> Action:
    """Returns an action of this turn, with its caller, its intent and the position in the workflow."""
    position = turn.place_for(syscall, tool)
    tags = tags_of(turn.caller, tool)
    return Action(
        syscall,
        path,
        tool=tool,
        caller_tags=tags if turn.handed is None else tags | SUB_AGENT,
        intent=turn.intent.active,
        work_item=turn.intent.work_item,
        state=position.state.value,
        mode=position.mode_for(path).value,
        within=turn.authority.within,
        reaches=turn.authority.hosts,
    )


def actions_now(actions: tuple[Action, ...], turn: Turn) -> tuple[Action, ...]:
    """Returns the actions with the present position in the workflow."""
    return tuple(_action_now(action, turn.place_for(action.syscall, action.tool)) for action in actions)


def _action_now(action: Action, position: Position) -> Action:
    mode = action.mode if action.syscall == "session.set_mode" else position.mode_for(action.path).value
    return replace(action, state=position.state.value, mode=mode)


async def judge_actions(
    actions: tuple[Action, ...], rulebook: Rulebook, turn: Turn, known: Judgement | None = None
) -> Judgement:
    """Judges the actions of one call under the rules in force; returns `known` if it has the same basis."""
    policy = rulebook.policy
    basis = (policy.version, actions, rulebook.permissions, turn.memory.standing) if policy.extension is None else None
    if known is not None and basis is not None and basis == known.basis:
        return known
    if may_take_long(policy, actions):
        decisions = await asyncio.to_thread(decide_actions, policy, actions)
    else:
        decisions = decide_actions(policy, actions)
    answer = standing_answer(rulebook, turn.memory.standing, zip(actions, decisions, strict=True))
    return Judgement(actions, decisions, answer, policy.version, basis)


def judge_outside_turn(actions: tuple[Action, ...], rulebook: Rulebook) -> Judgement:
    """Judges the actions of a call that belongs to no turn of Remit, because another agent makes it (HOK-02)."""
    policy = rulebook.policy
    decisions = decide_actions(policy, actions)
    answer = standing_answer(rulebook, Standing(), zip(actions, decisions, strict=True))
    return Judgement(actions, decisions, answer, policy.version)


def judge_each(actions: Sequence[Action], rulebook: Rulebook, turn: Turn) -> tuple[Judgement, ...]:
    """Judges each action by itself, all under the same policy."""
    policy = rulebook.policy
    pairs = zip(actions, decide_actions(policy, actions), strict=True)
    return tuple(
        Judgement(
            (action,),
            (decision,),
            standing_answer(rulebook, turn.memory.standing, [(action, decision)]),
            policy.version,
        )
        for action, decision in pairs
    )


def answer_again(judgement: Judgement, rulebook: Rulebook, turn: Turn) -> Judgement:
    """Returns the judgement with the standing answers as they are now, because the person may have denied meanwhile."""
    return replace(judgement, answer=standing_answer(rulebook, turn.memory.standing, judgement.pairs))


def judge_path(
    rulebook: Rulebook,
    turn: Turn,
    tool: str,
    syscall: str,
    path: str,
    *,
    sandbox: SandboxName | None = None,
    permit: bool = False,
) -> Decision:
    """Returns policy's decision on a path that a call did not name but came upon: in a search, or for a command.

    The path is judged as one without a permit, unless `permit` says that a permit would be minted for it.
    """
    return evaluate(rulebook.policy, replace(action_for(turn, tool, syscall, path), permit=permit, sandbox=sandbox))


def decide_actions(policy: Policy, actions: Sequence[Action]) -> tuple[Decision, ...]:
    """Returns policy's decision on each action."""
    return tuple(evaluate(policy, action) for action in actions)


def standing_answer(rulebook: Rulebook, memory: Standing, judged: Iterable[tuple[Action, Decision]]) -> Answer:
    """Returns the strictest of the person's standing answers on the actions of a call."""
    answers = [decide(rulebook.permissions, memory, *pair) for pair in judged]
    return max(answers, key=lambda answer: STRICTNESS.index(answer.word))


def paths_of(actions: Iterable[Action]) -> tuple[str, ...]:
    """Returns the paths of the files that actions read or write, each once."""
    named = (each.path for each in actions if each.syscall in {"fs.read", "fs.write"} and each.path is not None)
    return tuple(dict.fromkeys(named))
