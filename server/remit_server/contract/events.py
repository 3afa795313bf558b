"""What a client receives while a turn runs, in order; the union `AgentEvent` is closed (AGT-08)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, SkipValidation

from remit_governance.values import Effect, Intent
from remit_server.contract.results import RunResult
from remit_server.contract.values import (
    AnsweredBy,
    CallAnswer,
    ErrorCode,
    ErrorPayload,
    FileDiff,
    ReasonPayload,
    Scope,
    TokenUsage,
    Wire,
)


class Event(Wire):
    """What all events carry; `seq` is contiguous from 1 in a turn, `time` is UTC in RFC 3339.

    `sub_agent` is there only if the event is of a sub-agent: it is the id of the call that handed the work to the
    sub-agent, and `step` then counts the steps of the sub-agent.
    """

    seq: int = Field(ge=1)
    session_id: str
    turn_id: str
    time: str
    step: int = Field(default=0, ge=0)
    sub_agent: str | None = Field(default=None, exclude_if=lambda value: value is None)


class RunStarted(Event):
    """The turn was accepted. `sent_to` is the host that the conversation is sent to, null if it stays on this machine.

    `resumed` says that another process had begun the turn and is gone. If that process had only read, the turn is run
    again from here on.
    """

    kind: Literal["run_started"] = "run_started"
    model: str
    workspace: str
    sent_to: str | None = None
    resumed: bool = False


class IntentSelected(Event):
    """Stage one: the step declared its intent (rule 2), or switched it (rule 4), for a work item if it named one."""

    kind: Literal["intent_selected"] = "intent_selected"
    intent: Intent
    justification: str | None = None
    previous: Intent | None = None
    allowed_tools: tuple[str, ...] = ()
    work_item: str | None = None


class TokenDelta(Event):
    """Text of the answer, as it is generated."""

    kind: Literal["token_delta"] = "token_delta"
    text: str


class ThinkingDelta(Event):
    """Text the model thinks aloud, apart from its answer."""

    kind: Literal["thinking_delta"] = "thinking_delta"
    text: str


class PromptProgress(Event):
    """The model has read `done` of the `total` tokens of the step's prompt. Its first word comes after the last one."""

    kind: Literal["prompt_progress"] = "prompt_progress"
    done: int = Field(ge=0)
    total: int = Field(gt=0)


class ToolCallEvent(Event):
    """Stage two: a tool is asked for. Nothing has run yet."""

    kind: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    tool: str
    intent: Intent | None = None
    arguments: dict[str, JsonValue]


STOPPED = frozenset({ErrorCode.TIMED_OUT, ErrorCode.STOPPED})
"""The codes of calls whose program ran, and was stopped at a limit."""


class ToolResultEvent(Event):
    """How a call ended. `decision` is policy's, or says that the gate or another check refused the call. If the call
    needed approval, `answer` says how that was settled; null if nothing settled it. `output` is what the model sees.

    `data` is the same for programs, by tool (docs/editors/protocol.md); empty if it would be longer than 256 KiB.
    """

    kind: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    tool: str
    ok: bool
    summary: str
    output: str = ""
    data: SkipValidation[dict[str, JsonValue]] = Field(default={})
    error: ErrorPayload | None = None
    decision: str
    answer: CallAnswer | None = None
    rules: tuple[str, ...] = ()
    reasons: tuple[ReasonPayload, ...] = ()
    changed_files: tuple[str, ...] = ()
    exit_code: int | None = None
    duration_ms: float = Field(ge=0)

    @property
    def ran_program(self) -> bool:
        """Whether the call ran a program, to its end or to a limit."""
        return self.exit_code is not None or (self.error is not None and self.error.code in STOPPED)

    @property
    def went_well(self) -> bool:
        """Whether the call did what it was for: a program that it ran has ended, and not with an error."""
        failed = self.data.get("passed") is False  # no test ran, or the report of the tests says that they failed
        return self.ok and not failed and not self.exit_code


class ToolOutput(Event):
    """Lines that a command has printed while it runs, for the person; the model sees what its result shows."""

    kind: Literal["tool_output"] = "tool_output"
    tool_call_id: str
    text: str


class CommandWaits(Event):
    """A command waits for its turn, is paused for something more urgent, or goes on; `means` says so for the person."""

    kind: Literal["command_waits"] = "command_waits"
    tool_call_id: str
    wait: Literal["queued", "started", "paused", "resumed"]
    means: str


