"""The person's own tools beside the built-in ones: finds them, asks programs what they are, and reloads (TOOL-15).

Each program is asked in the sandbox, where it sees only its own folder. A tool that cannot be used is reported, and
the others work.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from remit_governance.intents import ALIASES, SELECT_INTENT
from remit_server.errors import RemitError, SetupError
from remit_server.own_files import entries_of, stamp_of
from remit_server.runtime.own_files.plugins import Plugins
from remit_server.runtime.own_files.skill_folders import FoundSkills, SkillFolders, summed_up
from remit_server.sandbox.ports import CommandSpec, Sandbox
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.external.declared import (
    MAX_SCHEMA_BYTES,
    Declared,
    Printed,
    ToolForm,
    ToolsForm,
    declare,
    read_printed,
    read_tools_file,
    unusable,
)
from remit_server.tools.external.find_tools import FIND_TOOLS, find_tools_row
from remit_server.tools.external.row import row_of
from remit_server.tools.mcp.rows import rows_of
from remit_server.tools.mcp.servers import read_server, server_files
from remit_server.tools.plugins.rows import rows_of as rows_of_plugin
from remit_server.tools.skills.read_skill import READ_SKILL, read_skill_row
from remit_server.tools.spec import AnyTool
from remit_server.tools.table import TOOLS

TOOLS_FILE, TOOLS_FOLDER = "tools.yaml", "tools"
_TAKEN = frozenset((*TOOLS, FIND_TOOLS, READ_SKILL))
_ASK_S = 10.0
_MOST = 200
"""Entries of a folder that are looked at."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A program that may be a tool: what tools.yaml says of it, and its name if tools.yaml gives it."""

    path: Path
    form: ToolForm
    name: str | None = None


