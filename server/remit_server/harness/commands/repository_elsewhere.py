"""What a command sees of a repository that lies outside the workspace: what it would see in a plain `.git`, to be read
(GIT-06)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from remit_governance.policy.matching.history import is_git
from remit_governance.policy.matching.scripts import parts_of
from remit_governance.values import Action
from remit_server.harness.commands.hidden_paths import find_hidden_paths
from remit_server.workspace.git_linked import GIT, find_folders


@dataclass(frozen=True, slots=True)
class Sight:
    """Files and folders that a command may read outside the workspace, and what it may not see, there or inside."""

    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]


def find_sight(root: Path, denied: Callable[[str], bool]) -> Sight:
    """Returns what a command in the workspace `root` sees of it and of its repository, where `denied` says of a
    relative path whether policy denies reading it: of the repository by its names in a plain `.git`.

    Raises ToolError and OSError as `find_hidden_paths` does.
    """
    hidden = find_hidden_paths(root, denied)
    folders = find_folders(root)
    if folders is None or folders.prefix or denied(GIT):
        return Sight((), hidden)
    outside = [(path, f"{GIT}/{path.name}") for path in folders.shown() if not path.is_relative_to(root)]
    shown = [(path, name) for path, name in outside if not denied(name)]
    below = (found for path, name in shown if path.is_dir() for found in _hidden_below(path, name, denied))
    return Sight(tuple(path for path, _ in shown), (*hidden, *below))


def _hidden_below(folder: Path, name: str, denied: Callable[[str], bool]) -> tuple[Path, ...]:
    return find_hidden_paths(folder, lambda relative: denied(f"{name}/{relative}"))


def past_objects(root: Path, actions: Iterable[Action]) -> tuple[Path, ...]:
    """Returns git's objects, where they hold what policy denies reading and no command of git's was asked about."""
    past = [action for action in actions if action.history]
    commands = [part.command or () for a in past if a.script is not None for part in parts_of(a).actions]
    folders = find_folders(root) if past and not any(map(is_git, commands)) else None
    objects = folders.common / "objects" if folders else None
    return (objects,) if objects is not None and objects.is_dir() else ()
