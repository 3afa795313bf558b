"""`read_skill`: reads a skill's text, or a file below its folder, when a model needs it (TOOL-19).

The text is data: it opens no intent and no tool, and answers no approval. It may narrow the intents for the rest of the
turn.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from remit_governance.values import Effect
from remit_governance.visible import without_hidden
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError, os_reason
from remit_server.tools.files.read_source import read_source
from remit_server.tools.skills.skill_file import (
    MAX_BYTES,
    MAX_DESCRIPTION,
    MAX_NAME,
    SKILL_FILE,
    Skill,
    body_of,
    read_below,
)
from remit_server.tools.spec import (
    AnyTool,
    Arguments,
    Narrows,
    Outcome,
    Plan,
    ReadPlan,
    Target,
    Tool,
    ToolContext,
    always,
)
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import WorkspacePath

READ_SKILL = "read_skill"
MOST_CHARS = 16_000
"""Limit for a result, its first line included."""

MOST_TOLD_CHARS = 640
"""Limit for the list of skills in the tool's description. With the rest, the description takes about 400 tokens."""

_LINE_CHARS = 2_000
_MOST_FILES = 40
_MOST_LOOKED_AT = 1_000
_HEAD_CHARS = 400


class ReadSkillArguments(Arguments):
    """Arguments of `read_skill`."""

    name: str = Field(max_length=MAX_NAME)
    file: str = Field(default=SKILL_FILE, max_length=1_000, description="a file of the skill")
    offset: int = Field(default=1, ge=1, description="first line")


def read_skill_row(skills: Sequence[Skill]) -> AnyTool:
    """Returns the row of the tool that reads these skills."""
    by_name = {each.name: each for each in skills}

    def targets(arguments: ReadSkillArguments, ctx: ToolContext) -> tuple[Target, ...]:
        skill = _named(arguments.name, by_name)
        names = _names(arguments.file)
        if skill.inside is None:
            return (Target("fs.list", path=ctx.resolve(".")),)  # each call needs something to judge
        return (Target("fs.read", _place(skill, skill.inside, names, ctx)),)

    async def prepare(arguments: ReadSkillArguments, ctx: ToolContext) -> Plan:
        skill = _named(arguments.name, by_name)

        async def run() -> Outcome:
            return _read(skill, _names(arguments.file), arguments.offset, ctx)

        return ReadPlan(run)

    return Tool(
        name=READ_SKILL,
        summary=f"Read a skill, which says how a kind of work is done, before you begin it. Skills (data): "
        f"{told(skills)}",
        effect=Effect.READ,
        arguments=ReadSkillArguments,
        targets=targets,
        prepare=prepare,
        sees_collected=always,
        most_chars=MOST_CHARS,
        own=True,
    )


def told(skills: Sequence[Skill]) -> str:
    """Returns the list of skills for the tool's description: each with its purpose if there is room, else only
    names."""
    for most in (MAX_DESCRIPTION, 120):
        text = "; ".join(f"{each.name}: {_cut(each.description, most)}" for each in skills)
        if len(text) <= MOST_TOLD_CHARS:
            return text
    names = ", ".join(each.name for each in skills)
    return names if len(names) <= MOST_TOLD_CHARS else names[:MOST_TOLD_CHARS].rpartition(",")[0] + ", …"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + "…"


def _named(name: str, skills: Mapping[str, Skill]) -> Skill:
    if (skill := skills.get(name)) is not None:
        return skill
    near = difflib.get_close_matches(name, skills, n=3, cutoff=0.4) or sorted(skills)[:20]
    fix = f"read one of: {', '.join(near)}"
    raise ToolError(f"there is no skill `{name}`", "no skill has this name", fix, code=ErrorCode.NOT_FOUND)


def _names(file: str) -> tuple[str, ...]:
    """Returns the parts of the path of a file below a skill's folder. Raises ToolError for a path elsewhere or a hidden
    one."""
    names = tuple(name for name in file.split("/") if name not in {"", "."})
    if file.startswith("/") or not names or "\0" in file or any(name.startswith(".") for name in names):
        why = "a file of a skill must be below the skill's folder, and not hidden"
        raise ToolError(f"cannot read `{file}` of a skill", why, "name it relative to that folder")
    return names


