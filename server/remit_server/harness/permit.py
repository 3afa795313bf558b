"""The capability token that a call runs under: minted for exactly what was judged, used at once, revoked with the call
(APP-07).
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from remit_governance.capabilities import Holder, NotMinted
from remit_governance.rulebook import Rulebook
from remit_governance.values import Action, Decision
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

SERVER = "server"
"""The sandbox id of what the server itself carries out."""


@dataclass(frozen=True, slots=True)
class Permit:
    """A token in the server's own hands."""

    rulebook: Rulebook
    nonce: int
    holder: Holder
    actions: tuple[Action, ...]

    @property
    def id(self) -> str:
        """The token's id in the audit log."""
        return str(self.nonce)

    def use(self) -> None:
        """Spends it, at the moment of execution. Raises ToolError where the policy is another by now."""
        now = time.monotonic()
        for action in self.actions:
            invalid = self.rulebook.tokens.use(self.nonce, self.holder, action, self.rulebook.policy, now)
            if invalid is not None:
                raise not_in_force(invalid)


@contextmanager
def mint_permit(
    rulebook: Rulebook, judged: Sequence[tuple[Action, Decision]], policy_version: str, *, approved: bool
) -> Generator[Permit]:
    """Mints a permit for one execution of what policy of `policy_version` has judged, and a person `approved`.

    Raises ToolError where the policy in force is no longer the one that judged, or where it denied.
    """
    if policy_version != rulebook.policy.version:
        raise not_in_force("other_policy")
    holder = Holder(SERVER, os.getpid())
    token = rulebook.tokens.mint(
        judged, rulebook.policy, holder, time.monotonic(), max_ops=len(judged), approved=approved
    )
    if isinstance(token, NotMinted):
        raise not_in_force("unknown")
    try:
        yield Permit(rulebook, token.nonce, holder, tuple(action for action, _ in judged))
    finally:
        rulebook.tokens.revoke(token.nonce)


def not_in_force(why: str) -> ToolError:
    """Returns the refusal of what was judged under rules that do not hold any more."""
    reasons = {"other_policy": "the policy was changed", "expired": "it took too long"}
    return ToolError(
        "this was not done",
        f"{reasons.get(why, 'its permit is not in force any more')} since it was judged",
        "call it again: it is judged anew",
        code=ErrorCode.STALE,
        retryable=True,
    )
