"""The run contract every transport carries: requests, events, results and errors (002 §4.3, protocol.md §1).

These pydantic models are the source; `schemas/` and the extension's TypeScript types are generated from them
(`make schemas`). Field names are snake_case on every transport.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SkipValidation, model_validator

from remit_governance.values import Effect, Intent

PROTOCOL = 1


class Wire(BaseModel):
    """What crosses a boundary: unknown fields are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ErrorCode(StrEnum):
    """Every code an error can carry, on any transport."""

    INVALID_REQUEST = "invalid_request"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    INTENT_REQUIRED = "intent_required"
    TOOL_NOT_ALLOWED_FOR_INTENT = "tool_not_allowed_for_intent"
    TOOL_UNAVAILABLE = "tool_unavailable"
    OUTSIDE_WORKSPACE = "outside_workspace"
    NOT_FOUND = "not_found"
    NOT_A_FILE = "not_a_file"
    BINARY_FILE = "binary_file"
    TOO_LARGE = "too_large"
    NOT_UNIQUE = "not_unique"
    NO_MATCH = "no_match"
    DENIED = "denied"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    STALE = "stale"
    OUTCOME_UNKNOWN = "outcome_unknown"
    READ_ONLY = "read_only"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    COMMAND_FAILED = "command_failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_FAILED = "model_failed"
    LIMIT_REACHED = "limit_reached"
    POLICY_INVALID = "policy_invalid"
    AUDIT_BROKEN = "audit_broken"
    BUSY = "busy"
    INTERNAL = "internal"


class ErrorPayload(Wire):
    """An error as a person reads it: what happened, why, and what to do."""

    code: ErrorCode
    message: str
    retryable: bool = False
    what: str
    why: str
    fix: str


class Position(Wire):
    """A place in a document: zero-based line and UTF-16 character, as in LSP."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Selection(Wire):
    """A range in a document, end exclusive."""

    start: Position
    end: Position


class FileAttachment(Wire):
    """A whole file the person attached; `path` is relative to the workspace."""

    type: Literal["file"] = "file"
    path: str


class SelectionAttachment(Wire):
    """Selected text the person attached."""

    type: Literal["selection"] = "selection"
    path: str
    range: Selection
    text: str = Field(max_length=100_000)


Attachment = Annotated[FileAttachment | SelectionAttachment, Field(discriminator="type")]


class TextInput(Wire):
    """A message of the person, for the model."""

    type: Literal["text"] = "text"
    text: str = Field(min_length=1, max_length=200_000)
    attachments: tuple[Attachment, ...] = ()


class CallInput(Wire):
    """A tool call of the person's own (`!command`, `run-tool`): no model, the same dispatcher, the same rules."""

    type: Literal["call"] = "call"
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    intent: Intent | None = None


InputPart = Annotated[TextInput | CallInput, Field(discriminator="type")]


class ContextPayload(Wire):
    """What the editor shows right now."""

    open_document: str | None = None
    cursor: Position | None = None
    visible_range: Selection | None = None
    workspace_folder: str | None = None


def _has(given: object, key: str) -> bool:
    return isinstance(given, dict) and key in given


class ExecutionPolicy(Wire):
    """Limits for one run. They may only tighten what the configuration says."""

    @model_validator(mode="before")
    @classmethod
    def _no_mode(cls, given: object) -> object:
        if _has(given, "mode"):
            raise ValueError("`mode` is not enforced by this version; leave it out")
        return given

    max_steps: int | None = Field(default=None, ge=1, le=100)
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    allow_tools: tuple[str, ...] | None = None


class RunRequest(Wire):
    """One turn. The same `session_id` and `turn_id` given twice yield the first one's result.

    `input` is one part or several, worked off in order inside the one turn.
    """

    session_id: str = Field(min_length=1, max_length=128)
    turn_id: str = Field(min_length=1, max_length=128)
    input: InputPart | Annotated[tuple[InputPart, ...], Field(min_length=1, max_length=32)]
    context: ContextPayload | None = None
    policy: ExecutionPolicy | None = None
    metadata: dict[str, str] | None = None

    @property
    def parts(self) -> tuple[TextInput | CallInput, ...]:
        """The input as a sequence, however it was given."""
        return self.input if isinstance(self.input, tuple) else (self.input,)


