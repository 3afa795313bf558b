"""Statistics of sessions, for clients (SES-06). Times are milliseconds, prices US dollars."""

from __future__ import annotations

from pydantic import Field

from remit_server.contract.values import Wire


class MessageCounts(Wire):
    """How many messages there are. `total` counts what the model is sent: instructions, both sides, results."""

    total: int = Field(ge=0)
    system: int = Field(ge=0)
    user: int = Field(ge=0)
    assistant: int = Field(ge=0)
    tool_calls: int = Field(ge=0)
    tool_results: int = Field(ge=0)


class SizeCounts(Wire):
    """Characters of these messages, and tokens estimated as a quarter of them."""

    characters: int = Field(ge=0)
    average: float = Field(ge=0)
    largest: int = Field(ge=0)
    estimated_tokens: int = Field(ge=0)


class ModelUse(Wire):
    """What one model used, as its provider counted. `price_usd` is null if a price is not known."""

    provider: str
    model: str
    answers: int = Field(ge=0)
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cached_tokens: int = Field(ge=0)
    price_usd: float | None = Field(ge=0)
    duration_ms: float = Field(ge=0)


class ToolUse(Wire):
    """How one tool was used. `failed` counts by error; `duration_ms` has no waiting for answers to questions."""

    name: str
    calls: int = Field(ge=0)
    succeeded: int = Field(ge=0)
    failed: dict[str, int]
    duration_ms: float = Field(ge=0)


class TimeSpent(Wire):
    """Where the time of the turns went. Tools that run at the same time count each; `span_ms` is from the first record
    to the last."""

    turns_ms: float = Field(ge=0)
    model_ms: float = Field(ge=0)
    tools_ms: float = Field(ge=0)
    person_ms: float = Field(ge=0)
    span_ms: float = Field(ge=0)


class SessionStatistics(Wire):
    """The figures of one session, or of several. `turns` counts by how they ended, `questions` by answer."""

    sessions: int = Field(ge=0)
    started: str | None
    last_used: str | None
    turns: dict[str, int]
    messages: MessageCounts
    size: SizeCounts
    models: tuple[ModelUse, ...]
    tools: tuple[ToolUse, ...]
    intents: dict[str, int]
    questions: dict[str, int]
    condensed: int = Field(ge=0)
    changed_files: int = Field(ge=0)
    time: TimeSpent
    messages_per_minute: float = Field(ge=0)
    tokens_per_minute: float = Field(ge=0)
