"""What the stages of a call work with: the parts of the harness, and the call in its turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit_governance.audit.store import AuditLog
from remit_governance.rulebook import Rulebook
from remit_governance.secrets.redaction import Redactor
from remit_governance.workflow.review import WorkflowOptions
from remit_server.harness.approval.desk import ApprovalDesk
from remit_server.harness.background.processes import Processes
from remit_server.harness.calls import ToolCall
from remit_server.harness.commands.history import PastPaths
from remit_server.harness.turn import Turn
from remit_server.sandbox.ports import Sandbox
from remit_server.tools.spec import AnyTool
from remit_server.workspace.code import CodeIntelligence, NoEditor
from remit_server.workspace.merges.merge_log import MergeLog
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import Documents
from remit_server.workspace.trees.known_folders import KnownFolders


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the harness, the same for every call of a workspace.

    `merges` is the log that makes a merge survive a crash between two changes. `workflow` and `command_limit_s` (in
    seconds) read the person's current settings. `coverage_file` holds the coverage account, or is None if none is kept.
    `folders` remembers what was last found in the workspace's folders, to hide paths from commands. `processes` are the
    background processes.
    """

    tools: Mapping[str, AnyTool]
    rulebook: Rulebook
    workspace: Workspace
    documents: Documents
    merges: MergeLog
    sandbox: Sandbox
    desk: ApprovalDesk
    audit: AuditLog
    redactor: Redactor
    code: CodeIntelligence = field(default_factory=NoEditor)
    past: PastPaths = field(default_factory=PastPaths)
    folders: KnownFolders = field(default_factory=KnownFolders)
    workflow: Callable[[], WorkflowOptions] = WorkflowOptions
    command_limit_s: Callable[[], int] = lambda: 600
    coverage_file: Path | None = None
    processes: Processes = field(default_factory=Processes)


@dataclass(frozen=True, slots=True)
class CallContext:
    """One call, the turn that it belongs to, and the parts that its stages work with."""

    call: ToolCall
    turn: Turn
    parts: Parts
