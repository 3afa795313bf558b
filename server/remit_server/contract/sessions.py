"""The records of a session's file, one per line, and the summary of a session for clients (SES-01).

Every transport replays a session from these records.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from remit_governance.values import Intent
from remit_governance.workflow.states import Mode, State
from remit_server.contract.results import FileOutcome, RunStatus, TakenBackBy
from remit_server.contract.values import CallAnswer, ErrorPayload, Scope, TokenUsage, Wire


class Record(Wire):
    """What all records carry: the moment, UTC in RFC 3339."""

    timestamp: str


class TurnRecord(Record):
    """What the records of one turn carry."""

    turn_id: str


class ModelConfig(Wire):
    """The model that a session begins with: who provides it, and its name."""

    provider: str
    model: str


class ForkedFrom(Wire):
    """The session that this one was copied from, and the number of the last message that was copied."""

    session_id: str
    message: int = Field(ge=0)


class SessionStart(Record):
    """The first line of every file."""

    type: Literal["session_start"] = "session_start"
    session_id: str
    workspace: str
    config: ModelConfig
    remit: str
    forked_from: ForkedFrom | None = None


class TurnStarted(TurnRecord):
    """A turn begins. `provider` and `model` name the model that answers it."""

    type: Literal["turn_start"] = "turn_start"
    provider: str
    model: str


class SystemSaid(Record):
    """The standing instructions of the conversation."""

    type: Literal["system"] = "system"
    content: str


class UserSaid(TurnRecord):
    """A message to the model: the person's words, or what Remit told it by itself.

    `sent` is all that the model was sent, with attachments and what the editor showed; null if it equals `content`.
    """

    type: Literal["user"] = "user"
    content: str
    sent: str | None = None
    origin: Literal["person", "remit"] = "person"


class TokenCounts(Wire):
    """Tokens of one answer; `cached` of the input tokens were not computed again, and `context` of them were sent in
    the longest of its requests. `price_usd` is null if it is not known.
    """

    input: int = Field(ge=0)
    context: int = Field(default=0, ge=0)
    output: int = Field(ge=0)
    cached: int = Field(default=0, ge=0)
    price_usd: float | None = Field(default=0.0, ge=0)


class AssistantSaid(TurnRecord):
    """One answer of the model; its calls follow, a `tool_call` each. The model took `duration_ms` for it."""

    type: Literal["assistant"] = "assistant"
    step: int = Field(ge=0)
    content: str
    provider: str
    model: str
    tokens: TokenCounts
    duration_ms: float = Field(default=0, ge=0)


class CallMade(TurnRecord):
    """A call of the model, of the person, of Remit itself, which has collected edits reviewed, or of a sub-agent, which
    got its work from the call `parent`."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: dict[str, JsonValue]
    caller: Literal["model", "person", "remit", "sub_agent"] = "model"
    parent: str | None = Field(default=None, exclude_if=lambda value: value is None)


class CallEnded(TurnRecord):
    """How a call ended; `output` is what the model was told. If an id has several records, the last one counts."""

    type: Literal["tool_result"] = "tool_result"
    id: str
    name: str
    success: bool
    output: str
    summary: str = ""
    intent: Intent | None = None
    decision: str = ""
    answer: CallAnswer | None = Field(default=None, exclude_if=lambda value: value is None)
    rules: tuple[str, ...] = ()
    error: str | None = None
    changed_files: tuple[str, ...] = ()
    exit_code: int | None = None
    duration_ms: float = Field(default=0, ge=0)


class IntentDeclared(TurnRecord):
    """A step declared its intent."""

    type: Literal["intent"] = "intent"
    step: int = Field(ge=0)
    intent: Intent
    justification: str | None = None
    work_item: str | None = None


class QuestionAnswered(TurnRecord):
    """A question to the person ended, after waiting for them for `waited_ms`."""

    type: Literal["approval"] = "approval"
    approval_id: str
    title: str
    decision: Literal["allow", "deny"]
    by: str
    scope: Scope
    waited_ms: float = Field(default=0, ge=0)


class SentCall(Wire):
    """A call in a message that the model is sent."""

    id: str
    name: str
    arguments: dict[str, JsonValue]


