"""The capability token that a call runs under: minted for exactly what was judged, used at once, revoked with the call
(APP-07).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from remit_governance.audit.record import AuditKind
from remit_governance.capabilities import DEFAULT_TTL_S, Ended, Holder, NotMinted
from remit_governance.rulebook import Rulebook
from remit_governance.values import Action, Decision
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.record.call_record import CallRecord

SERVER = "server"
"""The sandbox id of what the server itself carries out."""
MOST_CONNECTIONS = 10_000
"""Uses that a call hands on to its sandbox: connections to hosts that were allowed."""
LONGEST_TURN_S = 3600.0
"""Seconds that a command's token holds: the command may wait for its place, and be paused, as long as a turn may take.
What runs under it ends before, and it with that.
"""


@dataclass(frozen=True, slots=True)
class Permit:
    """A token in the server's own hands. `handed` are those of `actions` that its sandbox does by itself, as judged."""

    rulebook: Rulebook
    nonce: int
    holder: Holder
    actions: tuple[Action, ...]
    handed: tuple[tuple[Action, Decision], ...] = ()

    @property
    def id(self) -> str:
        """The token's id in the audit log."""
        return str(self.nonce)

    @property
    def state(self) -> Ended:
        """Whether it is in force now."""
        return self.rulebook.tokens.state(self.nonce, time.monotonic())

    def use(self) -> None:
        """Spends it, at the moment of execution. Raises ToolError where the policy is another by now."""
        for action in self.actions:
            spend(self.rulebook, self.nonce, self.holder, action)

    def hand_on(self, sandbox_id: str, pid: int) -> HandedOn | None:
        """Makes a token of this one for the process in a sandbox: what it does by itself, and nothing else (APP-12).

        None where it does nothing by itself. Raises ToolError where this one is not in force any more.
        """
        if not self.handed:
            return None
        holder = Holder(sandbox_id, pid)
        actions = [action for action, _ in self.handed]
        token = self.rulebook.tokens.attenuate(self.nonce, holder, actions, time.monotonic(), max_ops=MOST_CONNECTIONS)
        if token is None:
            raise not_in_force("expired")
        return HandedOn(
            self.rulebook, token.nonce, holder, {action.host or "": (action, d) for action, d in self.handed}
        )


@dataclass(frozen=True, slots=True)
class HandedOn:
    """A token in the hands of one process in one sandbox; `judged` is what it covers, by host."""

    rulebook: Rulebook
    nonce: int
    holder: Holder
    judged: Mapping[str, tuple[Action, Decision]]

    def connect(self, host: str, first: int) -> None:
        """Spends one use on a connection from the sandbox whose first process the kernel says is `first`.

        Raises ToolError where the token is another's, does not cover that, or is not in force.
        """
        holder = Holder(self.holder.sandbox_id, first)
        known = self.judged.get(host)
        spend(self.rulebook, self.nonce, holder, known[0] if known else Action("net.connect", host=host))

    @property
    def state(self) -> Ended:
        """Whether it is in force now."""
        return self.rulebook.tokens.state(self.nonce, time.monotonic())

    def revoke(self) -> None:
        """Ends it, with its sandbox."""
        self.rulebook.tokens.revoke(self.nonce)


def spend(rulebook: Rulebook, nonce: int, holder: Holder, action: Action) -> None:
    """Spends one use of a token. Raises ToolError (`stale`) where it does not cover the action now."""
    invalid = rulebook.tokens.use(nonce, holder, action, rulebook.policy, time.monotonic())
    if invalid is not None:
        raise not_in_force(invalid)


@contextmanager
def permitted(
    rulebook: Rulebook,
    judged: Sequence[tuple[Action, Decision]],
    policy_version: str,
    record: CallRecord,
    *,
    approved: bool,
    ttl_s: float = DEFAULT_TTL_S,
    begin: Callable[[], None] = lambda: None,
) -> Generator[Permit]:
    """Mints a permit for one execution of what policy of `policy_version` has judged and a person `approved`, has it
    begin, and spends the permit; revokes it at the end. All of that is noted in the record: nothing is carried out but
    under a permit.

    Raises ToolError where the policy in force is no longer the one that judged, or where it denied; `audit_broken`.
    """
    if policy_version != rulebook.policy.version:
        raise not_in_force("other_policy")
    holder = Holder(SERVER, os.getpid())
    handed = tuple((action, decision) for action, decision in judged if action.syscall == "net.connect")
    token = rulebook.tokens.mint(
        judged,
        rulebook.policy,
        holder,
        time.monotonic(),
        ttl_s=ttl_s,
        max_ops=len(judged) + (MOST_CONNECTIONS if handed else 0),
        approved=approved,
    )
    if isinstance(token, NotMinted):
        raise not_in_force("unknown")
    permit = Permit(rulebook, token.nonce, holder, tuple(action for action, _ in judged), handed)
    try:
        record.note_permit(permit.id)
        begin()
        permit.use()
        record.record_capability(AuditKind.CAPABILITY_USED, permit.id)
        try:
            yield permit
        finally:
            record.record_end_of_token(permit.id, permit.state)
    finally:
        rulebook.tokens.revoke(token.nonce)


def not_in_force(why: str) -> ToolError:
    """Returns the refusal of what was judged under rules that do not hold any more."""
    reasons = {"other_policy": "the policy was changed", "expired": "it took too long"}
    return ToolError(
        "not done",
        f"{reasons.get(why, 'its permit is no longer in force')} since it was judged",
        "call it again: it is judged again",
        code=ErrorCode.STALE,
        retryable=True,
    )
