"""Judges a call of another agent, with one ruling (HOK-02; HOK-04): pure, except that it looks at paths.

The judgement is the harness's own, and the gate is governance's: nothing here evaluates a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from remit_governance.intents import IntentState, Matrix, gate
from remit_governance.policy.decision.evaluate import UNCLEAR_COMMAND
from remit_governance.rulebook import Rulebook
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Action, Decision, Effect
from remit_server.errors import ToolError
from remit_server.harness.commands.hidden_paths import DeniedReads, find_hidden_paths
from remit_server.harness.judgement import Judgement, decide_actions, judge_outside_turn
from remit_server.hooks.formats.events import ToolCalled
from remit_server.hooks.formats.tool_rows import ToolRow, ToolRows
from remit_server.hooks.judging.actions import EFFECTS, Place, actions_of, globs_that_limit
from remit_server.hooks.judging.exposed import Exposure
from remit_server.hooks.judging.git_settings import GitSettings
from remit_server.workspace.trees.known_folders import KnownFolders

Word = Literal["allow", "ask", "deny"]

GATE = "hook.intent-gate"
UNJUDGED = "hook.unjudged"

REMITS_TOOL: Mapping[Effect, str] = {
    Effect.READ: "read_file",
    Effect.WRITE: "write_file",
    Effect.EXECUTE: "run_command",
    Effect.NETWORK: "run_command",
}
"""The tool of Remit's own by which the gate judges another agent's tool of this effect."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a call: the word, the rule that decided, why, and what helps; `judgement` if policy was asked."""

    word: Word
    rule: str
    reason: str
    fix: str = ""
    judgement: Judgement | None = None

    @property
    def told(self) -> str:
        """The reason as the agent and its person read it."""
        fix = f" ({self.fix})" if self.fix else ""
        return f"Remit: {self.rule}: {self.reason}{fix}"


@dataclass(frozen=True, slots=True)
class Governed:
    """What a call is judged by: the rules in force, and whether an intent has to be declared first. `declare` returns
    how to declare one; `allow` says how a person allows what was not allowed; `git_settings` looks for secrets in them.
    """

    rulebook: Rulebook
    folders: KnownFolders
    intent_required: bool
    declare: Callable[[str], str]
    allow: str
    git_settings: GitSettings = field(default_factory=lambda: GitSettings(lambda text: False))

    @property
    def matrix(self) -> Matrix:
        """Which tools each intent opens."""
        return self.rulebook.policy.matrix


def decide(called: ToolCalled, rows: ToolRows, place: Place, governed: Governed) -> Ruling:
    """Returns the ruling about a call."""
    row = rows.get(called.tool)
    try:
        actions = actions_of(called.tool, row, called.arguments, place)
    except ToolError as error:
        return Ruling("deny", UNJUDGED, f"{error.what}: {error.why}", error.fix)
    refused = _gated(called.tool, actions, place.intent, governed)
    if refused is not None:
        return refused
    reads = _denied_reads(place, governed)
    exposure = Exposure(place.workspace.root, lambda: _unread(place, reads, governed), governed.git_settings)
    only = globs_that_limit(row, called.arguments)
    doubted = tuple(_with_doubts(action, row, exposure, only) for action in actions)
    named = (path for action in actions if action.script for path in exposure.operands(action))
    secrets = tuple(place.action("fs.read", called.tool, path) for path in dict.fromkeys(named) if reads.denied(path))
    return ruling_of(judge_outside_turn((*doubted, *secrets), governed.rulebook), governed)


def ruling_of(judgement: Judgement, governed: Governed) -> Ruling:
    """Returns what a judgement means for a call."""
    decision, answer = judgement.decision, judgement.answer
    spoke = [each for each in decision.reasons if each.verdict is decision.verdict]
    # A doubt about this very call explains more than the rule for its kind.
    named = next((each for each in spoke if each.code == UNCLEAR_COMMAND), None) or spoke[0]
    by_person = answer.source not in {"policy", "default"}
    rule = f"permissions.{answer.source}" if by_person else named.rule or f"{named.layer} deny"
    reason = answer.reason if by_person else named.message
    match answer.word:
        case "allow":
            return Ruling("allow", rule, reason, judgement=judgement)
        case "ask":
            return Ruling("ask", rule, reason, governed.allow, judgement)
        case "deny" | "final_deny":
            return Ruling("deny", rule, reason, judgement=judgement)


def _gated(tool: str, actions: tuple[Action, ...], intent: IntentState, governed: Governed) -> Ruling | None:
    """Returns the gate's refusal if an intent has to be declared first, or None; without one every effect is refused
    (INT-02)."""
    effect = EFFECTS[actions[0].syscall]
    if not governed.intent_required or effect is Effect.CONTROL:
        return None
    refused = gate(intent, REMITS_TOOL[effect], governed.matrix)
    if refused is None:
        return None
    openers = " or ".join(refused.openers) or "an intent"
    active = f"intent {intent.active} is declared" if intent.active else "no intent is declared"
    why = f"`{shorten(tool, 60)}` {'reads' if effect is Effect.READ else 'acts'}, and {active}"
    return Ruling("deny", GATE, why, governed.declare(openers))


def _with_doubts(action: Action, row: ToolRow | None, exposure: Exposure, only: tuple[str, ...]) -> Action:
    doubts = exposure.doubts(action)
    looks = row is not None and row.kind in {"search", "read", "view"} and action.syscall == "fs.read"
    if looks and action.path is not None:
        doubts = exposure.of_read(action.path, only)
    return replace(action, doubts=(*action.doubts, *doubts)) if doubts else action


def _denied_reads(place: Place, governed: Governed) -> DeniedReads:
    rulebook = governed.rulebook

    def look(path: str) -> Decision:
        return decide_actions(rulebook.policy, [place.action("fs.read", "", path)])[0]

    return DeniedReads(rulebook.denied_paths("fs.read"), look)


def _unread(place: Place, reads: DeniedReads, governed: Governed) -> tuple[str, ...] | None:
    """Returns the files that policy keeps unread, or None if they cannot all be found."""
    root = place.workspace.root
    try:
        found = find_hidden_paths(root, reads, governed.folders)
    except (ToolError, OSError):
        return None
    return tuple(path.relative_to(root).as_posix() for path in found)
