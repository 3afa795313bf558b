"""The capability token that a call runs under: minted for exactly what was judged, used at once, gone with the call
(003 §Capability System, governance.md §5).
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from remit_governance.capabilities import Holder, NotMinted
from remit_governance.permissions import Answer, decide
from remit_governance.rulebook import Rulebook
from remit_governance.values import Action, Decision
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.trail import Trail
from remit_server.harness.turn import Turn

STRICTNESS = ("allow", "ask", "deny", "final_deny")
Judged = Sequence[tuple[Action, Decision]]
SERVER = "server"
"""The sandbox id of what the server itself carries out."""


@dataclass(frozen=True, slots=True)
class Permit:
    """A token in the server's own hands."""

    rulebook: Rulebook
    nonce: int
    holder: Holder
    actions: tuple[Action, ...]

    def use(self) -> None:
        """Spend it, at the moment of execution. Raises ToolError where the policy is another by now."""
        now = time.monotonic()
        for action in self.actions:
            invalid = self.rulebook.tokens.use(self.nonce, self.holder, action, self.rulebook.policy, now)
            if invalid is not None:
                raise not_in_force(invalid)


@contextmanager
def permitted(rulebook: Rulebook, judged: Judged, trail: Trail, *, approved: bool) -> Generator[Permit]:
    """A permit for one execution of these actions, as policy has judged them and a person `approved` them.

    Raises ToolError where the policy in force is no longer the one that judged them.
    """
    if trail.policy_version != rulebook.policy.version:
        raise not_in_force("other_policy")
    holder = Holder(SERVER, os.getpid())
    token = rulebook.tokens.mint(
        judged, rulebook.policy, holder, time.monotonic(), max_ops=len(judged), approved=approved
    )
    if isinstance(token, NotMinted):
        raise not_in_force("unknown")
    trail.capability_id = str(token.nonce)
    try:
        yield Permit(rulebook, token.nonce, holder, tuple(action for action, _ in judged))
    finally:
        rulebook.tokens.revoke(token.nonce)


def strictest_answer(rulebook: Rulebook, turn: Turn, judged: Iterable[tuple[Action, Decision]]) -> Answer:
    """The person's standing answer about all parts of a call: the strictest of them."""
    answers = [decide(rulebook.permissions, turn.memory.standing, *pair) for pair in judged]
    return max(answers, key=lambda answer: STRICTNESS.index(answer.word))


def answered(trail: Trail) -> bool:
    """Whether the person's standing answers allowed what policy wanted reviewed."""
    return trail.answer is not None and trail.answer.word == "allow"


def not_in_force(why: str) -> ToolError:
    """What was judged is not what holds now."""
    reasons = {"other_policy": "the policy was changed", "expired": "it took too long"}
    return ToolError(
        "this was not done",
        f"{reasons.get(why, 'its permit is not in force any more')} since it was judged",
        "call it again: it is judged anew",
        code=ErrorCode.STALE,
        retryable=True,
    )
