"""`git_status`: the branch, how far it is ahead of or behind its upstream, and which files differ (GIT-01)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from remit_governance.values import Effect
from remit_server.counted import counted
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.git.git_repository import (
    DIFF,
    GIT,
    may_be_seen,
    open_repository,
    quote_path,
    read_printed,
    repository_targets,
)
from remit_server.tools.git.not_looked_at import (
    READ_FILTERS,
    describe_filtered,
    describe_submodules,
    parse_filters,
    submodules_of,
)
from remit_server.tools.spec import Arguments, CommandPlan, Outcome, Plan, Target, Tool, ToolContext
from remit_server.workspace.git_linked import Folders

MAX_ENTRIES = 500
_WORDS = {"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed"}
_STATES = {**_WORDS, ".": "unchanged", "U": "conflict", "?": "untracked"}
_COMMAND = (
    *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignored=no", "--find-renames"),
    # If git looked into a submodule, it would run with the submodule's settings.
    "--ignore-submodules=dirty",
    # If the repository is larger than the workspace, only the workspace's part is compared.
    *("--", "."),
)


# $@ is the status command; an empty record ends its output, and the filters of modified files follow.
_SCRIPT = f"""{GIT} "$@" || exit
printf '\\0'
{DIFF} --name-only --no-renames --diff-filter=M -z | {READ_FILTERS}
"""


class GitStatusArguments(Arguments):
    """`git_status` takes no arguments."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One path that differs: its state in the index, and in the working tree. A folder's path ends with `/`."""

    path: str
    index: str
    worktree: str
    renamed_from: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """A repository at one moment. `branch` is None if HEAD is detached, `commit` is None if there is none yet."""

    branch: str | None = None
    commit: str | None = None
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    entries: tuple[Entry, ...] = field(default=())


def parse_status(data: bytes, prefix: str = "") -> Status:
    """Returns the status in the output of `git status --porcelain=v2 --branch -z`, with paths relative to the folder
    `prefix`. A record without its end is left out."""
    headers: dict[str, str] = {}
    entries: list[Entry] = []
    records = iter(os.fsdecode(data).split("\0")[:-1])
    for record in records:
        kind, _, rest = record.partition(" ")
        match kind:
            case "#":
                name, _, value = rest.partition(" ")
                headers[name] = value
            case "?":
                entries.append(Entry(rest, "?", "?"))
            case "1":
                entries.append(Entry(rest.split(" ", 7)[7], rest[0], rest[1]))
            case "2":
                entries.append(Entry(rest.split(" ", 8)[8], rest[0], rest[1], next(records, None)))
            case "u":
                entries.append(Entry(rest.split(" ", 9)[9], "U", "U"))
            case _:
                pass
    ahead, _, behind = headers.get("branch.ab", "").partition(" ")
    branch, commit = headers.get("branch.head"), headers.get("branch.oid")
    return Status(
        branch=None if branch == "(detached)" else branch,
        commit=None if commit == "(initial)" else commit,
        upstream=headers.get("branch.upstream"),
        ahead=int(ahead) if ahead else None,
        behind=-int(behind) if behind else None,
        entries=tuple(sorted((_below(entry, prefix) for entry in entries), key=lambda entry: entry.path)),
    )


def _below(entry: Entry, prefix: str) -> Entry:
    path = entry.path.removeprefix(prefix) or "./"
    return replace(entry, path=path, renamed_from=entry.renamed_from and entry.renamed_from.removeprefix(prefix))


