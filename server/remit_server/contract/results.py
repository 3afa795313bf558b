"""What a client receives once: how a turn ended, what became of an answer, what the status is (AGT-08)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from remit_governance.values import Intent
from remit_server.contract.values import EditsAsked, ErrorPayload, TokenUsage, Wire


class ToolTrace(Wire):
    """One line of the run's audit trail (AGT-08)."""

    tool_call_id: str
    tool: str
    intent: Intent | None = None
    args_digest: str
    decision: str
    rule: str | None = None
    approval_id: str | None = None
    duration_ms: float = Field(ge=0)
    exit_code: int | None = None
    result_digest: str


class FileOutcome(Wire):
    """A file that a turn has changed, and how many lines came and went; null where it is no text, or too large."""

    path: str
    how: Literal["created", "changed", "deleted", "moved"]
    moved_from: str | None = None
    added: int | None = None
    removed: int | None = None


RunStatus = Literal["completed", "declined", "failed", "cancelled", "denied", "timed_out"]


class RunResult(Wire):
    """How a turn ended.

    `declined`: nothing that was asked for was done, and the model says so; `denied`: nothing was, because policy or the
    person refused it. `reason` says why in these two, and what was refused, or failed at last, where something else was
    done. `changes` are the files that are not what they were before the turn; `taken_back_by` names what takes them
    back, null where nothing was kept to do so.
    """

    session_id: str
    turn_id: str
    status: RunStatus
    final_output: str | None = None
    reason: str | None = None
    usage: TokenUsage | None = None
    tool_trace: tuple[ToolTrace, ...] = ()
    changes: tuple[FileOutcome, ...] = ()
    taken_back_by: Literal["undo", "redo"] | None = None
    error: ErrorPayload | None = None


class ApprovalReceipt(Wire):
    """What became of an answer; `accepted` is false for one that was replayed, expired or crossed."""

    accepted: bool
    reason: str | None = None


class ModelStats(Wire):
    """What a local model's process holds now, and sums since it started.

    `cache_bytes` are held for the next step of `sessions`; `hits` generations found part of their prompt there,
    `shared` of them in another session's; of their prompts' tokens some were `cached`, the others `read`.
    """

    sessions: int = Field(ge=0)
    cache_bytes: int = Field(ge=0)
    waiting: int = Field(ge=0)
    running: int = Field(ge=0)
    generations: int = Field(ge=0)
    hits: int = Field(ge=0)
    shared: int = Field(ge=0)
    cached_tokens: int = Field(ge=0)
    read_tokens: int = Field(ge=0)
    generated_tokens: int = Field(ge=0)
    tokens_per_s: float = Field(ge=0)


class Ability(StrEnum):
    """What a model can be asked for by an offer of the editor: to rename a name in a file, to explain code in words, to
    change it as it is told, to complete at the cursor."""

    RENAME = "rename"
    EXPLAIN = "explain"
    EDIT = "edit"
    COMPLETE = "complete"


class CompletionState(Wire):
    """Completion at the cursor, where it is switched on: the model that does it, why it offers nothing now, if so, and
    how often it offered something since the server began.
    """

    model: str
    why_not: str | None = None
    offered: int = Field(default=0, ge=0)


class ProcessStatus(Wire):
    """A process that a session started in the background. `ports` are those that it listens on, `published` the
    addresses at which this machine reaches it; `means` says for the person how it is."""

    process: str
    command: str
    running: bool
    ports: tuple[int, ...] = ()
    published: tuple[str, ...] = ()
    means: str


class StatusResult(Wire):
    """`remit/status`: what a status bar shows.

    `model_loaded` is the share of a model's weights that is in memory, while it is loaded; `model_stats` is there while
    a local model runs; `sent_to` is the host that conversations are sent to, null where they stay on this machine.
    `abilities` are what the model can be asked for: an editor offers nothing else. `completion` is null where that at
    the cursor is off. `mode` and `state` are those of the session that was asked about, else of the one that was used
    last; `state_means` says what may be written there and what leads on, `edits` when that session asks about edits.
    `policy` is the version in force;
    `policy_problem` says why it is not that of the files on disk, `audit_problem` what was last found wrong with the
    audit log. `folders` are the roots of all workspace folders that the client has open; each has its own status.
    `processes` are those that the session started in the background, of those that have ended the last ones.
    """

    version: str
    protocol: int
    workspace: str | None
    folders: tuple[str, ...] = ()
    model: str
    model_state: Literal["stopped", "starting", "ready", "busy", "failed"]
    model_loaded: float | None = Field(default=None, ge=0, le=1)
    model_stats: ModelStats | None = None
    sent_to: str | None = None
    abilities: tuple[Ability, ...] = ()
    completion: CompletionState | None = None
    mode: str | None = None
    state: str | None = None
    state_means: str | None = None
    edits: EditsAsked = "each"
    running_turns: int = Field(ge=0)
    pending_approvals: int = Field(ge=0)
    policy: str
    policy_problem: ErrorPayload | None = None
    audit_problem: str | None = None
    sandbox: str
    processes: tuple[ProcessStatus, ...] = ()


class GenerationResult(Wire):
    """The answer: a string, a list of strings, or a value of the schema."""

    result: JsonValue
    usage: TokenUsage
