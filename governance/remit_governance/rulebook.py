"""What is in force now: the policy, the person's permissions, and the tokens given under them (POL-11)."""

from __future__ import annotations

from dataclasses import dataclass, field

from remit_governance.capabilities import TokenBook
from remit_governance.permissions.permissions import PermissionConfig
from remit_governance.permissions.workspace_identity import WorkspaceIdentity
from remit_governance.policy.decision.denials import Denials, find_denials
from remit_governance.policy.rules import Policy


@dataclass(slots=True)
class Rulebook:
    """Policy and permissions are values, replaced whole; whoever judges takes them from here anew each time.

    `permissions` are those that hold in the workspace `here`; an answer for good is bound to it.
    """

    policy: Policy
    permissions: PermissionConfig = field(default_factory=PermissionConfig)
    tokens: TokenBook = field(default_factory=TokenBook)
    here: WorkspaceIdentity | None = None
    _denials: tuple[Policy, Denials] | None = field(default=None, init=False, repr=False)

    def denied_reads(self) -> Denials:
        """Returns which paths the policy may deny reading: the same value as long as it is in force."""
        policy, known = self.policy, self._denials
        if known is None or known[0] is not policy:
            known = self._denials = policy, find_denials(policy, "fs.read")
        return known[1]

    def replace(self, policy: Policy, permissions: PermissionConfig) -> int:
        """Put others in force; every token of another policy ends with it. Returns how many did."""
        self.policy, self.permissions = policy, permissions
        return self.tokens.revoke_other_policies(policy.version)