def _render(output: CommandOutput, ctx: ToolContext, folders: Folders) -> Outcome:
    data, cut = read_printed(output, ctx)
    # Use the output up to its last whole record, because the rest may be half a path.
    told, _, attributes = data[: data.rfind(b"\0") + 1].partition(b"\0\0")
    status, filters = parse_status(told + b"\0", folders.prefix), parse_filters(attributes)
    known = [
        e
        for e in status.entries
        if may_be_seen(e.path, ctx) and (not e.renamed_from or may_be_seen(e.renamed_from, ctx))
    ]
    hidden = len(status.entries) - len(known)
    lines = [_branch(status), *_groups(known[:MAX_ENTRIES])]
    lines += [f"left out: {counted(hidden, 'path')} that policy keeps unread"] if hidden else []
    cut = cut or len(known) > MAX_ENTRIES
    filtered = [entry.path for entry in known if entry.worktree == "M" and entry.path in filters]
    submodules = submodules_of(ctx, folders)
    where = "apart from submodules, nothing" if submodules else "nothing"
    lines += [] if known or hidden or cut else [f"{where} differs from the last commit, and nothing is untracked"]
    lines += [*describe_filtered(filtered, filters), *describe_submodules(submodules)]
    lines += [f"… more than {min(len(known), MAX_ENTRIES)} paths differ; the others are left out"] if cut else []
    return Outcome(
        text="\n".join(lines),
        summary=f"{lines[0]}, {_differ(len(known))}{', submodules not looked at' if submodules else ''}",
        data={
            "branch": status.branch,
            "commit": status.commit,
            "upstream": status.upstream,
            "ahead": status.ahead,
            "behind": status.behind,
            "entries": [_as_data(entry) for entry in known[:MAX_ENTRIES]],
            "left_out": hidden,
            "filters_not_run": [os.fsencode(path).decode(errors="replace") for path in filtered],
            "submodules_not_looked_at": list(submodules),
            "truncated": cut,
        },
    )


def _differ(paths: int) -> str:
    return f"{counted(paths, 'path')} {'differs' if paths == 1 else 'differ'}"


def _branch(status: Status) -> str:
    where = (
        f"on branch {quote_path(status.branch)}"
        if status.branch
        else f"HEAD is detached at {(status.commit or '')[:12]}"
    )
    where += "" if status.commit else ", without a commit yet"
    if status.upstream is None:
        return where
    if status.ahead is None:
        return f"{where}, which follows {quote_path(status.upstream)}, which is gone"
    return f"{where}, which follows {quote_path(status.upstream)}: {status.ahead} ahead, {status.behind} behind"


def _groups(entries: Sequence[Entry]) -> list[str]:
    lines: list[str] = []
    for heading, found in (
        ("conflicts", [f"  {quote_path(e.path)}" for e in entries if e.index == "U"]),
        ("staged", [_line(e, e.index) for e in entries if e.index in _WORDS]),
        ("not staged", [_line(e, e.worktree) for e in entries if e.worktree in _WORDS]),
        ("untracked", [f"  {quote_path(e.path)}" for e in entries if e.index == "?"]),
    ):
        lines += [f"{heading}:", *found] if found else []
    return lines


def _line(entry: Entry, state: str) -> str:
    origin = f"{quote_path(entry.renamed_from)} -> " if entry.renamed_from and state in "RC" else ""
    return f"  {_WORDS[state]}: {origin}{quote_path(entry.path)}"


def _as_data(entry: Entry) -> dict[str, JsonValue]:
    return {
        "path": os.fsencode(entry.path).decode(errors="replace"),
        "index": _STATES.get(entry.index, entry.index),
        "worktree": _STATES.get(entry.worktree, entry.worktree),
        "renamed_from": entry.renamed_from and os.fsencode(entry.renamed_from).decode(errors="replace"),
    }


def _targets(arguments: GitStatusArguments, ctx: ToolContext) -> tuple[Target, ...]:
    del arguments
    return repository_targets(ctx)


async def _prepare(arguments: GitStatusArguments, ctx: ToolContext) -> Plan:
    del arguments
    repository = open_repository(ctx)
    spec = repository.command(_SCRIPT, *_COMMAND)
    return CommandPlan(spec, display="git status", render=lambda output: _render(output, ctx, repository.folders))


GIT_STATUS = Tool(
    name="git_status",
    summary="Show the git branch and which files are staged, changed, untracked or in conflict.",
    effect=Effect.READ,
    arguments=GitStatusArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=5,
)
