"""`git_diff`: what changed, in files that may be read, with a count for each (GIT-01).

Also splits the output of `git diff` into one section for each file, purely; a section may lack its path if the path
cannot be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field, JsonValue

from remit_governance.values import Effect
from remit_server.counted import counted, list_some
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.git.git_repository import (
    DIFF,
    MAX_OUTPUT_BYTES,
    may_be_seen,
    open_repository,
    quote_path,
    read_printed,
    repository_targets,
)
from remit_server.tools.git.not_looked_at import READ_FILTERS, describe_filtered, parse_filters
from remit_server.tools.spec import Arguments, CommandPlan, Outcome, Plan, Target, Tool, ToolContext
from remit_server.workspace.git_linked import Folders
from remit_server.workspace.paths.workspace_path import WorkspacePath

MAX_SHOWN_CHARS = 14_000
"""Limit for the patch: what a model is shown of a result, less room for the counts."""
MAX_FILE_CHARS = 8_000
MAX_FILES = 100
_REVISION = r"[A-Za-z0-9_][A-Za-z0-9_./~^@{}+-]*"
_SHOW = f"{DIFF} --patch --find-renames --src-prefix=a/ --dst-prefix=b/ --submodule=short"
# Git ends with an error and shows nothing if it cannot read a file that seems to differ, and hidden files always seem
# to. So unreadable files are found first, counted and left out. $1 is the number of context lines, the rest says what
# is compared, and where.
_SCRIPT = f"""context=$1; shift
{DIFF} --name-only --no-renames -z "$@" | xargs -0 sh -c '
  for file do
    [ -f "$file" ] && [ -r "$file" ] || [ -L "$file" ] || [ -d "$file" ] || [ ! -e "$file" ] ||
      printf ":(exclude,literal)%s\\0" "$file"
  done
' sh > "$to/unreadable"
{DIFF} --name-only --no-renames --diff-filter=M -z "$@" | {READ_FILTERS} > "$to/filters"
echo $(tr -cd '\\0' < "$to/unreadable" | wc -c) $(wc -c < "$to/filters")
cat "$to/filters"
[ -s "$to/unreadable" ] || exec {_SHOW} "--unified=$context" "$@"
exec xargs -0 {_SHOW} "--unified=$context" "$@" < "$to/unreadable"
"""


class GitDiffArguments(Arguments):
    """Arguments of `git_diff`."""

    paths: tuple[str, ...] = Field(default=(), max_length=100, strict=False, description="files or folders")
    staged: bool = Field(default=False, description="what is staged")
    base: str | None = Field(
        default=None, max_length=200, pattern=f"^{_REVISION}$", description="compare with this commit"
    )
    context_lines: int = Field(default=3, ge=0, le=50, description="lines around each change")


def _render(output: CommandOutput, ctx: ToolContext, folders: Folders) -> Outcome:
    data, cut = read_printed(output, ctx)
    counts, _, rest = data.partition(b"\n")
    unreadable, length = map(int, counts.split())
    filters, found = parse_filters(rest[:length]), sections(rest[length:], folders.prefix)
    # Policy judges each file by name, because git also has contents in its object database, where nothing is hidden.
    known = [s for s in found if s.path and s.old_path and may_be_seen(s.path, ctx) and may_be_seen(s.old_path, ctx)]
    hidden = len(found) - len(known) + unreadable
    patch, left_out = _fit_patches(known, ctx)
    added, removed = sum(s.added for s in known), sum(s.removed for s in known)
    summary = f"{counted(len(known), 'file')}, +{added} -{removed}" if known else "no differences"
    lines = [summary, *(_count_words(section) for section in known[:MAX_FILES])]
    lines += [f"… and {len(known) - MAX_FILES} more files"] if len(known) > MAX_FILES else []
    lines += [f"left out: {counted(hidden, 'file')} that policy keeps unread"] if hidden else []
    filtered = [section.path for section in known if section.path and section.path in filters]
    lines += describe_filtered(filtered, filters)
    lines += [f"the diff is larger than {MAX_OUTPUT_BYTES // 2} bytes: only its beginning was looked at"] if cut else []
    return Outcome(
        text="\n".join([*lines, "", *patch]) if patch else "\n".join(lines),
        summary=summary,
        data={
            "files": [_as_data(section) for section in known[:MAX_FILES]],
            "added": added,
            "removed": removed,
            "left_out": hidden,
            "filters_not_run": [os.fsencode(path).decode(errors="replace") for path in filtered],
            "truncated": cut or left_out,
        },
    )


def _fit_patches(known: Sequence[Section], ctx: ToolContext) -> tuple[list[str], bool]:
    """Returns as much of the files' patches as there is room for, each cut on a whole line; and whether something is
    missing."""
    parts: list[str] = []
    room = MAX_SHOWN_CHARS
    missing: list[str] = []
    for section in known:
        text = ctx.redact(section.text.decode(errors="replace")).rstrip("\n")
        most = min(MAX_FILE_CHARS, room)
        if len(text) <= most:
            parts.append(text)
        else:
            missing.append(quote_path(section.path or ""))
            head = text[: text.rfind("\n", 0, most) + 1]
            parts += [f"{head}[… {len(text) - len(head)} more characters of this file are left out …]"] if head else []
        room = max(0, room - len(text))
    listed = [f"not shown in full: {list_some(missing, 10)}; ask for them with `paths`"] if missing else []
    return [*parts, *listed], bool(missing)


def _count_words(section: Section) -> str:
    name = quote_path(section.path or "")
    if section.old_path and section.old_path != section.path:
        name = f"{quote_path(section.old_path)} -> {name}"
    return f"  {section.state}: {name} " + ("(binary)" if section.binary else f"+{section.added} -{section.removed}")


def _as_data(section: Section) -> dict[str, JsonValue]:
    path, old = (os.fsencode(name or "").decode(errors="replace") for name in (section.path, section.old_path))
    return {
        "path": path,
        "renamed_from": old if old != path else None,
        "state": section.state,
        "added": section.added,
        "removed": section.removed,
        "binary": section.binary,
    }


def _resolve_named(arguments: GitDiffArguments, ctx: ToolContext) -> tuple[WorkspacePath, ...]:
    return tuple(ctx.resolve(path) for path in arguments.paths)


def _targets(arguments: GitDiffArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return (*repository_targets(ctx), *(Target("fs.read", path) for path in _resolve_named(arguments, ctx)))


async def _prepare(arguments: GitDiffArguments, ctx: ToolContext) -> Plan:
    if arguments.staged and arguments.base:
        raise ToolError(
            "cannot show this diff", "`staged` and `base` are two different comparisons", "give one of the two"
        )
    # Name it as a commit, because a hash could also name a file's content, which has no path for policy to judge.
    against = ("--cached",) if arguments.staged else (f"{arguments.base}^{{commit}}",) if arguments.base else ()
    paths = tuple(f":(literal){path.relative}" for path in _resolve_named(arguments, ctx))
    repository = open_repository(ctx)
    spec = repository.command(_SCRIPT, str(arguments.context_lines), *against, "--", *paths)
    display = " ".join(("git diff", *against))
    return CommandPlan(spec, display, render=lambda output: _render(output, ctx, repository.folders))


GIT_DIFF = Tool(
    name="git_diff",
    summary="Show what changed in tracked files.",
    effect=Effect.READ,
    arguments=GitDiffArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=4,
)


_START = re.compile(rb"^(?=diff --git |diff --cc |diff --combined |\* Unmerged path )", re.MULTILINE)
_UNMERGED = b"* Unmerged path "
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_LETTERS = {b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11, b'"': 34, b"\\": 92}
_STATES = {b"new file mode": "added", b"deleted file mode": "deleted", b"rename from": "renamed"}


@dataclass(frozen=True, slots=True)
class Section:
    """One file's part of a diff. `path` is None if it could not be read; `old_path` differs after a rename."""

    path: str | None
    old_path: str | None
    state: str
    added: int
    removed: int
    binary: bool
    text: bytes


