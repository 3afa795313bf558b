"""Finds what a call could do that a sandbox would prevent, because another agent's commands run in none (HOK-03).

Each such thing is a doubt, so that a person decides: the call shows the environment or what a daemon knows, writes
where a sandbox has a folder of its own, leads out of the workspace, or reads what policy keeps unread, under another
name or together with its folder.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_governance.policy.matching.paths import normalise, outside
from remit_governance.policy.matching.scripts import in_scratch, parts_of
from remit_governance.policy.shell.options import forms_of
from remit_governance.policy.shell.parse import read_script
from remit_governance.policy.shell.wrappers import SHELLS
from remit_governance.values import Action
from remit_server.hooks.judging.git_content import git_call
from remit_server.hooks.judging.searches import search_of
from remit_server.hooks.judging.told import what_it_tells
from remit_server.hooks.judging.variables import shown_variable

NAMES_ONLY = frozenset(
    {"ls", "find", "fd", "tree", "du", "df", "stat", "file", "test", "[", "pwd", "cd", "basename"}
) | {"dirname", "realpath", "readlink", "echo", "printf", "true", "false", "which", "type", "mkdir", "touch"}
"""Programs that show the names and metadata of files, not their contents."""
_NAMES_IN_FILES = re.compile(r"-[a-zA-Z]*[fm].*|--(?:from|gitfile|infofile|magic|file).*")
"""Options of `file` and `tree` after which they show what is in a file."""
MOST_WORDS = 1_000
MOST_PLACES = 8
_RUN_FOR_EACH = frozenset({"xargs", "parallel"})
_EXECS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_CALL_GIT = frozenset({"git", "gitk", "gh", "glab", "hub", "tig", "onefetch", "lazygit"})
_GO_ELSEWHERE = frozenset({"cd", "pushd"})
_WILD = frozenset("*?[")

Unread = Callable[[], Sequence[str] | None]
"""Returns the files that policy keeps unread, relative to the workspace, or None if that cannot be found out."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What is known of the workspace: its root, and which of its files are to stay unread, looked up when needed."""

    root: Path
    unread: Unread

    def doubts(self, action: Action) -> tuple[str, ...]:
        """Returns the doubts about an action."""
        if action.script is not None:
            return tuple(dict.fromkeys(self._of_script(action)))
        return ()

    def of_read(self, path: str) -> tuple[str, ...]:
        """Returns the doubts about reading a path: a folder with all in it, or a file that may have another name."""
        return tuple(self._below(path) if self.is_folder(path) else self._by_other_name(path))

    def operands(self, action: Action) -> Iterator[str]:
        """Yields the words of a command line that may be files of the workspace, except of programs that show only
        names."""
        commands = _commands(action)
        for place in self._places(commands, action.cwd or "."):
            for command in commands:
                if not _shows_names(command):
                    plain = (word for word in command[1:MOST_WORDS] if not word.startswith(("-", "/", "~")))
                    yield from (posixpath.normpath(posixpath.join(place, word)) for word in plain)

    def is_folder(self, path: str) -> bool:
        """Returns whether a folder is there."""
        try:
            return (self.root / path).is_dir()
        except (OSError, ValueError):
            return False

    def _of_script(self, action: Action) -> Iterator[str]:
        assert action.script is not None
        for path in read_script(action.script).writes:
            if in_scratch(path):
                yield f"it writes `{path[:60]}`, outside the workspace"
        variable = shown_variable(action.script)
        if variable is not None:
            yield f"it shows `${variable[:40]}` of the environment, which may be a secret"
        commands = _commands(action)
        places = self._places(commands, action.cwd or ".")
        for command in commands:
            if command[0] in _GO_ELSEWHERE and self._leads_out(command[1:], action.cwd or "."):
                yield "it goes to a folder outside the workspace"
            yield from what_it_tells(command)
            yield from _of_inner_script(command)
            for place in places:
                yield from self._of_command(command, place)

    def _places(self, commands: Sequence[tuple[str, ...]], cwd: str) -> tuple[str, ...]:
        """Returns the folders in which a command of the line may run, relative to the workspace."""
        places = [cwd]
        for command in commands:
            if command[0] in _GO_ELSEWHERE and len(command) > 1:
                places += [self._relative(posixpath.join(place, command[-1])) for place in places]
                places = list(dict.fromkeys(places))[:MOST_PLACES]
        return tuple(places)

    def _relative(self, path: str) -> str:
        """Returns a path as it is relative to the workspace, or absolute if it leads out."""
        inside = path.startswith("/") and Path(posixpath.normpath(path)).is_relative_to(self.root)
        return posixpath.relpath(path, self.root) if inside else posixpath.normpath(path)

    def _leads_out(self, words: Sequence[str], cwd: str) -> bool:
        place = next((word for word in words if not word.startswith("-")), "~")
        return place.startswith("~") or "-" in words or outside(normalise(posixpath.join(cwd, place)))

    def _of_command(self, command: tuple[str, ...], cwd: str) -> Iterator[str]:
        program, *words = command
        if program in _RUN_FOR_EACH or any("files0-from" in word for word in words):
            yield "it opens the files that its input names, which may be outside the workspace"
        if not _EXECS.isdisjoint(words):
            yield from self._below(".")
        searches = [search for name, *rest in forms_of(command) if (search := search_of(name, rest)) is not None]
        if _shows_names(command) or any(search.names_only for search in searches):
            return
        for path in (self._relative(posixpath.join(cwd, value)) for value in _attached(words)):
            if self._is_file(path, "."):
                yield from self._below(path)
        for name, *rest in forms_of(command):
            if name in _CALL_GIT:
                yield from self._of_git(rest if name == "git" else (), cwd)
        for search in searches:
            if search.follows or not search.names_all:
                yield from self._below("." if search.follows else cwd)
        plain = [word for word in words if not word.startswith("-")]
        folders = [folder for word in plain if (folder := self._folder(word, cwd)) is not None]
        for word in plain:
            yield from self._by_other_name(posixpath.normpath(posixpath.join(cwd, word)))
        if program != "git":
            for folder in dict.fromkeys(folders):
                yield from self._below(folder)

    def _of_git(self, words: Sequence[str], cwd: str) -> Iterator[str]:
        call = git_call(words)
        place = self._relative(posixpath.join(cwd, *call.folders))
        if outside(normalise(place)):
            yield "it goes to a folder outside the workspace"
            return
        if self._in_other_repository(place):
            yield "git may take a folder of the project for a repository, whose settings can name programs"
        paths = call.shown
        if paths is None and call.may_be_paths and all(self._is_file(path, place) for path in call.may_be_paths):
            paths = call.may_be_paths
        if paths is None:
            yield from self._below(".")
        for path in paths or ():
            yield from self._below(self._relative(posixpath.join(place, path)))

    def _in_other_repository(self, place: str) -> bool:
        """Returns whether a folder, or one above it in the workspace, looks like a repository without a `.git`."""
        for start in {place, self._led_to(place)}:
            folder = self.root / start
            while folder.is_relative_to(self.root):
                if folder.name != ".git" and _looks_like_repository(folder):
                    return True
                folder = folder.parent
        return False

    def _led_to(self, path: str) -> str:
        """Returns the path to which links lead from this one, or the path itself if that is outside."""
        try:
            real = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError):
            return path
        return real.relative_to(self.root).as_posix() if real.is_relative_to(self.root) else path

    def _folder(self, word: str, cwd: str) -> str | None:
        """Returns the folder that a word names, or that its glob looks in; None if the word is a file or no path."""
        path = posixpath.normpath(posixpath.join(cwd, word))
        if not _WILD.isdisjoint(word):
            fixed = path[: min(path.find(sign) for sign in _WILD if sign in path)]
            return posixpath.dirname(fixed) or "."
        return path if self.is_folder(path) else None

    def _is_file(self, word: str, cwd: str) -> bool:
        try:
            return (self.root / posixpath.join(cwd, word)).is_file()
        except (OSError, ValueError):
            return False

    def _by_other_name(self, path: str) -> Iterator[str]:
        """Yields a doubt about a link, or a file with several names, because another file than the named one is
        read."""
        try:
            place = self.root / path
            status = place.stat()
            real = place.resolve()
        except (OSError, ValueError, RuntimeError):
            return
        if not real.is_relative_to(self.root):
            if not path.startswith("/dev/"):
                yield f"`{path[:60]}` leads out of the workspace"
        elif real != place or status.st_nlink > 1:
            there = real.relative_to(self.root).as_posix()
            unread = self.unread() if stat.S_ISREG(status.st_mode) else ()
            if unread is None or there in unread:
                yield f"`{path[:60]}` is another name of a file that policy keeps unread"

    def _below(self, folder: str) -> Iterator[str]:
        unread = self.unread()
        if unread is None:
            yield "Remit cannot tell whether it reads what policy keeps unread"
            return
        names = {folder.rstrip("/"), self._led_to(folder)}
        found = next((path for path in unread if any(_is_at(path, name) for name in names)), None)
        if found is not None:
            yield f"it may read `{found[:80]}`, which policy keeps unread: name the files to read"


