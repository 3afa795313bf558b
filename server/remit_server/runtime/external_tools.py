"""The tools of the person's own beside the built-in ones: found, asked what they are, and read again (TOOL-15).

Each program is asked in the sandbox, where it sees its own folder alone. What cannot be used is said, and the rest is.
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
from remit_server.runtime.plugins import Plugins
from remit_server.runtime.skill_folders import FoundSkills, SkillFolders, summed_up
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
"""Programs of a folder that are looked at."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A program that may be a tool: what is written of it, and its name where that says it."""

    path: Path
    form: ToolForm
    name: str | None = None


class ExternalTools(Mapping[str, AnyTool]):
    """All tools that there are, by name. `problems` say what of the person's own cannot be used, in words; `at_start`
    are those that were found when it was opened. `skills` are the skills that one of the tools reads (TOOL-19)."""

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
        """Returns them all: each call goes through them, and a view by name would look each up again."""
        return self._all.items()

    async def start(self) -> None:
        """Finds the tools for the first time."""
        await self.reload()
        self.at_start = (*self.problems, *summed_up(self.skills.problems))

    async def reload(self, *, anew: bool = False) -> bool:
        """Has the tools count that there are now; returns whether there is something new to tell. `anew` asks each
        program again."""
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
        """Says which tools of the person's own and which skills count, and what of them does not."""
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
        """Has the built-in tools, the person's own and those that find and read what there is count."""
        rows = {each.name: each for each in self.own}
        finder = {FIND_TOOLS: find_tools_row(self.own)} if rows else {}
        reader = {READ_SKILL: read_skill_row(self.skills.skills)} if self.skills.skills else {}
        self._all = {**TOOLS, **rows, **finder, **reader}

    async def _read(self) -> None:
        try:
            form = await asyncio.to_thread(read_tools_file, self.folder / TOOLS_FILE)
            wanted = await asyncio.to_thread(lambda: tuple(self._wanted(form)))
        except SetupError as error:  # nothing counts of a file with a mistake, and what did goes on doing so
            self.problems = (f"{error.what}: {error.why}; {error.fix}",)
            return
        found = await asyncio.gather(*(self._declare(each, form) for each in wanted))
        problems = [each for each in found if isinstance(each, str)]
        declared: dict[str, Declared] = {}
        for each in found:
            if isinstance(each, Declared):
                if each.name in declared:
                    other = declared[each.name].path
                    problems.append(f"`{each.path}` and `{other}` are both called `{each.name}`; the second one counts")
                declared.setdefault(each.name, each)
        there = {each.name for each in wanted} | declared.keys()
        lost = [name for name, each in form.tools.items() if each.enabled and name not in there and each.path is None]
        problems += [
            f"tools.yaml describes `{name}`, but no program says that it is it; name its `path`" for name in lost
        ]
        self.declared = tuple(declared.values())
        rows = {name: row_of(each) for name, each in declared.items()}
        for name, row in await asyncio.to_thread(lambda: [*self._of_servers(), *self._of_plugins()]):
            if row is None:
                problems.append(name)
            elif name in rows or name in _TAKEN or name in ALIASES or name == SELECT_INTENT:
                problems.append(f"`{name}` is the name of another tool; a server's or a plugin's is left out")
            else:
                rows[name] = row
        self.problems, self.own = tuple(problems), tuple(rows.values())

    def _of_servers(self) -> list[tuple[str, AnyTool | None]]:
        """Returns the rows of the tools of MCP servers by name, and what of them cannot be used, without a row."""
        found: list[tuple[str, AnyTool | None]] = []
        for file in server_files(self.folder):
            try:
                server = read_server(file)
            except SetupError as error:
                found.append((f"{error.what}: {error.why}; {error.fix}", None))
                continue
            rows = rows_of(server) if server.form.enabled else ()
            found += [(row, None) if isinstance(row, str) else (row.name, row) for row in rows]
        return found

    def _of_plugins(self) -> list[tuple[str, AnyTool | None]]:
        """Returns the rows of the tools of plugins by name, and what of them cannot be used, without a row."""
        found: list[tuple[str, AnyTool | None]] = []
        for each in self._plugins.find():
            if each.life.reason and (each.record is None or each.record.enabled or each.record.reason):
                found.append((f"the plugin `{each.name}` is {each.life.state}: {each.life.reason}", None))
            if (plugin := self._plugins.plugin(each)) is not None:
                rows = rows_of_plugin(plugin)
                found += [(row, None) if isinstance(row, str) else (row.name, row) for row in rows]
        return found

    def _wanted(self, form: ToolsForm) -> Iterator[Wanted]:
        """Yields each program once. What is written of one that only says its name itself is found by that later."""
        named = {each.path: Wanted(each.path, each, name) for name, each in form.tools.items() if each.path}
        yield from (each for each in named.values() if each.form.enabled)
        for folder in (self.folder / TOOLS_FOLDER, *form.paths):
            yield from (Wanted(path, ToolForm()) for path in programs(folder) if path not in named)

    async def _declare(self, wanted: Wanted, form: ToolsForm) -> Declared | str | None:
        """Returns a tool as it counts, why it does not, or None where it is switched off."""
        said = wanted.form
        try:
            if not await asyncio.to_thread(os.access, wanted.path, os.X_OK):
                raise unusable(
                    f"`{wanted.path}` is no program that can be run",
                    "`chmod +x` it, correct its path, or keep it elsewhere if it is no tool",
                )
            whole = said.description is not None and said.parameters is not None
            printed = None if whole and wanted.name else await self._ask(wanted.path)
            name = wanted.name or (printed.name if printed else "")
            said = said if wanted.name else form.tools.get(name, said)
            return declare(name, wanted.path, said, printed, _TAKEN) if said.enabled else None
        except RemitError as error:
            return f"{error.what}: {error.why}; {error.fix}"

    async def _ask(self, path: Path) -> Printed:
        """Returns what a program says of itself. Raises RemitError."""
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
        """Returns what tells whether anything has changed: of the file, and of each program."""
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
    """Returns the programs that lie in a folder, by name, also scripts that nobody may run; none where it cannot be
    read."""
    return [path for path in entries_of(folder, Path.is_file, _MOST) if os.access(path, os.X_OK) or _is_script(path)]


def _is_script(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(2) == b"#!"
    return False
