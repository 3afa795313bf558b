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
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from remit_governance.policy.matching.paths import normalise, outside
from remit_governance.policy.matching.scripts import in_scratch, parts_of
from remit_governance.policy.shell.options import forms_of
from remit_governance.policy.shell.parse import read_script
from remit_governance.policy.shell.programs import git_words
from remit_governance.policy.shell.texts import words_without_texts
from remit_governance.policy.shell.wrappers import SHELLS
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Action
from remit_server.hooks.judging.git_content import git_call
from remit_server.hooks.judging.git_settings import GitSettings, shows_addresses
from remit_server.hooks.judging.globs import WILD, Counts, Glob, any_path, glob_of, limited_to, may_be
from remit_server.hooks.judging.searches import Search, found_by_name, search_of
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
MOST_NAMES = 20_000
"""The most names that are compared with one word with wildcards."""

Unread = Callable[[], Sequence[str] | None]
"""Returns the files that policy keeps unread, relative to the workspace, or None if that cannot be found out."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What is known of the workspace: its root, and which of its files are to stay unread, looked up when needed; and
    git's settings."""

    root: Path
    unread: Unread
    settings: GitSettings

    def doubts(self, action: Action) -> tuple[str, ...]:
        """Returns the doubts about an action."""
        if action.script is not None:
            return tuple(dict.fromkeys(self._of_script(action)))
        return ()

    def of_read(self, path: str, only: Sequence[str] = ()) -> tuple[str, ...]:
        """Returns the doubts about reading a path: a folder with all in it that one of the globs `only` means, or a
        file that may have another name."""
        if self.is_folder(path):
            return tuple(self._below(path, limited_to(only)))
        glob = glob_of(path)
        return tuple(self._by_other_name(path) if glob is None else self._of_glob(glob))

    def operands(self, action: Action) -> Iterator[str]:
        """Yields the words of a command line that may be files of the workspace, except of programs that show only
        names."""
        commands, replaced = _commands(action), read_script(action.script or "").replaced
        for place in self._places(commands, action.cwd or "."):
            for command in commands:
                if not _shows_names(command):
                    words = words_without_texts(command[:MOST_WORDS], replaced)
                    plain = (word for word in words if not word.startswith(("-", "/", "~")))
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
                yield f"it writes `{shorten(path, 60)}`, outside the workspace"
        for part in parts_of(action).actions:
            if part.syscall == "fs.read" and part.path is not None:
                yield from self._by_other_name(posixpath.normpath(part.path))
        variable = shown_variable(action.script)
        if variable is not None:
            yield f"it shows `${shorten(variable, 40)}` of the environment, which may be a secret"
        commands = _commands(action)
        places = self._places(commands, action.cwd or ".")
        for command in commands:
            if command[0] in _GO_ELSEWHERE and self._leads_out(command[1:], action.cwd or "."):
                yield "it goes to a folder outside the workspace"
            yield from what_it_tells(command)
            yield from _of_inner_script(command)
            for place in places:
                yield from self._of_command(command, place, read_script(action.script).replaced)

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

    def _of_command(self, command: tuple[str, ...], cwd: str, replaced: Collection[str]) -> Iterator[str]:
        program, *words = command
        files = words_without_texts(command, replaced)
        if program in _RUN_FOR_EACH or any("files0-from" in word for word in words):
            yield "it opens the files that its input names, which may be outside the workspace"
        if not _EXECS.isdisjoint(words):
            yield from self._below(".", limited_to(found_by_name(program, words)))
        searches = [search for name, *rest in forms_of(command) if (search := search_of(name, rest)) is not None]
        only = _limit_of(searches)
        if _shows_names(command) or any(search.names_only for search in searches):
            return
        for path in (self._relative(posixpath.join(cwd, value)) for value in _attached(files)):
            if self._is_file(path, "."):
                yield from self._below(path)
                yield from self._of_settings(path)
        for name, *rest in forms_of(command):
            if name in _CALL_GIT:
                yield from self._of_git(rest if name == "git" else (), cwd)
        for search in searches:
            if search.follows or not search.names_all:
                yield from self._below("." if search.follows else cwd, only, hidden=not _leaves_out([search], cwd))
        for word in (word for word in files if not word.startswith("-")):
            path = posixpath.normpath(posixpath.join(cwd, word))
            yield from self._by_other_name(path)
            glob = glob_of(word)
            if glob is not None and program != "git":
                yield from self._of_glob(Glob(self._relative(posixpath.join(cwd, glob.folder)), glob.rest))
            elif program != "git" and self.is_folder(path):
                yield from self._below(path, only, hidden=not _leaves_out(searches, path))

    def _of_git(self, words: Sequence[str], cwd: str) -> Iterator[str]:
        call = git_call(words)
        place = self._relative(posixpath.join(cwd, *call.folders))
        if outside(normalise(place)):
            yield "it goes to a folder outside the workspace"
            return
        if shows_addresses(git_words(words)) and self.settings.of_repository(self.root / place):
            yield "it shows an address of git's settings, in which there is a secret"
        if self._in_other_repository(place):
            yield "git may take a folder of the project for a repository, whose settings can name programs"
        paths = call.shown
        if paths is None and call.may_be_paths and all(self._is_file(path, place) for path in call.may_be_paths):
            paths = call.may_be_paths
        if paths is None:
            yield from self._below(".", hidden=False)
        for path in paths or ():
            glob = glob_of(path)
            if glob is None:
                yield from self._below(self._relative(posixpath.join(place, path)), hidden=False)
            else:
                folder = self._relative(posixpath.join(place, glob.folder))
                yield from self._below(folder, glob.may_reach, hidden=False)

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

    def _of_glob(self, glob: Glob) -> Iterator[str]:
        """Yields the doubts about what a word with wildcards may mean, links among it."""
        yield from self._below(glob.folder, glob.may_reach)
        found = self._found(glob)
        if found is None:
            yield from self._below(glob.folder)
        for path in found or ():
            yield from self._by_other_name(path)
            if self._led_to(path) != path:
                yield from self._below(path)

    def _found(self, glob: Glob) -> list[str] | None:
        """Returns the paths that a shell may put in a glob's place, or None if there are too many."""
        left, places = MOST_NAMES, [glob.folder]
        for part in glob.parts():
            found = list[str]()
            for place in places:
                names = list(islice(self._names_in(place, part), left + 1))
                left -= len(names)
                if left < 0:
                    return None
                found += (posixpath.normpath(posixpath.join(place, name)) for name in names if may_be(part, name))
            places = found
        return places

    def _names_in(self, folder: str, part: str) -> Iterator[str]:
        """Yields the names in a folder that a part of a glob may mean. `**` also means the folders at any depth, and
        in some shells `.*` means the folder above."""
        if WILD.isdisjoint(part):
            yield part
        elif not outside(normalise(folder)):
            yield from ((".",) if "**" in part else ("..",) if part.startswith(".") else ())
            for place, folders, files in os.walk(self.root / folder):
                below = posixpath.relpath(place, self.root / folder)
                yield from (posixpath.normpath(posixpath.join(below, name)) for name in (*folders, *files))
                if "**" not in part:
                    return

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
        there = self._led_to(path)
        yield from self._of_settings(there)
        if not real.is_relative_to(self.root):
            if not path.startswith("/dev/"):
                yield f"`{shorten(path, 60)}` leads out of the workspace"
        elif real != place or status.st_nlink > 1:
            unread = self.unread() if stat.S_ISREG(status.st_mode) else ()
            if unread is None or there in unread:
                yield f"`{shorten(path, 60)}` is another name of a file that policy keeps unread"

    def _of_settings(self, path: str) -> Iterator[str]:
        if self.settings.in_file(self.root / path):
            yield f"there is a secret in `{shorten(path, 60)}`"

    def _below(self, folder: str, counts: Counts = any_path, *, hidden: bool = True) -> Iterator[str]:
        """Yields a doubt if a file that is to stay unread lies in a folder, or is what the word names, and counts; and
        if git's settings, which are `hidden`, lie there with a secret."""
        found = self.settings.below(self.root / folder) if hidden else None
        if found is not None and counts(found, False):
            yield f"there is a secret in `{shorten(posixpath.normpath(posixpath.join(folder, found)), 60)}`"
        unread = self.unread()
        if unread is None:
            yield "Remit cannot tell whether it reads what policy keeps unread"
            return
        names = {folder.rstrip("/"), self._led_to(folder)}
        at = ((path, name) for path in unread for name in names if _is_at(path, name))
        found = next((path for path, name in at if counts(_within(path, name), self.is_folder(path))), None)
        if found is not None:
            yield f"it may read `{shorten(found, 80)}`, which policy keeps unread: name the files to read"


