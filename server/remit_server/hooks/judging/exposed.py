"""Finds what a call could do that a sandbox would prevent, because another agent's commands run in none (HOK-03).

Each such thing is a doubt, so that a person decides: the call shows the environment or what a daemon knows, writes
where a sandbox has a folder of its own, leads out of the workspace, or reads what policy keeps unread, under another
name or together with its folder.
"""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_governance.policy.matching.paths import normalise, outside
from remit_governance.policy.matching.scripts import in_scratch, parts_of
from remit_governance.policy.shell.parse import read_script
from remit_governance.values import Action

NAMES_ONLY = frozenset(
    {"ls", "find", "fd", "tree", "du", "df", "stat", "file", "test", "[", "pwd", "cd", "basename"}
) | {"dirname", "realpath", "readlink", "echo", "printf", "true", "false", "which", "type", "mkdir", "touch"}
"""Programs that show the names and metadata of files, not their contents."""
SEARCHERS = frozenset({"rg", "ag", "ack", "ugrep"})
"""Programs that read the folder they are in if none is named."""
GIT_READERS = frozenset({"grep", "diff", "show", "log", "blame", "stash", "cat-file", "archive"})
_PRINTERS = frozenset({"printenv", "set", "export", "declare", "typeset", "compgen"})
MOST_WORDS = 1_000
_RUN_FOR_EACH = frozenset({"xargs", "parallel"})
_EXECS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_TELL_SECRETS = (
    *(("docker", "inspect"), ("docker", "compose"), ("podman", "inspect"), ("helm", "get"), ("history",)),
    *(("terraform", "output"), ("terraform", "show"), ("tofu", "output"), ("tofu", "show"), ("kubectl", "config")),
    *(("npm", "config"), ("pnpm", "config"), ("yarn", "config"), ("pip", "config"), ("uv", "pip", "config")),
    *(("git", "config", "--list"), ("git", "config", "-l"), ("git", "config", "--get-regexp"), ("gcloud", "config")),
    *(("launchctl", "getenv"), ("launchctl", "print"), ("systemctl", "show-environment"), ("systemctl", "show")),
)
"""The first words of commands that print settings of the person or of a daemon, which may have keys in them."""
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
        parts = parts_of(action)
        for command in (part.command for part in (*parts.actions, *parts.shadows)):
            if command and command[0] not in NAMES_ONLY:
                plain = (word for word in command[1:MOST_WORDS] if not word.startswith(("-", "/", "~")))
                yield from (posixpath.normpath(posixpath.join(action.cwd or ".", word)) for word in plain)

    def is_folder(self, path: str) -> bool:
        """Returns whether a folder is there."""
        try:
            return (self.root / path).is_dir()
        except (OSError, ValueError):
            return False

    def _of_script(self, action: Action) -> Iterator[str]:
        assert action.script is not None
        parts = parts_of(action)
        commands = [part.command for part in (*parts.actions, *parts.shadows) if part.command]
        for path in read_script(action.script).writes:
            if in_scratch(path):
                yield f"it writes `{path[:60]}`, outside the workspace"
        for command in commands:
            if command[0] in _GO_ELSEWHERE and self._leads_out(command[1:], action.cwd or "."):
                yield "it goes to a folder outside the workspace"
            if any(command[: len(words)] == words for words in _TELL_SECRETS):
                yield "it prints settings, which may contain secrets"
            if _prints_environment(command):
                yield "it shows the environment, which may contain secrets"
            yield from self._of_command(command, action.cwd or ".")

    def _leads_out(self, words: Sequence[str], cwd: str) -> bool:
        place = next((word for word in words if not word.startswith("-")), "~")
        return place.startswith("~") or "-" in words or outside(normalise(posixpath.join(cwd, place)))

    def _of_command(self, command: tuple[str, ...], cwd: str) -> Iterator[str]:
        program, *words = command
        if program in _RUN_FOR_EACH or any("files0-from" in word for word in words):
            yield "it opens the files that its input names, which may be outside the workspace"
        if not _EXECS.isdisjoint(words):
            yield from self._below(".")
        if program in NAMES_ONLY:
            return
        plain = [word for word in words if not word.startswith("-")]
        folders = [folder for word in plain if (folder := self._folder(word, cwd)) is not None]
        for word in plain:
            yield from self._by_other_name(posixpath.normpath(posixpath.join(cwd, word)))
        reads_here = program in SEARCHERS or (program == "git" and not GIT_READERS.isdisjoint(plain[:1]))
        # The first word is the pattern, which may happen to be the name of a file.
        named = plain[2 if plain[:1] == ["grep"] else 1 :]
        if reads_here and not folders and not any(self._is_file(word, cwd) for word in named):
            folders = [cwd]
        for folder in dict.fromkeys(folders):
            yield from self._below(folder)

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
        prefix = "" if folder == "." else f"{folder.rstrip('/')}/"
        found = next((path for path in unread if path.startswith(prefix) or path == folder), None)
        if found is not None:
            yield f"it may read `{found[:80]}`, which policy keeps unread: name the files to read"


def _prints_environment(command: tuple[str, ...]) -> bool:
    program, *words = command
    if program == "ps" and any("e" in word for word in words if not word.startswith("-")):
        return True
    if any("/proc/" in word and "environ" in word for word in words):
        return True
    if program == "env":
        return all(word.startswith("-") or "=" in word for word in words)
    if program not in _PRINTERS:
        return False
    sets_option = program == "set" and bool(words) and words not in (["-o"], ["+o"])
    return program in {"printenv", "compgen"} or not (sets_option or any("=" in word for word in words))
