"""What is in force now: the policy, the person's permissions, and the tokens given under them (POL-11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from remit_governance.capabilities import TokenBook
from remit_governance.permissions.permissions import PermissionConfig, WorkspaceIdentity
from remit_governance.policy.decision.rule_paths import RulePaths, find_denied_paths, find_own_paths
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
    _paths: tuple[Policy, dict[str, RulePaths]] | None = field(default=None, init=False, repr=False)

    def denied_paths(self, syscall: str) -> RulePaths:
        """Returns for which paths the policy may deny the syscall: the same value as long as it is in force."""
        return self._known(f"denied {syscall}", lambda policy: find_denied_paths(policy, syscall))

    def own_paths(self, syscall: str) -> RulePaths:
        """Returns for which paths the policy may decide otherwise than for most."""
        return self._known(f"own {syscall}", lambda policy: find_own_paths(policy, syscall))

    def _known(self, name: str, find: Callable[[Policy], RulePaths]) -> RulePaths:
        policy = self.policy
        if self._paths is None or self._paths[0] is not policy:
            self._paths = policy, {}
        known = self._paths[1]
        if name not in known:
            known[name] = find(policy)
        return known[name]

    def replace(self, policy: Policy, permissions: PermissionConfig) -> int:
        """Put others in force; every token of another policy ends with it. Returns how many did."""
        self.policy, self.permissions = policy, permissions
        return self.tokens.revoke_other_policies(policy.version)
