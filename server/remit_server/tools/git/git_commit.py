"""`git_commit`: a commit of what changed, made by the server itself, so that no program of the repository is started
(GIT-02).

Filters and hooks are programs that a repository names; git would run them outside every sandbox, or inside one, where
git cannot write `.git`. So the harness writes objects, index and ref itself, and a commit that git would make
differently is refused.

This module also takes the author and the message from git's settings and forms them as git does (GIT-02).
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import PurePosixPath

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.counted import counted
from remit_server.errors import ToolError
from remit_server.tools.git.commit.attributes import Attributes
from remit_server.tools.git.commit.files import EXECUTABLE, WorkingTree, path_of
from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.tools.git.commit.repository import (
    Entry,
    RepositoryNow,
    folders_of,
    open_for_commit,
    whole,
)
from remit_server.tools.git.commit.selection import Selected, differences, select
from remit_server.tools.git.commit.trees import trees_of
from remit_server.tools.git.commit.untracked import read_persons
from remit_server.tools.git.git_repository import may_be_seen, quote_path, repository_targets
from remit_server.tools.spec import (
    Arguments,
    CommitPlan,
    FileChange,
    Follows,
    InWorkflow,
    Outcome,
    Plan,
    Target,
    Tool,
    ToolContext,
    count_files,
)
from remit_server.workspace.content.files import image_of
from remit_server.workspace.git_config import Settings, expand_path, git_folder_of, is_on
from remit_server.workspace.git_folder import open_git
from remit_server.workspace.git_index import write_index
from remit_server.workspace.paths.workspace_path import WorkspacePath

SYSCALL = "git.commit"
_MAX_ATTRIBUTES = 256 * 1024
_MAX_SHOWN = 50


class NothingDiffers(ToolError):
    """There is nothing to commit, because the files are as in the last commit."""


class GitCommitArguments(Arguments):
    """Arguments of `git_commit`."""

    message: str = Field(
        min_length=1,
        max_length=10_000,
        pattern=r"^(?:[^\x00-\x08\x0b-\x1f\x7f]|\r\n)*$",
        description="what changes and why; first line under 72 characters",
    )
    paths: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        strict=False,
        description="only these files or folders",
    )
    all: bool = Field(default=False, description="also other untracked files")


def commit_plan(arguments: GitCommitArguments, ctx: ToolContext) -> CommitPlan:
    """Returns the commit of the present state. Raises ToolError if there is nothing to commit, or if it cannot be done
    exactly as git would."""
    with open_git(ctx.workspace, folders_of(ctx.workspace)) as git:
        repository = open_for_commit(git)
        with closing(repository.objects):
            return _plan(arguments, ctx, repository)


def commit_of_all(ctx: ToolContext) -> CommitPlan:
    """Returns the commit of everything, untracked files included. Raises ToolError as `commit_plan` does."""
    return commit_plan(GitCommitArguments(message="all", all=True), ctx)


def _plan(arguments: GitCommitArguments, ctx: ToolContext, repository: RepositoryNow) -> CommitPlan:
    author, message = (
        author_of(repository.settings),
        tidy_message(_begin_message(arguments.message, ctx.message_prefix)),
    )
    committed, outside = repository.committed()
    with closing(WorkingTree(ctx.workspace, ctx.documents, repository, _attributes(repository, ctx))) as tree:
        selected = select(
            tree,
            _resolve_named(arguments, ctx),
            committed,
            lambda p: ctx.permits("fs.read", p),
            untracked=arguments.all,
            worked_on=_worked_on(ctx),
        )
    changed = differences(selected, committed)
    if not changed:
        raise NothingDiffers("cannot commit", *_nothing(selected, ctx), code=ErrorCode.INVALID_ARGUMENTS)
    root, trees = trees_of(whole(selected.files, outside, repository.prefix))
    changes = tuple(_change(name, selected, committed, repository, ctx) for name in changed)
    remarks = (
        *_remarks(repository, selected, outside),
        *selected.left_out.describe(lambda path: may_be_seen(path, ctx)),
    )
    return CommitPlan(
        folders=repository.git.folders,
        head=repository.head,
        ref=repository.ref,
        parent=repository.parent,
        tree=root,
        author=author,
        message=message,
        objects=_objects(selected, changed, trees, repository),
        index_before=repository.index.digest,
        index_after=_index(selected, repository),
        changes=changes,
        files=selected.files,
        logs=is_on(repository.settings, "core.logallrefupdates", default=True),
        remarks=remarks,
        render=lambda sha: _outcome(sha, changes, message, repository, remarks),
    )


def _worked_on(ctx: ToolContext) -> tuple[str, ...]:
    """Returns the files that this session made or changed; they belong in its commit even if git does not track them
    yet."""
    return tuple(dict.fromkeys(change.path for turn in ctx.history.turns() for change in turn.changes))


def _begin_message(message: str, prefix: str) -> str:
    """Returns the message with the configured prefix, which is not added twice (FLW-11)."""
    begins = prefix.rstrip()
    return message if message.startswith(begins) else f"{begins} {message}"


def _nothing(selected: Selected, ctx: ToolContext) -> tuple[str, str]:
    left_out = "".join(f"; {said}" for said in selected.left_out.describe(lambda path: may_be_seen(path, ctx)))
    hidden = f", but for {len(selected.hidden)} that policy keeps unread" if selected.hidden else ""
    return f"nothing differs from the last commit{hidden}{left_out}", "name untracked files in `paths`, or say `all`"


def _attributes(repository: RepositoryNow, ctx: ToolContext) -> Attributes:
    """Returns the attributes that git applies when it adds a file: from the working tree, else from the index."""
    index, top = repository.index, repository.git.folders.top
    known = whole(index.entries, index.outside, repository.prefix)

    def in_folder(folder: str) -> bytes:
        path = f"{folder}/.gitattributes" if folder else ".gitattributes"
        absolute = top / path
        if absolute.is_file() and not absolute.is_symlink():
            return read_persons(absolute)
        staged = known.get(path.encode(errors="surrogateescape"))
        return repository.blob(staged.id)[:_MAX_ATTRIBUTES] if staged and not absolute.is_symlink() else b""

    folder = git_folder_of(os.environ)
    said = repository.settings.get("core.attributesfile")
    own = expand_path(said, ctx.workspace.root, os.environ) if said else folder / "attributes" if folder else None
    inner = repository.git.read("info/attributes", _MAX_ATTRIBUTES) or b""
    return Attributes(in_folder, outer=read_persons(own), inner=inner, prefix=repository.git.folders.prefix)


def _objects(
    selected: Selected, changed: list[bytes], trees: Mapping[str, bytes], repository: RepositoryNow
) -> Mapping[str, bytes]:
    """Returns the objects to write, files first, so that a tree is never written before the files that it holds."""
    blobs = {
        selected.files[name][1]: b"blob %d\x00" % len(data) + data
        for name in changed
        if name in selected.files and (data := selected.contents.get(name)) is not None
    }
    return {sha: whole for sha, whole in {**blobs, **trees}.items() if not repository.holds(sha)}


def _index(selected: Selected, repository: RepositoryNow) -> bytes:
    before = repository.index
    entries = whole(selected.index, before.outside, repository.prefix)
    return write_index(entries.items(), before.version)


def _change(
    name: bytes, selected: Selected, committed: Mapping[bytes, Entry], repository: RepositoryNow, ctx: ToolContext
) -> FileChange:
    relative = path_of(name)
    old, new = committed.get(name), selected.files.get(name)
    before = image_of(repository.blob(old[1])) if old else None
    after = None if new is None else _content(name, new, selected, repository)
    turned = old is not None and new is not None and (old[0] == EXECUTABLE) != (new[0] == EXECUTABLE)
    runs = new is not None and new[0] == EXECUTABLE and (old is None or turned)
    return FileChange(
        WorkspacePath(relative, ctx.workspace.root),
        before,
        after,
        executable=runs if turned or runs else None,
    )


def _content(name: bytes, new: Entry, selected: Selected, repository: RepositoryNow) -> bytes:
    held = selected.contents.get(name)
    return repository.blob(new[1]) if held is None else held


def _remarks(repository: RepositoryNow, selected: Selected, outside: Mapping[bytes, Entry]) -> tuple[str, ...]:
    remarks: list[str] = []
    staged = {name: (each.mode, each.id) for name, each in repository.index.outside.items()}
    left = sum(staged.get(name) != outside.get(name) for name in staged.keys() | outside.keys())
    if repository.prefix:
        where = quote_path(str(repository.git.folders.top))
        remarks.append(f"the commit goes to the repository above, in {where}, with files of this folder only")
    if left:
        remarks.append(f"{left} files that are staged outside this folder are not committed, and stay staged")
    if repository.hooks:
        remarks.append(f"hooks are not run: {', '.join(map(quote_path, repository.hooks))}")
    if selected.hidden:
        remarks.append(f"left out: {counted(len(selected.hidden), 'file')} that policy keeps unread")
    return tuple(remarks)


def _outcome(
    sha: str, changes: tuple[FileChange, ...], message: str, repository: RepositoryNow, remarks: tuple[str, ...]
) -> Outcome:
    branch = quote_path((repository.ref or "detached HEAD").removeprefix("refs/heads/"))
    first = f"{branch} {sha[:12]}: {quote_path(message.partition(chr(10))[0])}"
    files = [f"  {_word(change)}: {quote_path(change.path.relative)}" for change in changes[:_MAX_SHOWN]]
    files += [f"  … and {len(changes) - _MAX_SHOWN} more"] if len(changes) > _MAX_SHOWN else []
    return Outcome(
        text="\n".join([f"committed to {first}", *files, *remarks]),
        summary=f"committed {count_files(len(changes))} to {first}",
        data={"commit": sha, "parent": repository.parent, "branch": repository.ref, "files": len(changes)},
    )


def _word(change: FileChange) -> str:
    return "added" if change.before is None else "deleted" if change.after is None else "modified"


def _resolve_named(arguments: GitCommitArguments, ctx: ToolContext) -> tuple[WorkspacePath, ...]:
    return tuple(_as_spelled(text, ctx) for text in arguments.paths)


def _as_spelled(text: str, ctx: ToolContext) -> WorkspacePath:
    """Returns the path. Raises ToolError if a link leads elsewhere, because policy has to judge the path that is
    committed."""
    path = ctx.resolve(text)
    spelled = PurePosixPath(os.path.normpath(ctx.workspace.root / text))
    if spelled != PurePosixPath(path.absolute) and not PurePosixPath(text).is_absolute():
        raise commit_refusal(f"a link in `{text}` leads to `{path.relative}`", "name that path, or the link's folder")
    return path


def _targets(arguments: GitCommitArguments, ctx: ToolContext) -> tuple[Target, ...]:
    named = _resolve_named(arguments, ctx)
    committing = tuple(Target(SYSCALL, path) for path in named or (ctx.resolve("."),))
    return (*committing, *repository_targets(ctx), *(Target("fs.read", path) for path in named))


async def _prepare(arguments: GitCommitArguments, ctx: ToolContext) -> Plan:
    return await asyncio.to_thread(commit_plan, arguments, ctx)


GIT_COMMIT = Tool(
    name="git_commit",
    summary="Commit changed files to git: all tracked ones and your new ones, or those named.",
    effect=Effect.WRITE,
    arguments=GitCommitArguments,
    targets=_targets,
    prepare=_prepare,
    past="committed",
    drop_rank=2,
    workflow=InWorkflow(Follows.COMMIT),
)


_CRUD = " \t.,:;<>\"\\'"


def author_of(settings: Settings) -> str:
    """Returns `Name <address>`. Raises ToolError if git's settings do not name an author."""
    name, mail = (_clean(settings.get(f"author.{key}") or settings.get(f"user.{key}", "")) for key in ("name", "email"))
    if not name or not mail:
        raise ToolError(
            "cannot commit",
            "git does not know who commits: `user.name` or `user.email` is not set",
            'have a person run `git config user.name "…"` and `git config user.email "…"`',
        )
    return f"{name} <{mail}>"


def tidy_message(message: str) -> str:
    """Returns the message as `git commit -m` keeps it: without trailing blanks, empty lines around it or repeated empty
    lines."""
    lines = [line.rstrip() for line in message.replace("\r\n", "\n").split("\n")]
    groups = [(empty, list(group)) for empty, group in itertools.groupby(lines, key=lambda line: not line)]
    kept = [line for empty, group in groups for line in ([""] if empty else group)]
    text = "\n".join(kept).strip("\n")
    if not text:
        raise ToolError("cannot commit", "the message is empty", "say in it what the commit changes and why")
    return text + "\n"


def _clean(text: str) -> str:
    return "".join(sign for sign in text if sign not in "<>\n\0").strip(_CRUD)
