"""What a person sets of the workflow beside its mode (FLW-08, FLW-10)."""

from __future__ import annotations

from dataclasses import dataclass, field

from remit_governance.hosts import Endpoint
from remit_governance.workflow.debt import Thresholds


@dataclass(frozen=True, slots=True)
class WorkflowOptions:
    """The thresholds of the debt, how a commit is made, and what tests may reach.

    `auto_commit`: a commit that meets every criterion is not asked about; `auto_commit_lines` is the most changed
    lines that it may have. `message_prefix` begins each commit's message. `test_hosts` are what runs of tests
    reach, where policy allows it.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    auto_commit: bool = False
    auto_commit_lines: int = 500
    message_prefix: str = ""
    test_hosts: tuple[Endpoint, ...] = ()
