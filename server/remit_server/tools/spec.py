"""What a tool is: a name, an effect, typed arguments, and a plan that the harness judges and carries out (TOOL-01).

A tool never writes and never spawns. `targets` says what a call touches, so that policy can judge the call before any
content is read; `prepare` then reads what it must and returns a plan. The dispatcher asks for approval of exactly
that plan and carries it out.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue

from remit_governance.authority import Wanted
from remit_governance.hosts import Endpoint
from remit_governance.values import Effect, Intent
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import TestCase
from remit_governance.workflow.states import State
from remit_governance.workflow.test_files import is_locked_file
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.tools.background.seen import Awaited, Background, NewOutput, NoProcesses, ProcessSeen
from remit_server.workspace.code import CodeIntelligence, NoEditor
from remit_server.workspace.content.files import FileImage, digest_of
from remit_server.workspace.git_linked import Folders
from remit_server.workspace.history import History, NoHistory
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.ports import Documents

A = TypeVar("A", bound=BaseModel)


class Arguments(BaseModel):
    """Base of every tool's arguments: an unknown argument is an error, and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True, slots=True)
class Target:
    """One thing a call touches, for policy: a resolved path, a command line with the folder it runs in, a host, or the
    mode that is asked for. `also` are other command lines for the same command, which rules that deny match too."""

    syscall: str
    path: WorkspacePath | None = None
    command: tuple[str, ...] | None = None
    also: tuple[tuple[str, ...], ...] = ()
    cwd: WorkspacePath | None = None
    script: str | None = None
    size: int | None = None
    host: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class TestsRan:
    """The result of a run of tests.

    `cases` say how each test ended, also those that the data for clients leave out. `trouble` says why the report is
    not believed. `strangers` describe tests, and code that they check with, that do not come from a test file. `rival`
    is the project's own runner, if another one ran. `unfinished` counts the tests without a reported end. `stopped`:
    the run was stopped before its end. `wants_lines`: the runner failed only because too few lines ran. `lines` are the
    numbers of lines of code that ran and of all that could run, if they were measured.
    """

    __test__ = False  # the name begins with `Test`, so pytest would collect it

    runner: str
    cases: tuple[TestCase, ...]
    trouble: tuple[str, ...]
    strangers: tuple[str, ...]
    rival: str | None
    unfinished: int
    stopped: bool
    wants_lines: bool
    lines: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The git trees whose work the person has approved, or none."""

    trees: frozenset[str]


@dataclass(frozen=True, slots=True)
class ToExempt:
    """The relative paths of files that an exemption is asked for."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundTools:
    """The names of tools that a model asked for, and is offered from now on."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Narrows:
    """A skill that was read, and the intents that remain open for the rest of the turn."""

    skill: str
    intents: frozenset[Intent]


Facts = TestsRan | Reviewed | ToExempt | FoundTools | Narrows


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call: text for the model, data for clients and a one-line summary for people.

    `failure` says why Remit stopped the command; if it is set, the call has failed, whatever the rest says. `retried`
    says which of many files could be read only on the second try. `facts` are what the workflow needs to know.
    """

    text: str
    summary: str
    data: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    exit_code: int | None = None
    failure: ToolError | None = None
    retried: tuple[str, ...] = ()
    facts: Facts | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file from exactly `before` (None: it does not exist) to exactly `after` (None: it is removed).

    With `moved_from`, the file at that path, whose content is `before`, moves to `path`, where no file exists yet;
    `after` are the same bytes, or empty where `before` does not hold the bytes. `executable` says whether the file
    becomes executable; None keeps the mode of an existing file, and makes a new file non-executable. `touched` lists
    each path that changes, with the digests of its content before and afterwards; `digest` and `size` (in bytes)
    describe the file afterwards.
    """

    path: WorkspacePath
    before: FileImage | None
    after: bytes | None
    moved_from: WorkspacePath | None = None
    executable: bool | None = None
    touched: tuple[tuple[WorkspacePath, str | None, str | None], ...] = field(init=False, repr=False, compare=False)
    digest: str | None = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        before = self.before.digest if self.before else None
        digest = before if self.moved_from else None if self.after is None else digest_of(self.after)
        last = (self.path, None if self.moved_from else before, digest)
        size = self.before.size if self.before and self.moved_from else len(self.after or b"")
        object.__setattr__(self, "touched", ((self.moved_from, before, None), last) if self.moved_from else (last,))
        object.__setattr__(self, "digest", digest)
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A folder that is created if `made`, where nothing exists yet; else removed, if it is empty."""

    path: WorkspacePath
    made: bool


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan that only reads. It runs in process."""

    run: Callable[[], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Changes to files, to be approved and merged. `outcome` holds once they are merged. `undoes` are the turns that
    the changes take back. `folders` change after the files; they are empty, so no content of them is kept or
    restored."""

    changes: tuple[FileChange, ...]
    outcome: Outcome
    undoes: tuple[str, ...] = ()
    folders: tuple[FolderChange, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """A command for the sandbox. `display` is the command as the person is shown it, verbatim.

    With `streams` the person sees the output while the command runs. Without `keeps_folders`, folders that the command
    created and left empty are not kept. `amend` completes the command's output where its result is more than what it
    printed and left in its layer; it is called once, before `render`, and the changes that it adds are reviewed like
    the others. `stays` says why the person cannot send the command to the background; it is empty if they can (BG-08).
    """

    spec: CommandSpec
    display: str
    render: Callable[[CommandOutput], Outcome]
    streams: bool = False
    keeps_folders: bool = True
    amend: Callable[[CommandOutput], CommandOutput] | None = None
    stays: str = "what it came to is needed where it was called"


def count_files(count: int) -> str:
    """Returns a number of files in words, such as `2 files`."""
    return "1 file" if count == 1 else f"{count} files"


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """A commit, to be approved and then written to the repository in `folders`: the objects, then the ref, which must
    still be at `parent`, then the index.

    `ref` is the branch, None where HEAD is detached; `head` is the content of HEAD, `parent` is None for a first
    commit, `author` is `Name <address>`. `objects` are the new objects by id, each with its header. `index_before` is
    the digest of the index that `index_after` replaces, None where there is none. `changes` are the files that the
    commit changes, `files` all workspace files in its tree, as mode and id by name. `remarks` tell the person what the
    commit leaves out or does not do; `logs` says whether the reflog is written; `render` makes the outcome from the
    commit's id.
    """

    folders: Folders
    head: bytes
    ref: str | None
    parent: str | None
    tree: str
    author: str
    message: str
    objects: Mapping[str, bytes]
    index_before: str | None
    index_after: bytes
    changes: tuple[FileChange, ...]
    files: Mapping[bytes, tuple[int, str]]
    logs: bool
    remarks: tuple[str, ...]
    render: Callable[[str], Outcome]

    @property
    def where(self) -> str:
        """The branch's name, for people."""
        return (self.ref or "a detached HEAD").removeprefix("refs/heads/")

    def written(self, when: str) -> bytes:
        """Returns the bytes of the commit object, without its header. `when` is the time in seconds and the zone, as
        git writes them."""
        lines = [f"tree {self.tree}"] + ([f"parent {self.parent}"] if self.parent else [])
        lines += [f"author {self.author} {when}", f"committer {self.author} {when}", "", self.message]
        return "\n".join(lines).encode()


@dataclass(frozen=True, slots=True)
class StartPlan:
    """A program that runs in its sandbox in the background until it ends or is stopped; `display` is its command.

    `render` makes the outcome from the output up to the event that is `awaited`.
    """

    spec: CommandSpec
    display: str
    awaited: Awaited
    render: Callable[[NewOutput], Outcome]


@dataclass(frozen=True, slots=True)
class StopPlan:
    """The plan to stop a background process; `render` makes the outcome from the process's last
    state."""

    process: str
    render: Callable[[ProcessSeen], Outcome]


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """The plan to make a port of a background process reachable from the person's machine; `render` makes the outcome
    from the address."""

    process: str
    port: int
    render: Callable[[str], Outcome]


@dataclass(frozen=True, slots=True)
class DelegatePlan:
    """Work for a sub-agent. Of the caller's authority the sub-agent gets only what is `wanted`."""

    work: str
    wanted: Wanted


Plan = ReadPlan | WritePlan | CommandPlan | CommitPlan | StartPlan | StopPlan | PublishPlan | DelegatePlan


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call may look at.

    `read_digests` holds, for each relative path, the digest of the content that this session last read there. `permits`
    takes a syscall and a relative path and says whether policy allows it without asking, so that a search never shows
    what a read would refuse. `redact` removes secrets from a text and keeps its lines; it must get the whole text,
    before any cut. `code` is an editor that may know about the code, `history` what the session changed. `made` are
    files of `documents` that do not exist on disk until they are written (APP-11). `message_prefix` begins each
    commit's message; `is_locked` says whether a path is a test file or configures tests; `position` is where the
    session stands in the workflow. `room_chars` is how many characters of a result the model can read now, None if
    there is no limit. With `careful`, write_file may not replace contents that were not read. With `asked`, which is
    what the person wrote, only files that are named there may be moved or deleted. `command_limit_s` is how many
    seconds the person allows a command, `test_hosts` the hosts that they let runs of tests reach where policy allows
    it; `typed` says that the person typed this call. `processes` are the session's background processes.
    """

    workspace: Workspace
    documents: Documents
    read_digests: Mapping[str, str]
    permits: Callable[[str, str], bool]
    redact: Callable[[str], str]
    code: CodeIntelligence = field(default_factory=NoEditor)
    history: History = field(default_factory=NoHistory)
    made: frozenset[str] = frozenset()
    message_prefix: str = ""
    is_locked: Callable[[str], bool] = is_locked_file
    position: Position = field(default_factory=Position)
    room_chars: int | None = None
    careful: bool = False
    asked: str | None = None
    command_limit_s: int = 600
    test_hosts: tuple[Endpoint, ...] = ()
    typed: bool = False
    processes: Background = field(default_factory=NoProcesses)
    _resolved: dict[str, WorkspacePath] = field(default_factory=dict[str, WorkspacePath], repr=False)

    def resolve(self, text: str) -> WorkspacePath:
        """Returns the path that `text` leads to. The result is kept, so that a link that is swapped after policy judged
        the path leads nowhere else.

        Raises ToolError, as `Workspace.resolve` does.
        """
        if text not in self._resolved:
            self._resolved[text] = self.workspace.resolve(text)
        return self._resolved[text]


def never(arguments: BaseModel) -> bool:
    """Returns False for all arguments."""
    del arguments
    return False


def always(arguments: BaseModel) -> bool:
    """Returns True for all arguments."""
    del arguments
    return True


class Follows(Enum):
    """What the workflow does with a call of a tool, before the tool runs or with its outcome (FLW-06)."""

    TESTS = auto()
    COMMIT = auto()
    PLAN = auto()
    EXEMPTION = auto()
    REVISION = auto()
    REVIEW = auto()
    MODE = auto()


@dataclass(frozen=True, slots=True)
class InWorkflow:
    """How a tool takes part in the workflow.

    `follows` is what the workflow does with the tool's calls, None if nothing. `only_in` are the states in which the
    tool can be called; empty means every state. `strict_only`: the tool is offered only in strict mode, where it moves
    the workflow on. `gives_up`: the tool can also be called to end an exemption, as long as nothing was changed under
    it.
    """

    follows: Follows | None = None
    only_in: frozenset[State] = frozenset()
    strict_only: bool = False
    gives_up: bool = False


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One row of the tool table. A model sees `most_chars` characters of a result: its head, its tail and how much is
    missing.

    `only_resolves`: `targets` only resolves one or two paths, so it runs without a thread. `file_argument` is the
    argument that names a file that must exist; under a grammar a model can spell only such files. `new_file_argument`
    names a file that the call creates; under a grammar a tiny model can spell there only a path that exists or was
    mentioned. `person_only`: no model is offered the tool or can call it, and a call by the person counts as their
    approval where policy requires review. `sees_collected`: the call finds every text through `ToolContext.documents`
    first, so it sees the edits that its turn has collected; before any other call, the collected edits are reviewed.
    `past` is the verb for what the tool did to a path (`edited`), kept in a condensed conversation. `drop_rank` is the
    tool's place among the tools that a small window leaves out, lowest first; None: it is always offered. `if_named`:
    the tool is offered only to a model whose profile names it. `workflow` says how the tool takes part in the workflow.
    `own`: a program of the person's own does the work, and can reach the hosts that they listed. `judged_as` is another
    tool whose rules and permissions apply to calls of this one. `delegates`: the tool hands work to a sub-agent, which
    only the model of a turn of ours can; `may_touch` returns what that sub-agent may then read or write, so that the
    calls of a step can be ordered.
    """

    name: str
    summary: str
    effect: Effect
    arguments: type[A]
    targets: Callable[[A, ToolContext], tuple[Target, ...]]
    prepare: Callable[[A, ToolContext], Awaitable[Plan]]
    most_chars: int = 16_000
    only_resolves: bool = False
    file_argument: str | None = None
    new_file_argument: str | None = None
    person_only: bool = False
    sees_collected: Callable[[A], bool] = never
    past: str = ""
    drop_rank: int | None = None
    if_named: bool = False
    workflow: InWorkflow = InWorkflow()
    own: bool = False
    judged_as: str | None = None
    delegates: bool = False
    may_touch: Callable[[A, ToolContext], tuple[Target, ...]] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments as a JSON Schema object without titles. Every call returns the same object, so do not change
        it."""
        return _schema_of(self.arguments)


AnyTool: TypeAlias = Tool[Any]
"""A tool with any type of arguments."""


@functools.cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Returns the schema, cached because it takes a millisecond and every turn offers all the tools."""
    return remove_titles(arguments.model_json_schema())


def remove_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a JSON Schema without pydantic's generated `title`s, which only cost the model tokens."""

    def clean(node: Any, in_properties: bool) -> Any:
        if isinstance(node, dict):
            items = cast("dict[str, object]", node)
            return {
                key: clean(value, key == "properties" and not in_properties)
                for key, value in items.items()
                if in_properties or key != "title"
            }
        if isinstance(node, list):
            nodes = cast("list[object]", node)
            return [clean(value, False) for value in nodes]
        return node

    cleaned: dict[str, Any] = clean(schema, False)
    return cleaned