def _commands(action: Action) -> list[tuple[str, ...]]:
    """Returns the commands of a line, and those that wrap them."""
    parts = parts_of(action)
    return [part.command for part in (*parts.actions, *parts.shadows) if part.command]


def _limit_of(searches: Sequence[Search]) -> Counts:
    """Returns which files a command reads if it is each of these searches."""
    certain = all(search.only and not search.follows for search in searches)
    return limited_to([glob for search in searches for glob in search.only] if certain else ())


def _leaves_out(searches: Sequence[Search], folder: str) -> bool:
    """Returns whether a command that is each of these searches leaves out what is hidden in a folder."""
    within_hidden = any(part.startswith(".") and part != "." for part in folder.split("/"))
    return bool(searches) and not within_hidden and all(search.skips_hidden for search in searches)


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
                yield f"it shows `${shorten(variable, 40)}` of the environment, which may be a secret"


def _is_at(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")


def _within(path: str, folder: str) -> str:
    """Returns a path, which is at a folder, as it is relative to it; empty for the folder itself."""
    return path if folder == "." else path[len(folder) + 1 :]


def _looks_like_repository(folder: Path) -> bool:
    try:
        has = {name for name in ("HEAD", "objects", "refs", "commondir") if os.path.lexists(folder / name)}
    except (OSError, ValueError):
        return False
    return "HEAD" in has and ("commondir" in has or {"objects", "refs"} <= has)
