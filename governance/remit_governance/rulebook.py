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
    """The policy and permissions in force. Both are values and are replaced whole; each judgement reads them anew.

    `permissions` are those that apply in the workspace `here`; a permanent answer is bound to that workspace.
    """

    policy: Policy
    permissions: PermissionConfig = field(default_factory=PermissionConfig)
    tokens: TokenBook = field(default_factory=TokenBook)
    here: WorkspaceIdentity | None = None
    _paths: tuple[Policy, dict[str, RulePaths]] | None = field(default=None, init=False, repr=False)

    def denied_paths(self, syscall: str) -> RulePaths:
        """Returns the paths for which the policy may deny the syscall; the same object while the policy is in force."""
        return self._known(f"denied {syscall}", lambda policy: find_denied_paths(policy, syscall))

    def own_paths(self, syscall: str) -> RulePaths:
        """Returns the paths for which the policy may decide the syscall otherwise than for most paths."""
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
        """Puts another policy and permissions in force, and revokes the tokens of every other policy. Returns how many
        tokens of other policies there were."""
        self.policy, self.permissions = policy, permissions
        return self.tokens.revoke_other_policies(policy.version)
