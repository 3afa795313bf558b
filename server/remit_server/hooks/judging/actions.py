"""Turns a call of another agent into actions that policy judges (HOK-02).

Paths are resolved as the workspace resolves them; a path outside stays as it is, and the built-in rules deny it. A
file that is written is judged as read, too, because what an agent may not read it may not replace.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from remit_governance.hosts import parse_endpoint
from remit_governance.intents import IntentState
from remit_governance.policy.matching.command_match import command_words
from remit_governance.policy.matching.scripts import parts_of
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Action, Effect
from remit_governance.visible import visible
from remit_server.contract.refused import bounded_name
from remit_server.errors import OutsideWorkspace, ToolError
from remit_server.harness.calls import tags_of
from remit_server.hooks.formats.tool_rows import BESIDE, ToolKind, ToolRow
from remit_server.tools.edit.patch.parse import parse_diff
from remit_server.workspace.paths.workspace_path import Workspace

MOST_COMMAND = 200_000
MOST_PATHS = 200
_LESS_HELD = re.compile(r"(?i)sandbox|danger|unsafe|bypass|escalat|elevat|privileg|permission|sudo")
"""An argument that may take a call out of its agent's own sandbox."""

EFFECTS: Mapping[str, Effect] = {
    "agent.note": Effect.CONTROL,
    "fs.read": Effect.READ,
    "fs.list": Effect.READ,
    "fs.write": Effect.WRITE,
    "process.exec": Effect.EXECUTE,
    "net.connect": Effect.NETWORK,
    "agent.tool": Effect.EXECUTE,
}
"""The effect of a call, by the syscall of its first action, for the gate."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call is made: the workspace, the agent's folder in it, and the session's intent."""

    workspace: Workspace
    cwd: str
    intent: IntentState

    def action(self, syscall: str, tool: str, path: str | None = None) -> Action:
        """Returns an action of the call, which no sandbox holds and for which no permit is minted."""
        return Action(
            syscall,
            path,
            tool=tool,
            caller_tags=tags_of("agent", tool),
            intent=self.intent.active,
            work_item=self.intent.work_item,
            permit=False,
        )

    def relative(self, text: str) -> str:
        """Returns a path relative to the workspace, or an absolute path if it leads out. Raises ToolError."""
        return self._resolved(self.cwd, os.path.expanduser(text) if text.startswith("~") else text)  # noqa: PTH111  the text may be no path at all

    def is_folder(self, path: str) -> bool:
        """Returns whether a folder is there."""
        try:
            return (self.workspace.root / path).is_dir()
        except (OSError, ValueError):
            return False

    def spellings(self, folder: str) -> tuple[str, ...]:
        """Returns the absolute spellings of a folder of the workspace: the real one and, if it is the agent's own
        folder, the agent's."""
        if folder.startswith("/"):
            return ()
        real = posixpath.normpath(posixpath.join(str(self.workspace.root), folder))
        agents = self.cwd.rstrip("/")
        return tuple(dict.fromkeys((real, agents))) if agents and self.relative(".") == folder else (real,)

    def from_root(self, path: str) -> str:
        """Resolves a path of a command line that is relative to the workspace. Raises ToolError."""
        return self._resolved(str(self.workspace.root), path)

    def _resolved(self, folder: str, path: str) -> str:
        absolute = posixpath.join(folder, path)
        try:
            return self.workspace.resolve(absolute).relative
        except OutsideWorkspace:
            return posixpath.normpath(absolute)


def actions_of(tool: str, row: ToolRow | None, arguments: Mapping[str, JsonValue], place: Place) -> tuple[Action, ...]:
    """Returns the actions of a call, at least one. Raises ToolError for a call that cannot be judged."""
    if row is None:
        return (place.action("agent.tool", tool),)
    first, *others = _BY_KIND[row.kind](tool, row, arguments, place)
    return (replace(first, doubts=(*first.doubts, *_unheard(row, arguments))), *others)


