"""Finds the files that a command may execute and binds their digests to its approval, so that none can be rewritten
while the approval is pending (APP-01).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from remit_governance.approvals import PathBinding
from remit_governance.policy.matching.paths import fold
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine.descriptors import closing_fd
from remit_server.tools.spec import CommandPlan, StartPlan
from remit_server.workspace.content.files import MAX_FILE_BYTES, image_at
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

UNNAMED = (
    *("Makefile", "makefile", "GNUmakefile", "justfile", "package.json", "Cargo.toml", "build.rs"),
    *("pyproject.toml", "setup.py", "tox.ini", "noxfile.py", "conftest.py"),
)
"""Files that programs execute although the command does not name them."""

MAX_FOLDERS = 32
MOST_TRIED = 1_500
"""The most names that may be bound for one command, because nobody could review more files."""
MOST_READ = 16 << 20
"""The most bytes that are read of all files. Further files are bound by inode number, size and times, not content."""
MOST_ENTRIES = 50_000
"""The most entries of folders that are listed to find names. After that, each name is looked up by itself."""
MOST_LOOKS = 20_000
_SYNTAX = re.compile(r"""[\s;|&<>()`"'=,:]+""")
_ABOVE = re.compile(r"(?:\.{1,2}/+)*")


def find_executed_files(command: CommandPlan | StartPlan, workspace: Workspace) -> tuple[PathBinding, ...]:
    """Returns the files that the command names, with their digests, in its working folder and in folders that it names.

    The command line is split both as a shell does and at every sign of shell syntax, because a name too many does no
    harm. Raises ToolError (`invalid_arguments`) if the command names more files than can be bound.
    """
    words = _split_words(command.display)
    here = str(command.spec.cwd)
    within = (os.path.join(here, word) for word in words)  # noqa: PTH118  as it is spelled: it may go up
    folders = [here, *islice(filter(_is_folder, within), MAX_FOLDERS - 1)]
    search = _Search(workspace)
    names = dict.fromkeys((*words, *_module_paths(words), *UNNAMED))
    for name in names:
        if name.startswith("/"):
            search.bind(name)
    relative = _by_beginning(name for name in names if not name.startswith("/"))
    for folder in folders:
        search.look(folder, relative)
    return tuple(search.bound.values())


Names = Mapping[str, Mapping[str, Sequence[str]]]
"""Relative names, grouped by the `./` or `../` they begin with, then by their first component as `fold` spells it."""


@dataclass(slots=True)
class _Search:
    """The files found so far, and how much may still be listed, looked up, bound and read."""

    workspace: Workspace
    bound: dict[str, PathBinding] = field(default_factory=dict[str, PathBinding])
    entries: int = MOST_ENTRIES
    looks: int = MOST_LOOKS
    tries: int = MOST_TRIED
    bytes: int = MOST_READ

    def look(self, folder: str, names: Names) -> None:
        """Binds the files of these names in a folder. Raises ToolError."""
        for above, firsts in names.items():
            place = f"{folder}/{above}"
            for first in self._there(place, firsts):
                for name in firsts[first]:
                    if "/" not in name or self._is_there(f"{place}{name}"):
                        self.bind(f"{place}{name}")

    def _there(self, folder: str, firsts: Mapping[str, Sequence[str]]) -> Iterable[str]:
        """Returns those of the first components that may exist in a folder."""
        try:
            with os.scandir(folder) as entries:
                found = {fold(entry.name) for entry in islice(entries, self.entries)}
        except OSError:
            return ()
        self.entries -= len(found)
        if self.entries > 0:
            return firsts.keys() & found
        return [first for first, names in firsts.items() if any(self._is_there(f"{folder}{name}") for name in names)]

    def _is_there(self, path: str) -> bool:
        self.looks = self._left(self.looks - 1)
        return os.path.lexists(path)

    def bind(self, name: str) -> None:
        """Binds a file to its content, unless `name` is no file of the workspace. Raises ToolError if too many names
        were tried."""
        self.tries = self._left(self.tries - 1)
        try:
            path = self.workspace.resolve(name)
            self.bound[path.relative] = PathBinding(path.relative, before=self._pin(path))
        except ToolError:
            return  # the word is no file: an option, a program or something else

    def _left(self, number: int) -> int:
        if number < 0:
            raise ToolError(
                "cannot run the command",
                f"it names more than {MOST_TRIED:,} files, the most that a question can be bound to",
                "name their folder, or write a script that does it",
                code=ErrorCode.INVALID_ARGUMENTS,
            )
        return number

    def _pin(self, path: WorkspacePath) -> str:
        with closing_fd(self.workspace.open_read(path)) as fd:
            status = os.fstat(fd)
            if status.st_size <= min(self.bytes, MAX_FILE_BYTES):
                self.bytes -= status.st_size
                with suppress(ToolError):  # the file may grow meanwhile
                    return image_at(fd, path, status.st_size).digest
            return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _by_beginning(names: Iterable[str]) -> Names:
    sorted_out: dict[str, dict[str, list[str]]] = {}
    for name in names:
        found = _ABOVE.match(name)
        above = found[0] if found else ""
        rest = name[len(above) :]
        sorted_out.setdefault(above, {}).setdefault(fold(rest.partition("/")[0]), []).append(rest)
    return sorted_out


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # the name is too long, or we may not look at it
        return False


def _split_words(text: str) -> tuple[str, ...]:
    try:
        split = shlex.split(text)
    except ValueError:
        split = text.split()
    return tuple(dict.fromkeys(word for word in (*split, *_SYNTAX.split(text)) if word and "\0" not in word))


def _module_paths(words: Iterable[str]) -> Iterator[str]:
    """Yields the files of Python modules that the words name, as in `python -m tools.build`."""
    for word in words:
        if word.replace(".", "").isidentifier():
            path = word.replace(".", "/")
            yield from (f"{path}.py", f"{path}/__main__.py")
