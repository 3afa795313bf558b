"""What requests, events and results are made of: codes, places, reasons, diffs, scopes, counts."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

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
    DRY_RUN = "dry_run"
    STALE = "stale"
    OUTCOME_UNKNOWN = "outcome_unknown"
    READ_ONLY = "read_only"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    COMMAND_FAILED = "command_failed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
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


class ReasonPayload(Wire):
    """One rule's word on an action, with the place where it is written."""

    rule: str | None = None
    layer: str
    action: str
    reason: str
    file: str | None = None
    line: int | None = None


EditsAsked = Literal["each", "turn", "allow"]
"""When a session asks about edits: before each, about all of a turn's at its end, or not at all."""


class Scope(StrEnum):
    """For how long and where an answer holds; `edits` is for every edit of the session, `always` for good in this
    workspace, `everywhere` in every one."""

    ONCE = "once"
    SESSION = "session"
    EDITS = "edits"
    ALWAYS = "always"
    EVERYWHERE = "everywhere"


AnsweredBy = Literal[
    "person",
    "beforehand",
    "standing_answer",
    "review",
    "deadline",
    "disconnected",
    "unavailable",
    "cancelled",
    "withdrawn",
]


class CallAnswer(Wire):
    """How the approval that a call needed was settled; see `ApprovalResolved`. `approval_id` is the question's id, or
    the call's if nobody was asked."""

    approval_id: str
    decision: Literal["allow", "deny"]
    scope: Scope = Scope.ONCE
    by: AnsweredBy


class FileDiff(Wire):
    """A proposed change to one file, as a unified diff with hostile characters made visible.

    A file that is only moved has no diff. `hunks` is the number of hunks that a person may take one by one, or 0 if the
    diff is taken as a whole.
    """

    path: str
    diff: str
    before_digest: str | None = None
    after_digest: str | None = None
    created: bool = False
    deleted: bool = False
    moved_from: str | None = None
    hunks: int = Field(default=0, ge=0)


class TokenUsage(Wire):
    """Tokens of one request or of a run; `cached_tokens` of the prompt were not computed again.

    `price_usd` is what they cost by the service's list prices: 0 on this machine, null if it is not known.
    """

    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    price_usd: float | None = Field(default=0.0, ge=0)

    def plus(self, other: TokenUsage) -> TokenUsage:
        """Returns the sum. Its price is known only if both prices are."""
        prices = self.price_usd, other.price_usd
        return TokenUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            price_usd=None if None in prices else sum(filter(None, prices)),
        )