def _unheard(row: ToolRow, arguments: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yields a doubt for each argument that has text and that the tool's row does not know, and for each that may
    switch a sandbox off."""
    if row.kind == "note":
        return
    for name, value in arguments.items():
        if value and _LESS_HELD.search(name):
            yield f"it asks to run without what holds it otherwise (`{visible(bounded_name(name), 'show')}`)"
        if name not in row.names and name not in BESIDE and _has_text(value):
            yield f"Remit does not know its argument `{visible(bounded_name(name), 'show')}`"


def _has_text(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return bool(value)
    return any(map(_has_text, value)) if isinstance(value, list) else isinstance(value, str) and bool(value)


def _note(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    del row, arguments
    yield place.action("agent.note", tool)


def _foreign(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    command = _command(tool, row, arguments)
    why = "Remit cannot read this shell's language"
    yield replace(place.action("process.exec", tool), command=command_words(command), script=command, doubts=(why,))


def _shell(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    cwd = place.relative(_first(arguments, row.folder) or ".")
    command = _with_near_paths(_command(tool, row, arguments), place.spellings(cwd))
    run = place.action("process.exec", tool)
    run = replace(run, command=command_words(command), script=command, cwd=cwd)
    yield run
    if cwd.startswith("/"):
        yield place.action("fs.list", tool, cwd)
    # A path in the line may lead through a link, so the file that it leads to is judged under its own name, too.
    for part in parts_of(run).actions[:MOST_PATHS]:
        if part.path is None:
            continue
        there = place.from_root(part.path)
        if there != posixpath.normpath(part.path):
            yield place.action(part.syscall, tool, there)
        if part.syscall == "fs.write":
            yield place.action("fs.read", tool, there)


def _with_near_paths(command: str, folders: Iterable[str]) -> str:
    """Returns a command line in which each path below the folder where the line starts is relative to that folder.
    Agents write absolute paths, and both spellings lead to the same file."""
    for folder in folders:
        below = re.compile(rf"(?<![^\s\"'=]){re.escape(folder)}(?:(/+)(?=[^\s\"'/;&|)])|/*(?=[\s\"';&|)]|$))")
        command = below.sub(lambda found: "./" if found[1] else ".", command)
    return command


def _looked_at(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    for path in _read_paths(tool, row, arguments, place):
        lists = row.kind == "list" or (row.kind == "view" and place.is_folder(path))
        yield place.action("fs.list" if lists else "fs.read", tool, path)


def _one_written(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    return _written(tool, (_text(tool, row, arguments),), place)


def _written(tool: str, paths: Iterable[str], place: Place) -> Iterator[Action]:
    for path in dict.fromkeys(map(place.relative, paths)):
        yield place.action("fs.write", tool, path)
        yield place.action("fs.read", tool, path)


def _patched(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    patches = parse_diff(_text(tool, row, arguments))
    return _written(tool, [path for each in patches for path in (each.old, each.new) if path is not None], place)


def _fetched(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[Action]:
    given = next((arguments[name] for name in row.text if name in arguments), None)
    addresses = given if isinstance(given, list) else [given]
    for address in addresses[:MOST_PATHS] or [None]:
        yield replace(place.action("net.connect", tool), host=_host(tool, address))


def _host(tool: str, address: JsonValue) -> str:
    from urllib.parse import urlsplit

    try:
        if not isinstance(address, str):
            raise TypeError("no address")
        parts = urlsplit(address if "://" in address else f"https://{address}")
        port = parts.port or {"http": 80}.get(parts.scheme, 443)
        name = parts.hostname or ""
        return str(parse_endpoint(name if port == 443 else f"{name}:{port}"))
    except (ValueError, TypeError):
        raise _unusable(tool, "its address names no host") from None


def _read_paths(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue], place: Place) -> Iterator[str]:
    """Yields the paths that are looked at: those named, or the folder where a search begins; and each pattern that
    narrows a search, because it may name exactly one file."""
    named = list(_texts(arguments, row.text))
    if (not named and row.kind in {"read", "view"}) or len(named) > MOST_PATHS:
        raise _unusable(tool, f"it names no path, or more than {MOST_PATHS} paths")
    for path in named or ["."]:
        yield place.relative(path)
        for pattern in _texts(arguments, row.narrows):
            yield place.relative(posixpath.join(path, pattern))


def globs_that_limit(row: ToolRow | None, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Returns the globs that limit which files a call that searches reads; none if it reads all."""
    given = list(_texts(arguments, row.narrows)) if row is not None and row.kind == "search" else []
    # Some agents take several globs in one text, with or without a look at braces.
    globs = {glob for text in given for between in _BETWEEN_GLOBS for glob in between.split(text) if glob}
    return () if any("!" in glob for glob in globs) else tuple(sorted(globs))


_BETWEEN_GLOBS = (re.compile(r"[\s,;]+(?![^{]*\})"), re.compile(r"[\s,;]+"), re.compile(r"\s+"))


def _command(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue]) -> str:
    command = _text(tool, row, arguments)
    if "\0" in command or not command.strip() or len(command) > MOST_COMMAND:
        raise _unusable(tool, f"its command is empty, contains NUL, or has more than {MOST_COMMAND} characters")
    return command


def _text(tool: str, row: ToolRow, arguments: Mapping[str, JsonValue]) -> str:
    found = _first(arguments, row.text)
    if found is None:
        raise _unusable(tool, f"it has no text argument called {' or '.join(f'`{name}`' for name in row.text)}")
    return found


def _first(arguments: Mapping[str, JsonValue], names: Iterable[str]) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str) and value), None)


def _texts(arguments: Mapping[str, JsonValue], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        given = arguments.get(name)
        yield from (each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str) and each)


def _unusable(tool: str, why: str) -> ToolError:
    return ToolError(f"the call of `{shorten(tool, 60)}` cannot be judged", why, "call it as the agent describes it")


_BY_KIND: Mapping[ToolKind, Callable[[str, ToolRow, Mapping[str, JsonValue], Place], Iterator[Action]]] = {
    "note": _note,
    "shell": _shell,
    "foreign_shell": _foreign,
    "read": _looked_at,
    "view": _looked_at,
    "list": _looked_at,
    "search": _looked_at,
    "write": _one_written,
    "patch": _patched,
    "fetch": _fetched,
}


def project_root(named: str | None, roots: tuple[str, ...], cwd: str) -> Path:
    """Returns the folder that is the workspace: the one that the agent names, else the root that `cwd` lies in, else
    the nearest folder from `cwd` upwards that is a repository or has Remit's folder, else `cwd`. Without `cwd` it is
    the first root.
    """
    if named:
        return Path(named)
    here = Path(cwd)
    of_roots = [Path(root) for root in roots if here.is_relative_to(root)]
    if of_roots:
        return of_roots[0]
    if roots and not cwd:
        return Path(roots[0])
    above = (folder for folder in (here, *here.parents) if (folder / ".git").exists() or (folder / ".remit").is_dir())
    return next(above, here)
