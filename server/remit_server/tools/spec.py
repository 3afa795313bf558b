"""What a tool is: a name, an effect, typed arguments, and a plan that others judge and carry out (TOOL-01).

A tool never writes and never spawns. `targets` says what a call touches, so that policy can judge it before any
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
    """Base of every tool's arguments: unknown ones are errors, types are not guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True, slots=True)
class Target:
    """One thing a call touches, for policy: a resolved path, a command line and the folder it runs in, a host, or the
    mode that is asked for. `also` are other command lines by which it is known, for rules that deny."""

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
    """What a run of tests came to.

    `cases` say how each test ended, whatever the data for clients leave out. `trouble` is why the report is not
    believed, `strangers` are tests that come from source, `rival` is another runner than the project's own,
    `unfinished` counts the tests of which no end is told. `stopped`: it was stopped before its end. `wants_lines`: the
    runner failed for the lines that ran alone. `lines` are those of the code that ran and that could, if measured.
    """

    __test__ = False  # pytest would take the name for a class of tests

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
    """A skill that was read, and the intents that are left to the rest of the turn."""

    skill: str
    intents: frozenset[Intent]


Facts = TestsRan | Reviewed | ToExempt | FoundTools | Narrows


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: text for the model, data for clients and a one-line summary for people.

    `failure` says why Remit stopped what ran: then the call has failed, whatever else is told of it. `retried` says
    which of many files were read at the second try. `facts` are what the workflow goes on by.
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
    """One file from exactly `before` (None: it does not exist) to exactly `after` (None: it is removed).

    With `moved_from`, the file of that path, which holds `before`, gets this one, where nothing is yet; `after` are the
    same bytes, none of them where `before` leaves them out. `executable` says whether it becomes so; None leaves that
    as it is, and a new file is not. `touched` is each path that changes, with the digests of what it held before and
    holds afterwards; `digest` and `size`, bytes, are of the file afterwards.
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
    """A folder that is `made` where nothing is, or removed if nothing is in it."""

    path: WorkspacePath
    made: bool


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Only reads; runs in process."""

    run: Callable[[], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Changes to files, to be approved and merged; `outcome` holds once they are. `undoes` are turns that they take
    back. `folders` come after the files: they hold nothing, so nothing of them is kept or taken back."""

    changes: tuple[FileChange, ...]
    outcome: Outcome
    undoes: tuple[str, ...] = ()
    folders: tuple[FolderChange, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """A command for the sandbox. `display` is the command as the person is shown it, verbatim.

    With `streams` the person sees what it prints while it runs; without `keeps_folders` those that it makes and leaves
    empty are forgotten. `amend` says what it came to where that is not only what it printed and left: it is asked once,
    before `render`, and what it adds to the changes is reviewed as they are. `stays` says why the person cannot send it
    to the background; nothing where they can (BG-08).
    """

    spec: CommandSpec
    display: str
    render: Callable[[CommandOutput], Outcome]
    streams: bool = False
    keeps_folders: bool = True
    amend: Callable[[CommandOutput], CommandOutput] | None = None
    stays: str = "what it came to is needed where it was called"


def count_files(count: int) -> str:
    """Returns a number of files in words."""
    return "1 file" if count == 1 else f"{count} files"


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """A commit, to be approved and then written to the repository in `folders`: the objects, the ref from exactly
    `parent`, the index.

    `ref` is the branch, None where HEAD is detached; `head` is what HEAD holds, `parent` None for a first commit,
    `author` `Name <address>`. `objects` are the new ones by id, header and body. `index_before` is the digest of the
    index that `index_after` replaces, None where there is none. `changes` are what the commit changes, `files` all that
    its tree holds of the workspace, as mode and id by name, and `remarks` what is not done, for the person to see;
    `logs` says whether the reflog is kept; `render` tells of the commit's id.
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
        """The branch in words."""
        return (self.ref or "a detached HEAD").removeprefix("refs/heads/")

    def written(self, when: str) -> bytes:
        """Returns the commit's own object, without header, where `when` is seconds and zone as git writes them."""
        lines = [f"tree {self.tree}"] + ([f"parent {self.parent}"] if self.parent else [])
        lines += [f"author {self.author} {when}", f"committer {self.author} {when}", "", self.message]
        return "\n".join(lines).encode()


@dataclass(frozen=True, slots=True)
class StartPlan:
    """A program that goes on in its sandbox while others run, until it ends or is ended; `display` is its command.

    `render` tells what it printed until what is `awaited` came.
    """

    spec: CommandSpec
    display: str
    awaited: Awaited
    render: Callable[[NewOutput], Outcome]


@dataclass(frozen=True, slots=True)
class StopPlan:
    """The end of a process that was started so; `render` tells how it is then."""

    process: str
    render: Callable[[ProcessSeen], Outcome]


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """A port of such a process that is to be reached from the person's machine; `render` tells at which address."""

    process: str
    port: int
    render: Callable[[str], Outcome]


@dataclass(frozen=True, slots=True)
class DelegatePlan:
    """Work for a sub-agent, which is left what is `wanted` of the authority of whoever hands it over."""

    work: str
    wanted: Wanted


Plan = ReadPlan | WritePlan | CommandPlan | CommitPlan | StartPlan | StopPlan | PublishPlan | DelegatePlan


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call may look at.

    `read_digests` holds, for each relative path, the digest of what this session last read there. `permits` says of a
    syscall and a relative path whether policy allows it without asking, so that a search never shows what a read would
    refuse. `redact` takes secrets out of a whole text, before any of it is cut, and keeps its lines. `code` is an
    editor that may know about the code, `history` what the session changed. `made` are files of `documents` that are
    there only once they are written (APP-11). `message_prefix` begins each commit's message; `is_locked` tells
    of a path whether it is of a test, or configures tests; `position` is where the session stands in the workflow.
    `room_chars` are the characters of a result that the model can read now, None where that does not matter. With
    `careful` a file is not written whole over contents that were not read. `command_limit_s` are the seconds that the
    person allows a command, `test_hosts` what they have runs of tests reach where policy allows it; `typed` says that
    they typed this call. `processes` are those that the session has in the background.
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
    command_limit_s: int = 600
    test_hosts: tuple[Endpoint, ...] = ()
    typed: bool = False
    processes: Background = field(default_factory=NoProcesses)
    _resolved: dict[str, WorkspacePath] = field(default_factory=dict[str, WorkspacePath], repr=False)

    def resolve(self, text: str) -> WorkspacePath:
        """Returns where `text` leads, found out once: a link swapped after policy has judged the path leads nowhere
        else.

        Raises ToolError, as `Workspace.resolve` does.
        """
        if text not in self._resolved:
            self._resolved[text] = self.workspace.resolve(text)
        return self._resolved[text]


def never(arguments: BaseModel) -> bool:
    """Of no arguments."""
    del arguments
    return False


def always(arguments: BaseModel) -> bool:
    """Of all arguments."""
    del arguments
    return True


class Follows(Enum):
    """What the workflow does with a call of a tool, before it runs or with what it came to (FLW-06)."""

    TESTS = auto()
    COMMIT = auto()
    PLAN = auto()
    EXEMPTION = auto()
    REVISION = auto()
    REVIEW = auto()
    MODE = auto()


@dataclass(frozen=True, slots=True)
class InWorkflow:
    """What a tool is to the workflow.

    `follows` is what the workflow does with its calls; None where it does nothing. `only_in` are the states that have a
    use for it, all where there are none. `strict_only`: it leads on where the workflow is enforced, and nowhere else.
    `gives_up`: it gives up an exemption, as long as nothing was changed under it.
    """

    follows: Follows | None = None
    only_in: frozenset[State] = frozenset()
    strict_only: bool = False
    gives_up: bool = False


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One row of the tool table. A model sees `most_chars` characters of a result: head, tail, how much is missing.

    `only_resolves`: `targets` resolves a path or two and no more, which is not worth a thread. `file_argument` is the
    argument that names a file which has to be there: a model under a grammar spells only such files.
    `new_file_argument` names one that the call makes: a tiny model spells there what is there or was said.
    `person_only`: no model is offered it or can call it, and the person's call is their answer to what policy wants
    reviewed. `sees_collected`: it finds every text by `ToolContext.documents` first, so that it sees what its turn has
    collected; before others run, that is reviewed. `past` says what it did to a path (`edited`), which a condensed
    conversation keeps. `drop_rank` is its place among the tools that a small window goes without, the lowest first;
    None: it is always offered. `if_named`: it is offered only to a model whose profile names it. `workflow` is what
    it is to the workflow. `own`: a program of the person's own does it, which reaches the hosts that they wrote down.
    `judged_as` is the tool whose rules and answers hold for its calls, where that is another one.
    `delegates`: it hands work to a sub-agent, which only the model of a turn of ours can; `may_touch` is what that may
    then look at or write, for the order of a step's calls.
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
        """The arguments as a JSON Schema object, without titles. The same object each time: only to be read."""
        return _schema_of(self.arguments)


AnyTool: TypeAlias = Tool[Any]
"""A tool of whatever arguments."""


@functools.cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Made once: it takes a millisecond, and every turn offers all the tools."""
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