def _commands(action: Action) -> list[tuple[str, ...]]:
    """Returns the commands of a line, and those that wrap them."""
    parts = parts_of(action)
    return [part.command for part in (*parts.actions, *parts.shadows) if part.command]


def _shows_names(command: tuple[str, ...]) -> bool:
    program, *words = command
    from_files = program in {"file", "tree"} and any(map(_NAMES_IN_FILES.fullmatch, words))
    return program in NAMES_ONLY and not from_files


def _attached(words: Sequence[str]) -> Iterator[str]:
    """Yields the values that stand in one word with their option: `--file=x`, `-fx`, `if=x`."""
    for word in words[:MOST_WORDS]:
        name, equals, value = word.partition("=")
        if name.startswith("--exclude"):
            continue
        if equals and value:
            yield value
        if word[:1] == "-" and word[1:2] not in {"", "-"}:
            yield from (word[at:] for at in range(2, min(len(word), 6)))


def _of_inner_script(command: tuple[str, ...]) -> Iterator[str]:
    if command[0] in SHELLS:
        for word in command[1:]:
            if (variable := shown_variable(word)) is not None:
                yield f"it shows `${variable[:40]}` of the environment, which may be a secret"


def _is_at(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")


def _looks_like_repository(folder: Path) -> bool:
    try:
        has = {name for name in ("HEAD", "objects", "refs", "commondir") if os.path.lexists(folder / name)}
    except (OSError, ValueError):
        return False
    return "HEAD" in has and ("commondir" in has or {"objects", "refs"} <= has)
