"""The capability token that a call runs under: minted for exactly what was judged, used at once, and revoked when the
call ends (APP-07).
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
"""The sandbox id in tokens for actions that the server itself carries out."""
MOST_CONNECTIONS = 10_000
"""Uses of a token that a call hands on to its sandbox, for connections to hosts that were allowed."""
LONGEST_TURN_S = 3600.0
"""Seconds that a command's token is valid: as long as a turn may take, because the command may wait for its turn and be
paused. The token is revoked when the command ends, which is earlier.
"""


@dataclass(frozen=True, slots=True)
class Permit:
    """A token that the server holds. `handed` are those of the `actions` that the sandbox takes by itself
    (connections), with their decisions."""

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
        """The state of the token now."""
        return self.rulebook.tokens.state(self.nonce, time.monotonic())

    def use(self) -> None:
        """Spends one use for each action, right before execution. Raises ToolError if the token is no longer valid."""
        for action in self.actions:
            spend(self.rulebook, self.nonce, self.holder, action)

    def hand_on(self, sandbox_id: str, pid: int) -> HandedOn | None:
        """Derives from this token one for the process in a sandbox, which covers only the `handed` actions (APP-12).

        Returns None if there are no such actions. Raises ToolError if this token is no longer in force.
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
    """A token for one process in one sandbox. `judged` are the actions that it covers, by host."""

    rulebook: Rulebook
    nonce: int
    holder: Holder
    judged: Mapping[str, tuple[Action, Decision]]

    def connect(self, host: str, first: int) -> None:
        """Spends one use on a connection to `host`. `first` is the pid, as the kernel reports it, of the first process
        of the sandbox that connects.

        Raises ToolError if the token belongs to another process, does not cover the host, or is not in force.
        """
        holder = Holder(self.holder.sandbox_id, first)
        known = self.judged.get(host)
        spend(self.rulebook, self.nonce, holder, known[0] if known else Action("net.connect", host=host))

    @property
    def state(self) -> Ended:
        """The state of the token now."""
        return self.rulebook.tokens.state(self.nonce, time.monotonic())

    def revoke(self) -> None:
        """Revokes the token when its sandbox ends."""
        self.rulebook.tokens.revoke(self.nonce)


def spend(rulebook: Rulebook, nonce: int, holder: Holder, action: Action) -> None:
    """Spends one use of a token. Raises ToolError (`stale`) if the token does not cover the action now."""
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
    """Mints a permit for one execution of the actions that the policy `policy_version` has judged, calls `begin`,
    spends the permit, and yields it; revokes it at the end. `approved` says whether a person approved them. Each of
    these steps is noted in the record, because nothing may be carried out without a permit.

    Raises ToolError: `stale` if the policy in force is no longer the one that judged, or if an action may not have a
    permit; `audit_broken`.
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
    """Returns the refusal of a call whose permit is not in force, for the reason `why`."""
    reasons = {"other_policy": "the policy was changed", "expired": "it took too long"}
    return ToolError(
        "not done",
        f"{reasons.get(why, 'its permit is no longer in force')} since it was judged",
        "call it again: it is judged again",
        code=ErrorCode.STALE,
        retryable=True,
    )