def sections(data: bytes, prefix: str = "") -> tuple[Section, ...]:
    """Returns each file's section in order, with paths relative to the folder `prefix`. Every line of a file's content
    begins with a sign, so none can look like the start of a section."""
    return tuple(_section(part, os.fsencode(prefix)) for part in _START.split(data) if part.strip())


def _section(text: bytes, prefix: bytes) -> Section:
    header, hunks = _split_sections(text)
    old, new = _paths(header, prefix)
    state = next((word for key, word in _STATES.items() if any(line.startswith(key) for line in header)), "modified")
    combined = not header[0].startswith(b"diff --git ")
    return Section(
        path=new,
        old_path=old,
        state="conflict" if combined else state,
        added=sum(line.startswith(b"+") for line in hunks),
        removed=sum(line.startswith(b"-") for line in hunks),
        binary=any(line.startswith((b"Binary files ", b"GIT binary patch")) for line in header),
        text=text,
    )


def _split_sections(text: bytes) -> tuple[list[bytes], list[bytes]]:
    lines = text.split(b"\n")
    first = next((number for number, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    return lines[:first], lines[first:]


def _paths(header: list[bytes], prefix: bytes) -> tuple[str | None, str | None]:
    if header[0].startswith(_UNMERGED):
        # Git prints this path unquoted, with any line feeds.
        name = os.fsdecode(b"\n".join(header).removeprefix(_UNMERGED).removesuffix(b"\n"))
        return name, name
    for key in (b"diff --cc ", b"diff --combined "):
        if header[0].startswith(key):
            # Whatever options git gets, a combined diff begins with the path in the repository.
            path = _path(header[0][len(key) :], prefix)
            return path, path
    fields = dict(_names_in(header))
    if b"rename from " in fields or b"rename to " in fields:
        return (_path(fields.get(b"rename from ", b""), b""), _path(fields.get(b"rename to ", b""), b""))
    return _same_twice(header[0].removeprefix(b"diff --git "))


def _names_in(header: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for key in (b"rename from ", b"rename to "):
        yield from ((key, line[len(key) :]) for line in header[1:] if line.startswith(key))


def _same_twice(names: bytes) -> tuple[str | None, str | None]:
    """Returns both paths of `a/X b/X`. Without a rename both are the same, which tells where the first one ends."""
    middle = len(names) // 2
    first, second = names[:middle], names[middle + 1 :]
    if len(names) % 2 == 0 or names[middle : middle + 1] != b" ":
        return None, None
    old, new = _path(first, b"a/"), _path(second, b"b/")
    return (old, new) if old == new else (None, None)


def _path(word: bytes, prefix: bytes) -> str | None:
    """Returns the path that git wrote, quoted or not, without `prefix`; None if it is no such path."""
    if word.startswith(b'"'):
        if len(word) < 2 or not word.endswith(b'"'):
            return None
        word = _ESCAPE.sub(lambda found: bytes([_LETTERS.get(found[1]) or int(found[1], 8) & 255]), word[1:-1])
    return os.fsdecode(word.removeprefix(prefix)) if word.startswith(prefix) and len(word) > len(prefix) else None