class ProcessChanged(Event):
    """A process in the background changed its state, perhaps between two turns; `means` says so for the person."""

    kind: Literal["process_changed"] = "process_changed"
    process: str
    state: Literal["started", "ready", "published", "ended"]
    means: str


class ApprovalRequired(Event):
    """A question to the person. `digest` covers exactly what will run; no answer by `deadline` is a deny.

    `title` is one short line; `command`, which may have several lines, and `diffs` show everything. `hosts` are the
    hosts that a command may reach, and `near` names the process in the background whose ports it reaches. Hidden
    characters are spelled out in all of these.

    `session_rule` says in words what an answer for the session would remember, `edits_rule` what an answer for every
    edit would. `always_rule` is the rule that an answer for good in this workspace would write, as it will stand in the
    person's permission file; `everywhere_rule` is that of an answer for good in every workspace. `session_name` names
    the session that asks, if the server holds more than one. `by_hunk` says that an answer may leave out hunks or
    files. The call is number `step_call` of the `step_calls` that its step made besides intents; the calls after it may
    ask as well. `asked_by` is one line about the work of the sub-agent that made the call; null if no sub-agent did.
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
    near: str | None = None
    risk: Literal["low", "medium", "high"] = "medium"
    scopes: tuple[Scope, ...] = (Scope.ONCE,)
    session_rule: str | None = None
    edits_rule: str | None = None
    always_rule: str | None = None
    everywhere_rule: str | None = None
    session_name: str | None = None
    by_hunk: bool = False
    step_call: int = 1
    step_calls: int = 1
    asked_by: str | None = None
    deadline: str


class ApprovalResolved(Event):
    """How the question ended and who answered.

    With `standing_answer` and `review` there was no question, and `approval_id` is the call's id: what decided was an
    answer given before, or the review of the work in strict mode, and then `reason` says whose review it was.
    `beforehand` is a yes that the command line gave (`--approve session`). A question is `withdrawn` if a file that it
    was about was renamed, deleted or made meanwhile.
    """

    kind: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    decision: Literal["allow", "deny"]
    scope: Scope = Scope.ONCE
    by: AnsweredBy
    reason: str | None = None


class StateChanged(Event):
    """The session moved to another workflow state or mode; `means` says what may be written there and what leads on."""

    kind: Literal["state_changed"] = "state_changed"
    state: str
    mode: str
    means: str


class ReviewRequired(Event):
    """Changes wait for a review of their hunks."""

    kind: Literal["review_required"] = "review_required"
    review_id: str
    diffs: tuple[FileDiff, ...]


class ReviewResolved(Event):
    """The person took a part of what was shown; `review_id` is the question's id."""

    kind: Literal["review_resolved"] = "review_resolved"
    review_id: str
    accepted: int = Field(ge=0)
    rejected: int = Field(ge=0)


class ContextCondensed(Event):
    """The conversation came near the end of the model's window, so a shorter form of it is sent now. All of it is kept.

    Tokens are estimated by the model's own counts; `summary` is the model's summary of the part that is not sent.
    """

    kind: Literal["context_condensed"] = "context_condensed"
    before_tokens: int = Field(ge=0)
    after_tokens: int = Field(ge=0)
    window: int = Field(ge=1)
    summary: str = ""


class UsageEvent(Event):
    """What one step cost, for all its requests together. `context` is the number of tokens of the longest request, and
    `window` the number of tokens that the model can hold with its answer; null if unknown.
    """

    kind: Literal["usage"] = "usage"
    usage: TokenUsage
    context: int = Field(default=0, ge=0)
    window: int | None = Field(default=None, ge=1)


class WarningEvent(Event):
    """Something the person should know that does not end the turn."""

    kind: Literal["warning"] = "warning"
    message: str


class ErrorEvent(Event):
    """Something that ends the step or the turn."""

    kind: Literal["error"] = "error"
    error: ErrorPayload


class RunCompleted(Event):
    """Always the last event of a turn, exactly once."""

    kind: Literal["run_completed"] = "run_completed"
    result: RunResult


AgentEvent = Annotated[
    RunStarted
    | IntentSelected
    | TokenDelta
    | ThinkingDelta
    | PromptProgress
    | ToolCallEvent
    | ToolOutput
    | CommandWaits
    | ProcessChanged
    | ToolResultEvent
    | ApprovalRequired
    | ApprovalResolved
    | StateChanged
    | ReviewRequired
    | ReviewResolved
    | ContextCondensed
    | UsageEvent
    | WarningEvent
    | ErrorEvent
    | RunCompleted,
    Field(discriminator="kind"),
]