class SentMessage(Wire):
    """A message as the model is sent it. `calls` are the assistant's; `call_id` and `tool` are a result's."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[SentCall, ...] = ()
    call_id: str = ""
    tool: str = ""


class PrefixSent(TurnRecord):
    """From here on, the model is sent `prefix` in place of the messages before number `upto`."""

    type: Literal["condensed"] = "condensed"
    upto: int = Field(ge=0)
    prefix: tuple[SentMessage, ...]


class Pinned(TurnRecord):
    """Texts that stay in the conversation when it is condensed."""

    type: Literal["pinned"] = "pinned"
    texts: tuple[str, ...]


class ChangedFile(Wire):
    """One file from `before` to `after`, which are digests of kept contents; null if there is no file.

    `executable` says whether it was executable before and is afterwards; null if that does not matter.
    """

    path: str
    before: str | None
    after: str | None
    executable: tuple[bool, bool] | None = None
    moved_from: str | None = None


class FilesChanged(TurnRecord):
    """A change set: what a call is about to change, written before it does.

    With `reverts`, it takes back what these turns changed: it is an undo, or a redo, which is the undo of an undo.
    """

    type: Literal["changes"] = "changes"
    id: str
    call_id: str
    files: tuple[ChangedFile, ...]
    reverts: tuple[str, ...] = ()


class NotChanged(TurnRecord):
    """Files of a change set that were left as they were after all."""

    type: Literal["not_changed"] = "not_changed"
    id: str
    paths: tuple[str, ...]


class KeptExemption(Wire):
    """An exemption that was granted: its category, and the paths that it is for."""

    category: str
    paths: tuple[str, ...]


class KeptProof(Wire):
    """A failing run: the tests that failed as they should, all that failed, those that passed, the digest of the
    listing of all test files, and the name of the last change that the session had made by then."""

    proven: tuple[str, ...]
    failing: tuple[str, ...]
    passing: tuple[str, ...]
    locked: str
    since: str


class KeptPosition(Wire):
    """A place in the workflow: its digest stands in the audit record of the transition that led there. `before` is the
    digest of the listing of the test files when the plan was complete; `passed_with` are digests by path, `tree` is
    git's id of all that the tests passed with, `failing` the tests that failed then, as they did before.
    """

    version: Literal[1] = 1
    mode: Mode
    state: State
    exemption: KeptExemption | None
    before: str | None
    red: KeptProof | None
    approved: tuple[str, ...]
    passed_with: dict[str, str | None]
    tree: str | None = None
    failing: tuple[str, ...] | None = None


class WorkflowMoved(TurnRecord):
    """The next position of the session in the workflow, written before the session moves there; `changed` says whether
    anything was written since the state was entered. It counts only if the audit log has the transition."""

    type: Literal["workflow"] = "workflow"
    position: KeptPosition
    changed: bool


class Warned(TurnRecord):
    """A warning that the person was given besides the answer."""

    type: Literal["warning"] = "warning"
    message: str


class TurnEnded(TurnRecord):
    """How a turn ended, what it changed, and how long it took; see `RunResult`."""

    type: Literal["turn_end"] = "turn_end"
    status: RunStatus
    final_output: str | None = None
    reason: str | None = None
    suggestion: str | None = Field(default=None, exclude_if=lambda value: value is None)
    error: ErrorPayload | None = None
    changes: tuple[FileOutcome, ...] = Field(default=(), exclude_if=lambda value: not value)
    taken_back_by: TakenBackBy | None = Field(default=None, exclude_if=lambda value: value is None)
    usage: TokenUsage = TokenUsage()
    duration_ms: float = Field(default=0, ge=0)


class Named(Record):
    """The session has this name from here on."""

    type: Literal["name"] = "name"
    name: str = Field(min_length=1, max_length=100)


class SessionEnd(Record):
    """The process that wrote the session ended. More may follow: a session can be taken up again."""

    type: Literal["session_end"] = "session_end"
    reason: str
    message_count: int = Field(ge=0)


SessionRecord = Annotated[
    SessionStart
    | TurnStarted
    | SystemSaid
    | UserSaid
    | AssistantSaid
    | CallMade
    | CallEnded
    | IntentDeclared
    | QuestionAnswered
    | PrefixSent
    | Pinned
    | FilesChanged
    | NotChanged
    | WorkflowMoved
    | Warned
    | TurnEnded
    | Named
    | SessionEnd,
    Field(discriminator="type"),
]


class SessionSummary(Wire):
    """One line of a list of sessions. `title` is the beginning of the person's first words, `messages` counts theirs
    and the model's; `name` is the one that the person gave it.
    """

    session_id: str
    file: str
    name: str | None = None
    title: str = ""
    workspace: str
    started: str
    last_used: str
    messages: int = Field(ge=0)
    turns: int = Field(ge=0)
    model: str
    forked_from: str | None = None