class ExternalTools(Mapping[str, AnyTool]):
    """All tools by name, built-in and own. `problems` says in words which of the person's own tools cannot be used, and
    `at_start` which could not when the runtime was opened. One of the tools reads the `skills` (TOOL-19)."""

    def __init__(self, folder: Path, sandbox: Sandbox, skill_folders: SkillFolders | None = None) -> None:
        self.folder, self.sandbox, self._skill_folders = folder, sandbox, skill_folders
        self._plugins = Plugins(folder)
        self.skills = FoundSkills()
        self._all: Mapping[str, AnyTool] = TOOLS
        self._seen: tuple[object, ...] = ()
        self._skills_seen: tuple[object, ...] = ()
        self._lock = asyncio.Lock()
        self.declared: tuple[Declared, ...] = ()
        self.own: tuple[AnyTool, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.at_start: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> AnyTool:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def items(self) -> ItemsView[str, AnyTool]:
        """Returns the dictionary's own view, because each call iterates over it, and Mapping's looks up each tool."""
        return self._all.items()

    async def start(self) -> None:
        """Finds the tools for the first time."""
        await self.reload()
        self.at_start = (*self.problems, *summed_up(self.skills.problems))

    async def reload(self, *, anew: bool = False) -> bool:
        """Reads the tools and skills again if their files changed; `anew` does so in any case, and asks each program
        again. Returns whether there is something new to tell."""
        async with self._lock:
            before = self.told()
            seen = await asyncio.to_thread(self._look)
            tools = seen != self._seen or anew
            if tools:
                self._seen = seen
                await self._read()
            if await self._read_skills(anew=anew) or tools:
                self._put()
            return self.told() != before

    def told(self) -> str:
        """Returns a sentence on which of the person's tools and skills are in use, and which cannot be."""
        names = ", ".join(f"`{each.name}`" for each in self.own)
        count = f"Your own tools are: {names}" if names else "There are no tools of your own now"
        skills = ", ".join(f"`{each.name}`" for each in self.skills.skills)
        parts = (count, *([f"skills: {skills}"] if skills else ()), *self.problems, *summed_up(self.skills.problems))
        return "; ".join(parts)

    async def _read_skills(self, *, anew: bool) -> bool:
        if self._skill_folders is None:
            return False
        seen = await asyncio.to_thread(self._skill_folders.stamp)
        if seen == self._skills_seen and not anew:
            return False
        self._skills_seen, self.skills = seen, await asyncio.to_thread(self._skill_folders.find)
        return True

    def _put(self) -> None:
        """Puts together the built-in tools, the person's own, and the tools that find tools and read skills."""
        rows = {each.name: each for each in self.own}
        finder = {FIND_TOOLS: find_tools_row(self.own)} if rows else {}
        reader = {READ_SKILL: read_skill_row(self.skills.skills)} if self.skills.skills else {}
        self._all = {**TOOLS, **rows, **finder, **reader}

    async def _read(self) -> None:
        try:
            form = await asyncio.to_thread(read_tools_file, self.folder / TOOLS_FILE)
            wanted = await asyncio.to_thread(lambda: tuple(self._wanted(form)))
        except SetupError as error:  # keep the tools as they were while a file has a mistake
            self.problems = (f"{error.what}: {error.why}; {error.fix}",)
            return
        found = await asyncio.gather(*(self._declare(each, form) for each in wanted))
        problems = [each for each in found if isinstance(each, str)]
        declared: dict[str, Declared] = {}
        for each in found:
            if isinstance(each, Declared):
                if each.name in declared:
                    other = declared[each.name].path
                    problems.append(f"`{each.path}` and `{other}` are both called `{each.name}`; `{other}` is used")
                declared.setdefault(each.name, each)
        there = {each.name for each in wanted} | declared.keys()
        lost = [name for name, each in form.tools.items() if each.enabled and name not in there and each.path is None]
        problems += [
            f"tools.yaml describes `{name}`, but no program reports this name; add its `path`" for name in lost
        ]
        self.declared = tuple(declared.values())
        rows = {name: row_of(each) for name, each in declared.items()}
        for row in await asyncio.to_thread(lambda: [*self._of_servers(), *self._of_plugins()]):
            if isinstance(row, str):
                problems.append(row)
            elif (name := row.name) in rows or name in _TAKEN or name in ALIASES or name == SELECT_INTENT:
                problems.append(f"`{name}` is the name of another tool; the tool of the server or plugin is left out")
            else:
                rows[name] = row
        self.problems, self.own = tuple(problems), tuple(rows.values())

    def _of_servers(self) -> Iterator[AnyTool | str]:
        """Yields the row of each tool of the MCP servers, and each problem as its text."""
        for file in server_files(self.folder):
            try:
                server = read_server(file)
            except SetupError as error:
                yield f"{error.what}: {error.why}; {error.fix}"
                continue
            if server.form.enabled:
                yield from rows_of(server)

    def _of_plugins(self) -> Iterator[AnyTool | str]:
        """Yields the row of each tool of the plugins, and each problem as its text."""
        for each in self._plugins.find():
            if each.life.reason and (each.record is None or each.record.enabled or each.record.reason):
                yield f"the plugin `{each.name}` is {each.life.state}: {each.life.reason}"
            if (plugin := self._plugins.plugin(each)) is not None:
                yield from rows_of_plugin(plugin)

    def _wanted(self, form: ToolsForm) -> Iterator[Wanted]:
        """Yields each program once. `_declare` finds the entry of a program that tells its name itself."""
        named = {each.path: Wanted(each.path, each, name) for name, each in form.tools.items() if each.path}
        yield from (each for each in named.values() if each.form.enabled)
        for folder in (self.folder / TOOLS_FOLDER, *form.paths):
            yield from (Wanted(path, ToolForm()) for path in programs(folder) if path not in named)

    async def _declare(self, wanted: Wanted, form: ToolsForm) -> Declared | str | None:
        """Returns the declared tool, why it cannot be used, or None if it is switched off."""
        said = wanted.form
        try:
            if not await asyncio.to_thread(os.access, wanted.path, os.X_OK):
                raise unusable(
                    f"`{wanted.path}` is not a program that can be run",
                    "`chmod +x` it, correct its path, or move it elsewhere if it is not a tool",
                )
            whole = said.description is not None and said.parameters is not None
            printed = None if whole and wanted.name else await self._ask(wanted.path)
            name = wanted.name or (printed.name if printed else "")
            said = said if wanted.name else form.tools.get(name, said)
            return declare(name, wanted.path, said, printed, _TAKEN) if said.enabled else None
        except RemitError as error:
            return f"{error.what}: {error.why}; {error.fix}"

    async def _ask(self, path: Path) -> Printed:
        """Returns what a program tells of itself when it is run with `--schema`. Raises RemitError."""
        spec = CommandSpec(
            argv=(str(path), "--schema"),
            cwd=path.parent,
            workspace=path.parent,
            environment=command_environment(os.environ),
            timeout_s=_ASK_S,
            max_output_bytes=2 * MAX_SCHEMA_BYTES,
        )
        output = await self.sandbox.run(spec)
        if output.exit_code != 0:
            ended = "it took too long" if output.timed_out else f"it ended with code {output.exit_code}"
            fix = "have it answer `--schema`, or describe it in tools.yaml"
            raise unusable(f"`{path} --schema` failed: {ended}", fix)
        return read_printed(path, output.stdout)

    def _look(self) -> tuple[object, ...]:
        """Returns a value that changes with tools.yaml, and with the files of each program, MCP server and plugin."""
        file = self.folder / TOOLS_FILE
        try:
            form = read_tools_file(file)
        except SetupError:
            form = ToolsForm()
        folders = (self.folder / TOOLS_FOLDER, *form.paths)
        paths = [file, *server_files(self.folder), *(path for folder in folders for path in programs(folder))]
        stamps = map(stamp_of, [*paths, *(each.path for each in form.tools.values() if each.path)])
        return (*stamps, *self._plugins.stamps())


def programs(folder: Path) -> Sequence[Path]:
    """Returns the programs in a folder, by name, also scripts that nobody may run; none if the folder cannot be
    read."""
    return [path for path in entries_of(folder, Path.is_file, _MOST) if os.access(path, os.X_OK) or _is_script(path)]


def _is_script(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(2) == b"#!"
    return False
