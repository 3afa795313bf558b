"""What a command may read of a git repository that lies outside the workspace: the same as in a plain `.git`
(GIT-06)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from remit_governance.policy.matching.command_match import is_git
from remit_governance.policy.matching.scripts import parts_of
from remit_governance.values import Action
from remit_server.harness.commands.hidden_paths import DeniedReads, find_hidden_paths
from remit_server.harness.commands.history import other_repositories
from remit_server.sandbox.ports import CommandSpec
from remit_server.tools.git.not_looked_at import narrow_index
from remit_server.workspace.git_linked import GIT, find_folders
from remit_server.workspace.trees.known_folders import KnownFolders, LookAgain

_ACROSS_MOUNTS = {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}
"""The workspace is a mount of its own in the sandbox, and without this git would not look above it."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Files and folders outside the workspace that a command may read, and those there or inside that it may not see.

    If the repository's top is above the workspace, `index` is the place and content of the index that the command sees,
    and `above` are the folders from the top down to the workspace.
    """

    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    index: tuple[Path, bytes] | None = None
    above: tuple[Path, ...] = ()

    @contextmanager
    def given_to(self, spec: CommandSpec) -> Generator[CommandSpec]:
        """Yields the command with what it sees. The files that it sees exist only within this context."""
        readable = (*spec.readable, *self.readable)
        if self.index is None:
            yield replace(spec, hidden=self.hidden, readable=readable)
            return
        place, data = self.index
        with NamedTemporaryFile(prefix="remit-index-") as file:
            file.write(data)
            file.flush()
            environment = {**spec.environment, **_ACROSS_MOUNTS}
            seen = {place: Path(file.name)}
            given = replace(spec, hidden=self.hidden, readable=readable, listed=self.above)
            yield replace(given, in_place_of=seen, environment=environment)


def find_sight(root: Path, reads: DeniedReads, known: KnownFolders) -> Sight:
    """Returns what a command in the workspace `root` sees of the workspace and of its repository. Policy judges the
    repository's files by the names that they would have in a plain `.git`.

    Raises ToolError and OSError, as `find_hidden_paths` does.
    """
    hidden = find_hidden_paths(root, reads, known)
    folders = find_folders(root)
    if folders is None or reads.denied(GIT):
        return Sight((), hidden)
    index = (folders.own / "index", narrow_index(folders)) if folders.prefix else None
    outside = [(path, folders.name_of(path)) for path in folders.shown() if not path.is_relative_to(root)]
    shown = [(path, name) for path, name in outside if not reads.denied(name)]
    below = (found for path, name in shown if path.is_dir() for found in find_hidden_paths(path, reads, known, name))
    readable = tuple(path for path, _ in shown)
    if index is None:
        return Sight(readable, (*hidden, *below))
    place, data = index
    if data is None or place not in readable:
        return Sight((), hidden)
    above = (path for name in (".gitignore", ".gitattributes", ".gitmodules") for path, _ in folders.above(name))
    pointer = (folders.top / GIT,) if (folders.top / GIT).is_file() else ()
    readable = (*(path for path in readable if path != place), *above, *pointer)
    between = tuple(path for path in root.parents if path.is_relative_to(folders.top))
    return Sight(readable, (*hidden, *below), (place, data), between)


def past_objects(root: Path, actions: Iterable[Action], survey: LookAgain) -> tuple[Path, ...]:
    """Returns the folders of git objects to hide, of all repositories in the workspace: they hold files that policy
    denies reading. Returns none if no action has such a history, or if the command line runs git itself."""
    past = [action for action in actions if action.history]
    commands = [part.command or () for a in past if a.script is not None for part in parts_of(a).actions]
    if not past or any(map(is_git, commands)):
        return ()
    folders = find_folders(root)
    others = other_repositories(root, folders, survey) or ()
    objects = (each.common / "objects" for each in (*([folders] if folders else []), *others))
    return tuple(path for path in objects if path.is_dir())