class Event(Wire):
    """What all events carry; `seq` is contiguous from 1 in a turn, `time` is UTC in RFC 3339."""

    seq: int = Field(ge=1)
    session_id: str
    turn_id: str
    time: str
    step: int = Field(default=0, ge=0)


class RunStarted(Event):
    """The turn was accepted."""

    kind: Literal["run_started"] = "run_started"
    model: str
    workspace: str


class IntentSelected(Event):
    """Stage one: the step declared its intent (rule 2), or switched it (rule 4)."""

    kind: Literal["intent_selected"] = "intent_selected"
    intent: Intent
    justification: str | None = None
    previous: Intent | None = None
    allowed_tools: tuple[str, ...] = ()


class TokenDelta(Event):
    """Text of the answer, as it is generated."""

    kind: Literal["token_delta"] = "token_delta"
    text: str


class ThinkingDelta(Event):
    """Text the model thinks aloud, apart from its answer."""

    kind: Literal["thinking_delta"] = "thinking_delta"
    text: str


class ToolCallEvent(Event):
    """Stage two: a tool is asked for. Nothing has run yet."""

    kind: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    tool: str
    intent: Intent | None = None
    arguments: dict[str, JsonValue]


class ReasonPayload(Wire):
    """One rule's word on an action, with the place where it is written."""

    rule: str | None = None
    layer: str
    action: str
    reason: str
    file: str | None = None
    line: int | None = None


class ToolResultEvent(Event):
    """How a call ended. `decision` says who decided: a rule, the gate, the person. `output` is what the model sees.

    `data` is the same for programs, by tool (docs/editors.md); empty where it would be longer than 256 KiB.
    """

    kind: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    tool: str
    ok: bool
    summary: str
    output: str = ""
    data: SkipValidation[dict[str, JsonValue]] = {}
    error: ErrorPayload | None = None
    decision: str
    rules: tuple[str, ...] = ()
    reasons: tuple[ReasonPayload, ...] = ()
    changed_files: tuple[str, ...] = ()
    exit_code: int | None = None
    duration_ms: float = Field(ge=0)


class ToolOutput(Event):
    """Lines that a command has printed while it runs, for the person; the model sees what its result shows."""

    kind: Literal["tool_output"] = "tool_output"
    tool_call_id: str
    text: str


class Scope(StrEnum):
    """For how long and where an answer holds; `always` is for good in this workspace, `everywhere` in every one."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    EVERYWHERE = "everywhere"


class FileDiff(Wire):
    """A proposed change to one file, as a unified diff with hostile characters made visible.

    A file that is only moved has no diff.
    """

    path: str
    diff: str
    before_digest: str | None = None
    after_digest: str | None = None
    created: bool = False
    deleted: bool = False
    moved_from: str | None = None


class ApprovalRequired(Event):
    """A question to the person. `digest` covers exactly what will run; no answer by `deadline` is a deny.

    `title` is one short line; `command`, which may have several, and `diffs` say it whole. `hosts` are what a command
    may reach. Hidden characters are spelled out in all of these.

    `session_rule` says in words what an answer for the session would remember; `always_rule` is the rule that an
    answer for good in this workspace would write, as it will stand in the person's permission file, `everywhere_rule`
    that of an answer for good in every workspace.
    """

    kind: Literal["approval_required"] = "approval_required"
    approval_id: str
    tool_call_id: str
    tool: str
    intent: Intent | None = None
    effect: Effect
    digest: str
    title: str
    reasons: tuple[ReasonPayload, ...]
    diffs: tuple[FileDiff, ...] = ()
    argv: tuple[str, ...] | None = None
    command: str | None = None
    cwd: str | None = None
    hosts: tuple[str, ...] = ()
    risk: Literal["low", "medium", "high"] = "medium"
    scopes: tuple[Scope, ...] = (Scope.ONCE,)
    session_rule: str | None = None
    always_rule: str | None = None
    everywhere_rule: str | None = None
    deadline: str


class ApprovalResolved(Event):
    """How the question ended and who answered.

    By `standing_answer` there was no question: an answer given before decided, and `approval_id` is the call's id.
    """

    kind: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    decision: Literal["allow", "deny"]
    scope: Scope = Scope.ONCE
    by: Literal["person", "standing_answer", "deadline", "disconnected", "unavailable", "cancelled"]


class StateChanged(Event):
    """The session moved to another workflow state or mode."""

    kind: Literal["state_changed"] = "state_changed"
    state: str
    mode: str


class ReviewRequired(Event):
    """Changes wait for a review of their hunks."""

    kind: Literal["review_required"] = "review_required"
    review_id: str
    diffs: tuple[FileDiff, ...]


class ReviewResolved(Event):
    """A review ended."""

    kind: Literal["review_resolved"] = "review_resolved"
    review_id: str
    accepted: int = Field(ge=0)
    rejected: int = Field(ge=0)


class TokenUsage(Wire):
    """Tokens of one request or of a run; `cached_tokens` of the prompt were not computed again."""

    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)


class UsageEvent(Event):
    """What one step cost."""

    kind: Literal["usage"] = "usage"
    usage: TokenUsage


class WarningEvent(Event):
    """Something the person should know that does not end the turn."""

    kind: Literal["warning"] = "warning"
    message: str


class ErrorEvent(Event):
    """Something that ends the step or the turn."""

    kind: Literal["error"] = "error"
    error: ErrorPayload


class ToolTrace(Wire):
    """One line of the run's audit trail (002 §4.5)."""

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


