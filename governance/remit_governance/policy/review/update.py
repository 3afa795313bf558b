"""A proposed change of a policy file, as a value: what would change, and what a person has to say to it
(POL-12). Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from remit_governance.canonical import digest
from remit_governance.policy.review.replay import Replay
from remit_governance.policy.rules import Policy
from remit_governance.values import Action

SYSCALL = "policy.update"

MANY_BREAKING = 5
"""Up to so many breaking changes a yes is enough; above, the phrase has to be given."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new text (`after`) for the policy file `target`, which holds `before` (None: it is not there).

    `policy` is what would then be in force, `replay` what it says of past calls, and `settings` what it changes besides
    rules.
    """

    target: str
    before: str | None
    after: str
    policy: Policy
    replay: Replay
    settings: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Tells whether the file would hold anything else than now."""
        return self.before != self.after

    @property
    def needs_phrase(self) -> bool:
        """Tells whether a plain yes is too little."""
        return len(self.replay.breaking) > MANY_BREAKING

    @property
    def phrase(self) -> str:
        """Makes the phrase that confirms exactly this: other texts, another file or other breaking changes have
        another phrase.
        """
        bound = {
            "target": self.target,
            "before": self.before,
            "after": self.after,
            "breaking": [change.call.record.number for change in self.replay.breaking],
        }
        return f"apply {digest(bound).removeprefix('sha256:')[:12]}"

    @property
    def diff(self) -> tuple[str, ...]:
        """The unified diff of the two texts, line by line."""
        old, new = (self.before or "").splitlines(), self.after.splitlines()
        return tuple(difflib.unified_diff(old, new, self.target, f"{self.target} (new)", lineterm=""))


def update_action(path: str | None) -> Action:
    """The change of a policy file as policy judges it. `path` is the file's in the workspace, None outside."""
    return Action(SYSCALL, path, tool="policy_update", caller_tags=frozenset({"human", "core_plugin"}))
