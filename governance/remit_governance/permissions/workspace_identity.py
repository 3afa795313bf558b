"""Which workspace a standing answer holds in: its folder's path, and an id that another folder at that path has not
(APP-05)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from remit_governance.permissions.permissions import PermissionConfig, PermissionRule


@dataclass(frozen=True, slots=True)
class WorkspaceIdentity:
    """The real path of a workspace's folder, and its id in the person's state; None where none is recorded."""

    path: str
    id: str | None


def in_workspace(
    config: PermissionConfig, here: WorkspaceIdentity, real_path: Callable[[str], str]
) -> PermissionConfig:
    """The rules of a configuration that hold in this workspace.

    `real_path` resolves a path that a person wrote. A rule that allows also needs the id, where it names one;
    a rule that stops holds by the path alone, for what replaced a folder is not trusted more than what was there.
    """

    def named(rule: PermissionRule) -> bool:
        return rule.workspace is None or real_path(rule.workspace) == here.path

    def same(rule: PermissionRule) -> bool:
        return named(rule) and (rule.workspace_id is None or rule.workspace_id == here.id)

    return config.model_copy(
        update={
            "final_deny": tuple(filter(named, config.final_deny)),
            "overrides": tuple(o for o in config.overrides if (same(o) if o.answer == "allow" else named(o))),
            "deny": tuple(filter(named, config.deny)),
            "allow": tuple(filter(same, config.allow)),
        }
    )
