"""The run contract every transport carries: requests, events, results and errors (AGT-08).

These pydantic models are the source; `schemas/` and the extension's TypeScript types are generated from them
(`make schemas`). Field names are snake_case on every transport.
"""

# The imports below are the list of what the contract exports, so that no name has to be written twice.
# ruff: noqa: F401
# mypy: implicit-reexport
# pyright: reportUnusedImport=false

from __future__ import annotations

from remit_server.contract.chat import ChatProposal, ChatReply
from remit_server.contract.events import (
    AgentEvent,
    ApprovalRequired,
    ApprovalResolved,
    CommandWaits,
    ContextCondensed,
    ErrorEvent,
    Event,
    IntentSelected,
    ProcessChanged,
    PromptProgress,
    ReviewRequired,
    ReviewResolved,
    RunCompleted,
    RunStarted,
    StateChanged,
    ThinkingDelta,
    TokenDelta,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    UsageEvent,
    WarningEvent,
)
from remit_server.contract.requests import (
    MOST_ATTACHED,
    MOST_SELECTED,
    ApprovalAnswer,
    Attachment,
    CallInput,
    ContextPayload,
    DiagnosticsAttachment,
    ExecutionPolicy,
    FileAttachment,
    GenerationRequest,
    InputPart,
    LeftOut,
    RunRequest,
    SelectionAttachment,
    SymbolAttachment,
    TextInput,
)
from remit_server.contract.results import (
    Ability,
    ApprovalReceipt,
    CompletionState,
    FileOutcome,
    GenerationResult,
    ModelStats,
    ProcessStatus,
    RunResult,
    RunStatus,
    StatusResult,
    ToolTrace,
)
from remit_server.contract.reviews import (
    AgentSession,
    ReviewDocument,
    ReviewHunk,
    ReviewHunks,
    ReviewHunksRequest,
    ReviewList,
    ReviewListRequest,
    ReviewPart,
    ReviewResolveRequest,
    WaitingQuestion,
    WaitingReview,
)
from remit_server.contract.sessions import (
    AssistantSaid,
    CallEnded,
    CallMade,
    ChangedFile,
    FilesChanged,
    ForkedFrom,
    IntentDeclared,
    KeptExemption,
    KeptPosition,
    KeptProof,
    ModelConfig,
    Named,
    NotChanged,
    Pinned,
    PrefixSent,
    QuestionAnswered,
    SentCall,
    SentMessage,
    SessionEnd,
    SessionRecord,
    SessionStart,
    SessionSummary,
    SystemSaid,
    TokenCounts,
    TurnEnded,
    TurnRecord,
    TurnStarted,
    UserSaid,
    Warned,
    WorkflowMoved,
)
from remit_server.contract.statistics import (
    MessageCounts,
    ModelUse,
    SessionStatistics,
    SizeCounts,
    TimeSpent,
    ToolUse,
)
from remit_server.contract.values import (
    PROTOCOL,
    AnsweredBy,
    CallAnswer,
    EditsAsked,
    ErrorCode,
    ErrorPayload,
    FileDiff,
    Position,
    ReasonPayload,
    Scope,
    Selection,
    TokenUsage,
    Wire,
)
