"""What a client receives once: how a turn ended, whether an answer was accepted, what the status is (AGT-08)."""

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
    """A file that a turn has changed, with the numbers of added and removed lines; these are null if the file is no
    text or too large."""

    path: str
    how: Literal["created", "changed", "deleted", "moved"]
    moved_from: str | None = None
    added: int | None = None
    removed: int | None = None


RunStatus = Literal["completed", "declined", "failed", "cancelled", "denied", "timed_out"]
TakenBackBy = Literal["undo", "redo"]


class RunResult(Wire):
    """How a turn ended.

    With `declined`, nothing that was asked for was done, and the model says so. With `denied`, nothing was done because
    policy or the person refused it. For these two, `reason` says why; if something else was done, `reason` says what
    was refused or failed last. `changes` are the files that differ from before the turn. `taken_back_by` names what
    takes the changes back; null if nothing was kept to do so. `suggestion` is the sentence that the model would follow
    if the next message were a yes; null if it asks no such question.
    """

    session_id: str
    turn_id: str
    status: RunStatus
    final_output: str | None = None
    reason: str | None = None
    suggestion: str | None = None
    usage: TokenUsage | None = None
    tool_trace: tuple[ToolTrace, ...] = ()
    changes: tuple[FileOutcome, ...] = ()
    taken_back_by: TakenBackBy | None = None
    error: ErrorPayload | None = None


class ApprovalReceipt(Wire):
    """What became of an answer; `accepted` is false for one that was replayed, expired or crossed."""

    accepted: bool
    reason: str | None = None


class ModelStats(Wire):
    """What a local model's process holds now, and sums since it started.

    `cache_bytes` are held for the next step of each of the `sessions`. `hits` counts the generations that found part of
    their prompt in this cache, and `shared` those that found it in another session's. `cached_tokens` of the prompts
    came from the cache, and the model had to read the other `read_tokens`.
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
    """What an editor can offer to have the model do: rename a name in a file, explain code in words, change code as it
    is told, complete at the cursor."""

    RENAME = "rename"
    EXPLAIN = "explain"
    EDIT = "edit"
    COMPLETE = "complete"


class CompletionState(Wire):
    """Completion at the cursor, if it is switched on: the model that does it, the reason if it offers nothing now, and
    how often it offered something since the server began.
    """

    model: str
    why_not: str | None = None
    offered: int = Field(default=0, ge=0)


class ProcessStatus(Wire):
    """A process that a session started in the background. `ports` are the ports that it listens on, `published` the
    addresses at which this machine reaches it; `means` describes its state for the person."""

    process: str
    command: str
    running: bool
    ports: tuple[int, ...] = ()
    published: tuple[str, ...] = ()
    means: str


class StatusResult(Wire):
    """`remit/status`: what a status bar shows.

    `model_loaded` is the share of a model's weights that is in memory, while it is loaded; `model_stats` is there while
    a local model runs; `sent_to` is the host that conversations are sent to, null if they stay on this machine.
    `abilities` are what the model can be asked for; an editor offers nothing else. `completion` is null if completion
    at the cursor is off. `mode` and `state` are those of the session that was asked about, or else of the session used
    last; `state_means` says what may be written in this state and what leads on, and `edits` when that session asks
    about edits. `policy` is the version in force, `policy_layers` says in words what it is made of; `policy_problem`
    says why it is not the version on disk, and `audit_problem` what was last found wrong with the audit log. `folders`
    are the roots of all workspace folders that the client has open; each has its own status. `processes` are the
    running background processes of the session, and the last of those that have ended.
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
    policy_layers: tuple[str, ...] = ()
    policy_problem: ErrorPayload | None = None
    audit_problem: str | None = None
    sandbox: str
    processes: tuple[ProcessStatus, ...] = ()


class GenerationResult(Wire):
    """The answer: a string, a list of strings, or a value of the schema."""

    result: JsonValue
    usage: TokenUsage