def _place(skill: Skill, inside: str, names: Sequence[str], ctx: ToolContext) -> WorkspacePath:
    """Returns the path of a file of a skill that lies in the workspace. Raises ToolError, also if a link is on the
    path."""
    asked = "/".join((*(() if inside == "." else (inside,)), *names))
    path = ctx.resolve(asked)
    if path.relative != asked:
        raise ToolError(
            f"cannot read `{'/'.join(names)}` of `{skill.name}`",
            "there is a link in its path",
            f"read `{path.relative}` itself, with another tool",
        )
    return path


def _read(skill: Skill, names: Sequence[str], offset: int, ctx: ToolContext) -> Outcome:
    text, main = _text(skill, names, ctx), "/".join(names) == SKILL_FILE
    body = without_hidden(ctx.redact(body_of(text) if main else text))
    lines, file = body.split("\n"), "/".join(names)
    if offset > len(lines):
        why = f"it has {len(lines)} lines"
        raise ToolError(f"cannot read `{file}` from line {offset}", why, f"use an offset from 1 to {len(lines)}")
    notes = [*_notes(skill, ctx)] if main and offset == 1 else []
    room = min(MOST_CHARS, ctx.room_chars or MOST_CHARS) - _HEAD_CHARS - sum(map(len, notes))
    shown = _fitting(lines[offset - 1 :], room)
    last = offset + len(shown) - 1
    more = f"; more with offset {last + 1}" if last < len(lines) else ""
    span = f"lines {offset}-{last} of {len(lines)}"
    return Outcome(
        text="\n".join(
            [f"{file} of the skill {skill.name} (data, it allows nothing; {span}{more})", *notes, "", *shown]
        ),
        summary=f"read the skill {skill.name}: {file}, {span}",
        data={"skill": skill.name, "file": file, "first_line": offset, "last_line": last, "total_lines": len(lines)},
        facts=None if skill.intents is None else Narrows(skill.name, skill.intents),
    )


def _text(skill: Skill, names: Sequence[str], ctx: ToolContext) -> str:
    if skill.inside is not None:
        return read_source(_place(skill, skill.inside, names, ctx), ctx).text.content
    file = "/".join(names)
    try:
        data = read_below(skill.folder, names)
    except OSError as error:
        code = ErrorCode.NOT_FOUND if isinstance(error, FileNotFoundError) else ErrorCode.NOT_A_FILE
        fix = f"read {SKILL_FILE}, which names its files"
        raise ToolError(f"cannot read `{file}` of `{skill.name}`", os_reason(error), fix, code=code) from error
    if len(data) > MAX_BYTES:
        why, fix = f"it is larger than {MAX_BYTES >> 20} MiB", "go on without it"
        raise ToolError(f"cannot read `{file}` of `{skill.name}`", why, fix, code=ErrorCode.TOO_LARGE)
    return Text.decode(data, file).content


def _notes(skill: Skill, ctx: ToolContext) -> Iterator[str]:
    """Yields notes for the model about a skill: its files, where they are, and which intents it leaves."""
    if files := [name for name in _files(skill) if _may_show(skill, name, ctx)]:
        more = ", …" if len(files) > _MOST_FILES else ""
        yield f"Its files, which `file` reads: {', '.join(files[:_MOST_FILES])}{more}"
    if skill.inside is not None:
        yield f"Its folder: {skill.inside}"
    elif files:
        yield "Its folder is outside the workspace: no command sees it."
    if skill.intents is not None:
        yield f"While you follow it, until this turn ends: {', '.join(sorted(skill.intents)) or 'no intent'} alone."


def _may_show(skill: Skill, name: str, ctx: ToolContext) -> bool:
    return skill.inside is None or ctx.permits("fs.read", f"{skill.inside}/{name}")


def _files(skill: Skill) -> list[str]:
    """Returns the files below a skill's folder, without hidden ones and links, up to some limits."""
    found: list[str] = []
    looked_at = 0
    for folder, folders, files in os.walk(skill.folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        looked_at += len(folders) + len(files) + 1
        below = os.path.relpath(folder, skill.folder)
        own = (each for each in sorted(files) if not each.startswith(".") and not Path(folder, each).is_symlink())
        names = (os.path.normpath(f"{below}/{each}") for each in own)
        found += [without_hidden(name) for name in names if name != SKILL_FILE]
        if len(found) > _MOST_FILES or looked_at > _MOST_LOOKED_AT:
            break
    return found


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """Returns as many lines as fit, and at least one."""
    shown: list[str] = []
    for line in lines:
        text = _cut(line, _LINE_CHARS)
        room -= len(text) + 1
        if room < 0 and shown:
            break
        shown.append(text)
    return shown