RunStatus = Literal["completed", "declined", "failed", "cancelled", "denied", "timed_out"]


class RunResult(Wire):
    """How a turn ended.

    `declined`: nothing that was asked for was done, and the model says so; `denied`: nothing was, because policy or the
    person refused it. `reason` says why in these two, and what was refused where something else was done.
    """

    session_id: str
    turn_id: str
    status: RunStatus
    final_output: str | None = None
    reason: str | None = None
    usage: TokenUsage | None = None
    tool_trace: tuple[ToolTrace, ...] = ()
    error: ErrorPayload | None = None


class RunCompleted(Event):
    """Always the last event of a turn, exactly once."""

    kind: Literal["run_completed"] = "run_completed"
    result: RunResult


AgentEvent = Annotated[
    RunStarted
    | IntentSelected
    | TokenDelta
    | ThinkingDelta
    | ToolCallEvent
    | ToolOutput
    | ToolResultEvent
    | ApprovalRequired
    | ApprovalResolved
    | StateChanged
    | ReviewRequired
    | ReviewResolved
    | UsageEvent
    | WarningEvent
    | ErrorEvent
    | RunCompleted,
    Field(discriminator="kind"),
]


class ApprovalAnswer(Wire):
    """`remit/approval/respond`: the person's answer to one question."""

    approval_id: str
    decision: Literal["allow", "deny"]
    scope: Scope = Scope.ONCE
    digest: str | None = None


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
    """What a model can be asked for by an offer of the editor: to rename a name in a file, to explain code in words."""

    RENAME = "rename"
    EXPLAIN = "explain"


class StatusResult(Wire):
    """`remit/status`: what a status bar shows.

    `model_loaded` is the share of a model's weights that is in memory, while it is loaded; `model_stats` is there while
    a local model runs. `abilities` are what the model can be asked for: an editor offers nothing else. `mode` and
    `state` are null as long as no workflow is enforced. `policy` is the version in force; `policy_problem` says why
    it is not that of the files on disk, `audit_problem` what was last found wrong with the audit log. `folders` are
    the roots of all workspace folders that the client has open; each has its own status.
    """

    version: str
    protocol: int
    workspace: str | None
    folders: tuple[str, ...] = ()
    model: str
    model_state: Literal["stopped", "starting", "ready", "busy", "failed"]
    model_loaded: float | None = Field(default=None, ge=0, le=1)
    model_stats: ModelStats | None = None
    abilities: tuple[Ability, ...] = ()
    mode: str | None = None
    state: str | None = None
    running_turns: int = Field(ge=0)
    pending_approvals: int = Field(ge=0)
    policy: str
    policy_problem: ErrorPayload | None = None
    audit_problem: str | None = None
    sandbox: str


class GenerationRequest(Wire):
    """`remit/generate`: one answer of the model by itself, in a wanted format; it has no tools and sees no workspace.

    `output_format` may be a JSON Schema. With `content`, the model is asked `prompt` of it.
    """

    prompt: str = Field(min_length=1)
    content: str | None = None
    instructions: str | None = None
    output_format: Literal["text", "string_list"] | dict[str, JsonValue] = "text"
    max_tokens: int = Field(default=1024, ge=1, le=32_768)


class GenerationResult(Wire):
    """The answer: a string, a list of strings, or a value of the schema."""

    result: JsonValue
    usage: TokenUsage
