"""What a client sends: a turn to run, an answer to a question, a text to generate (AGT-08)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from remit_governance.values import Intent
from remit_server.contract.values import Position, Scope, Selection, Wire

MOST_ATTACHED = 32
MOST_SELECTED = 100_000


class AnyAttachment(Wire):
    """What the person attached to a message. A `pinned` attachment stays when the conversation is condensed."""

    pinned: bool = False


class FileAttachment(AnyAttachment):
    """A file, which is read as the person's own call; `path` is relative to the workspace."""

    type: Literal["file"] = "file"
    path: str


class DiagnosticsAttachment(AnyAttachment):
    """The problems that the editor, or else a language server, finds in a file or folder, or in the whole workspace."""

    type: Literal["diagnostics"] = "diagnostics"
    path: str | None = None


class SymbolAttachment(AnyAttachment):
    """Where a name is defined."""

    type: Literal["symbol"] = "symbol"
    name: str = Field(min_length=1, max_length=200)


class SelectionAttachment(AnyAttachment):
    """Selected text the person attached."""

    type: Literal["selection"] = "selection"
    path: str
    range: Selection
    text: str = Field(max_length=MOST_SELECTED)


Attachment = Annotated[
    FileAttachment | SelectionAttachment | DiagnosticsAttachment | SymbolAttachment, Field(discriminator="type")
]


class TextInput(Wire):
    """A message of the person, for the model."""

    type: Literal["text"] = "text"
    text: str = Field(min_length=1, max_length=200_000)
    attachments: Annotated[tuple[Attachment, ...], Field(max_length=MOST_ATTACHED)] = ()


class CallInput(Wire):
    """A tool call that Remit's model did not make. It passes the same dispatcher and the same rules.

    It is the person's own (`!command`, `run-tool`), or, with `by` `model`, a call of another agent's model, which
    policy judges as a model's call. `typed` says that the person typed this very command, which answers the question
    that policy would ask (APP-17). `work_item` is declared with the intent.
    """

    type: Literal["call"] = "call"
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    intent: Intent | None = None
    by: Literal["person", "model"] = "person"
    typed: bool = False
    work_item: str | None = None


InputPart = Annotated[TextInput | CallInput, Field(discriminator="type")]


class ContextPayload(Wire):
    """What the editor shows right now."""

    open_document: str | None = None
    cursor: Position | None = None
    visible_range: Selection | None = None
    workspace_folder: str | None = None


class ExecutionPolicy(Wire):
    """Limits for one run. They may only tighten what the configuration says.

    In a `dry_run` everything but reading is shown and not done. A `mode` that is stricter than the session's holds the
    session to it from here on; a looser one is refused.
    """

    max_steps: int | None = Field(default=None, ge=1, le=100)
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    allow_tools: tuple[str, ...] | None = None
    dry_run: bool = False
    mode: Literal["strict", "explore", "debug"] | None = None


class RunRequest(Wire):
    """One turn. The same `session_id` and `turn_id` given twice yield the first one's result.

    `input` is one part or several, worked off in order inside the one turn. `model` is the person's choice for this
    turn and the session's later ones, as `REMIT_MODEL` takes it; the conversation goes on.
    """

    session_id: str = Field(min_length=1, max_length=128)
    turn_id: str = Field(min_length=1, max_length=128)
    input: InputPart | Annotated[tuple[InputPart, ...], Field(min_length=1, max_length=32)]
    context: ContextPayload | None = None
    policy: ExecutionPolicy | None = None
    model: str | None = Field(default=None, min_length=1, max_length=1024)
    metadata: dict[str, str] | None = None

    @property
    def parts(self) -> tuple[TextInput | CallInput, ...]:
        """The input as a sequence, however it was given."""
        return self.input if isinstance(self.input, tuple) else (self.input,)


class LeftOut(Wire):
    """A hunk of a shown diff that the person does not want, counted from 0, or with `hunk` null a whole file.

    `comment` is for the model.
    """

    path: str
    hunk: int | None = Field(default=None, ge=0)
    comment: str | None = Field(default=None, max_length=2_000)


class ApprovalAnswer(Wire):
    """`remit/approval/respond`: the person's answer to one question.

    If the question is `by_hunk`, an `allow` for once may leave out parts of what was shown; if it leaves out all of
    them, it is a `deny`. `comment` is for the model, with either decision.
    """

    approval_id: str
    decision: Literal["allow", "deny"]
    scope: Scope = Scope.ONCE
    digest: str | None = None
    left_out: tuple[LeftOut, ...] = Field(default=(), max_length=1_000)
    comment: str | None = Field(default=None, max_length=2_000)


class GenerationRequest(Wire):
    """`remit/generate`: one answer of the model by itself, in a wanted format; it has no tools and sees no workspace.

    `output_format` may be a JSON Schema. With `content`, the model is asked `prompt` about that content.
    """

    prompt: str = Field(min_length=1)
    content: str | None = None
    instructions: str | None = None
    output_format: Literal["text", "string_list"] | dict[str, JsonValue] = "text"
    max_tokens: int = Field(default=1024, ge=1, le=32_768)
