"""What a person sets of the workflow beside its mode (FLW-08, FLW-10)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.hosts import Endpoint
from remit_governance.workflow.debt import Thresholds


@dataclass(frozen=True, slots=True)
class WorkflowOptions:
    """The points of coverage that warn and lock, how a commit is made, and what tests may reach.

    `auto_commit`: a commit that meets every criterion is not asked about; `auto_commit_lines` is the most changed
    lines that it may have. `message_prefix` begins each commit's message. `test_hosts` are what runs of tests
    reach, where policy allows it.
    """

    warning_points: float = 2.0
    lock_points: float = 5.0
    auto_commit: bool = False
    auto_commit_lines: int = 500
    message_prefix: str = ""
    test_hosts: tuple[Endpoint, ...] = ()

    @property
    def thresholds(self) -> Thresholds:
        """The points of debt that are warned of, and that lock."""
        return Thresholds(self.warning_points, self.lock_points)
