"""Finds a repository's files: in `.git`, in the folder that a `.git` file points to, or above (GIT-01, GIT-07).

A pointer (a `.git` file) comes with the project and may name any folder, so it is believed only if that folder points
back: a worktree's folder has the path of this `.git` in `gitdir`, a submodule's names this folder as `core.worktree`. A
program that can write there does not need a pointer to reach that folder.

A repository above a folder is taken for the folder's only if it belongs to this user and its index has files in the
folder (GIT-07).

Git takes any repository that it finds above. A home folder that is a repository, or a folder that another user can
write to, would then get the commits of every project below it.

Also finds the repositories nested in a workspace: folders with a `.git`, and bare repositories (POL-16).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from remit_server.contract import ErrorCode
from remit_server.workspace.git_config import MAX_CONFIG_BYTES, parse_config
from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_index import IndexEntry, read_joined
from remit_server.workspace.trees.known_folders import LookAgain

GIT = ".git"
_OPEN_THE_TOP = "open the top folder of a repository as the workspace"
_POINTER = re.compile(rb"gitdir: ([^\x00\n]+)\n*")
_OWN = ("HEAD", "index", "logs", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_COMMON = ("objects", "refs", "packed-refs", "info", "shallow")
_FOR_COMMANDS = (
    *("HEAD", "config", "config.worktree", "description", "hooks", "info", "lfs", "logs", "objects", "packed-refs"),
    *("refs", "shallow"),
)
_FOR_COMMANDS_OWN = (
    *("index", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "ORIG_HEAD", "FETCH_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer", "commondir", "gitdir", "HEAD", "logs"),
)
_ELSEWHERE = frozenset({"core.bare", "core.worktree"})
"""Settings that git does not read from the common folder for a linked worktree, as they are for the main worktree."""


@dataclass(frozen=True, slots=True)
class Folders:
    """`own` has this working tree's head and index, `common` the objects and refs; the two differ only in a linked
    worktree.

    `top` is the working tree's folder, and `prefix` the workspace's path below it, with a final `/`, or empty.
    """

    own: Path
    common: Path
    top: Path
    prefix: str = ""

    @property
    def linked(self) -> bool:
        """Whether this is a linked worktree."""
        return self.own != self.common

    def staged(self, most: int) -> list[tuple[bytes, IndexEntry]]:
        """Returns the index's entries with their paths, in no order; in a sparse index an entry may be a folder. Raises
        OSError, and ValueError if the index is damaged."""
        data = read_git_file(self.own, "index", most)
        return read_joined(data, lambda name: read_git_file(self.own, name, most) or b"") if data else []

    def shared_indexes(self) -> list[str]:
        """Returns the names of the shared index files, to which a split index refers."""
        try:
            return sorted(name for name in os.listdir(self.own) if name.startswith("sharedindex."))  # noqa: PTH208  names only
        except OSError:
            return []

    def parts(self) -> Iterator[Path]:
        """Returns the existing paths that git has to read, without settings and hooks. Links are left out, because they
        may lead anywhere."""
        named = (
            *(self.own / name for name in (*_OWN, *self.shared_indexes())),
            *(self.common / name for name in _COMMON),
        )
        return (path for path in named if path.exists() and not path.is_symlink())

    def shown(self) -> Iterator[Path]:
        """Returns the existing paths that commands see of a repository outside the workspace: only names that git uses,
        so that other files there stay hidden. Links are left out."""
        common = (self.common / name for name in _FOR_COMMANDS)
        own = (self.own / name for name in (*_FOR_COMMANDS_OWN, *self.shared_indexes()))
        named = dict.fromkeys((*common, *own, *self._modules()))
        return (path for path in named if path.exists() and not path.is_symlink())

    def name_of(self, path: Path) -> str:
        """Returns the name that a path in `own` or `common` would have in a plain `.git` folder."""
        return f"{GIT}/{path.relative_to(self.own if path.is_relative_to(self.own) else self.common).as_posix()}"

    def _modules(self) -> Iterator[Path]:
        """Yields the repositories of submodules; if the workspace is below `top`, only of the submodules in the
        workspace."""
        modules, root = self.own / "modules", self.top / self.prefix
        if not self.prefix:
            yield modules
            return
        for folder, below, names in os.walk(modules):
            if "HEAD" in names:
                below.clear()
                with contextlib.suppress(OSError, RuntimeError):
                    tree = _tree_of(Path(folder))
                    if tree and Path(folder, tree).resolve().is_relative_to(root):
                        yield Path(folder)

    def submodules(self) -> Iterator[Folders]:
        """Yields the repositories of submodules that lie in this one, also of submodules that are no longer checked
        out."""
        for base in dict.fromkeys((self.common / "modules", self.own / "modules")):
            for folder, below, names in os.walk(base):
                if "HEAD" in names:
                    below[:] = [name for name in below if name == "modules"]
                    yield Folders(Path(folder), Path(folder), _top_of(Path(folder)))

    def above(self, name: str) -> Iterator[tuple[Path, str]]:
        """Yields the files of that name in `top` and in the folders between it and the workspace, each with the
        workspace's path below its folder. Links are left out."""
        for folder, rest in self.way():
            path = folder / name
            if path.is_file() and not path.is_symlink():
                yield path, rest

    def way(self) -> Iterator[tuple[Path, str]]:
        """Yields `top` and the folders between it and the workspace, each with the workspace's path below it."""
        folder, rest = self.top, self.prefix
        while rest:
            yield folder, rest
            first, _, rest = rest.partition("/")
            folder /= first

    def config(self) -> tuple[tuple[str, str], ...]:
        """Returns the repository's settings, in order. Raises OSError."""
        found = _config_at(self.common, "config")
        if self.linked:
            found = tuple((name, value) for name, value in found if name not in _ELSEWHERE)
        own = dict(found).get("extensions.worktreeconfig", "").lower() == "true"
        return (*found, *(_config_at(self.own, "config.worktree") if own else ()))

    def head(self) -> str:
        """Returns what HEAD holds. Raises OSError."""
        return (read_git_file(self.own, "HEAD", MAX_CONFIG_BYTES) or b"").decode(errors="replace")


@dataclass(frozen=True, slots=True)
class NoRepository:
    """Why a folder has no repository that can be believed, and what a person can do."""

    why: str
    fix: str
    code: ErrorCode = ErrorCode.TOOL_UNAVAILABLE


def find_folders(root: Path) -> Folders | None:
    """Returns the folders of the repository that `root` belongs to; None if there is none that can be believed."""
    found = find_repository(root)
    return found if isinstance(found, Folders) else None


def find_repository(root: Path) -> Folders | NoRepository:
    """Returns the folders of the repository that the folder `root` belongs to, or why there are none."""
    if os.path.lexists(root / GIT):
        return _at(root)
    if is_repository(root):
        return NoRepository("the workspace is a bare repository, without files", _OPEN_THE_TOP, ErrorCode.NOT_FOUND)
    for top in folders_above(root, os.environ):
        if GIT in root.relative_to(top).parts or (not os.path.lexists(top / GIT) and is_repository(top)):
            break
        if os.path.lexists(top / GIT) and (not (top / GIT).is_dir() or is_repository(top / GIT)):
            return _above(root, top)
    why = "there is no `.git` in the workspace or above it"
    return NoRepository(why, f"{_OPEN_THE_TOP}, or have a person run `git init`", ErrorCode.NOT_FOUND)


def _at(top: Path) -> Folders | NoRepository:
    folder = top / GIT
    if folder.is_symlink():
        return NoRepository("`.git` is a link", "open the folder of the repository itself as the workspace")
    if folder.is_dir():
        return Folders(folder, folder, top)
    try:
        pointer = read_git_file(top, GIT, MAX_CONFIG_BYTES) or b""
    except OSError as error:
        return NoRepository(f"`.git` cannot be read: {error.strerror}", "check what it is, and its permissions")
    return resolve_pointer(top, pointer) or _not_believed(top, pointer)


def _above(root: Path, top: Path) -> Folders | NoRepository:
    found, prefix = _at(top), f"{root.relative_to(top).as_posix()}/"
    if isinstance(found, NoRepository):
        return NoRepository(f"the repository above, in `{top}`: {found.why}", found.fix, found.code)
    try:
        other = of_another_user((top, top / GIT, found.own, found.common))
    except OSError as error:
        return NoRepository(
            f"the repository above, in `{top}`, cannot be read: {error.strerror}", "check its permissions"
        )
    if other is not None:
        why = f"the repository above is not this user's own: `{other}` belongs to another user"
        return NoRepository(why, "ask its owner to open it, or make this user the owner (`chown`)")
    if not knows_files_in(found.own, prefix):
        why = f"the repository above, in `{top}`, knows no file of this folder"
        fix = "have a person `git add` a file of this folder to it, or run `git init` here"
        return NoRepository(why, fix, ErrorCode.NOT_FOUND)
    return replace(found, prefix=prefix)


def resolve_pointer(root: Path, pointer: bytes) -> Folders | None:
    """Returns the folders that `root`'s `.git` file, which holds `pointer`, leads to; None if they do not point
    back."""
    try:
        own = _named_by(root, pointer)
        return None if own is None else _worktree(root, own) or _submodule(root, own)
    except (OSError, RuntimeError):
        return None


def _named_by(root: Path, pointer: bytes) -> Path | None:
    """Returns the folder that a pointer names; None if it is no pointer. Raises OSError if there is none."""
    named = _POINTER.fullmatch(pointer)
    return None if named is None else root.joinpath(os.fsdecode(named[1])).resolve(strict=True)


def _not_believed(root: Path, pointer: bytes) -> NoRepository:
    try:
        own = _named_by(root, pointer)
    except (OSError, RuntimeError):
        why = "`.git` points to a repository that is not there"
        return NoRepository(why, "have a person run `git worktree repair` in the repository")
    if own is None:
        return NoRepository("`.git` is a file that does not point to a repository", "look at what it holds")
    where = "`.git` points to a repository elsewhere that does not point back here"
    if os.path.lexists(own / "commondir"):
        fix = "have a person run `git worktree repair`, or open the folder of the repository itself"
    else:
        fix = (
            "a person who has put the repository there (`--separate-git-dir`) can say so with"
            ' `git config core.worktree "$PWD"` in this folder; anybody else opens the repository itself'
        )
    return NoRepository(where, fix)


def _worktree(root: Path, own: Path) -> Folders | None:
    back, shared = read_git_file(own, "gitdir"), read_git_file(own, "commondir")
    common = own.parent.parent
    if back is None or shared is None or own.parent.name != "worktrees" or _path(own, shared).resolve() != common:
        return None
    if not is_repository(common) or (own.is_relative_to(root) and not common.is_relative_to(root)):
        return None  # a folder inside the project cannot vouch for a repository outside of it
    place = _path(own, back)
    return Folders(own, common, root) if place.name == GIT and place.parent.resolve() == root else None


def is_repository(folder: Path) -> bool:
    """Returns whether a folder is one that git keeps a repository in."""
    return all(os.path.lexists(folder / name) for name in ("HEAD", "objects", "refs"))


def _submodule(root: Path, own: Path) -> Folders | None:
    tree = _tree_of(own)
    return Folders(own, own, root) if tree and own.joinpath(tree).resolve() == root else None


def _tree_of(own: Path) -> str | None:
    """Returns the repository's `core.worktree`, the path of its working tree, if it is set. Raises OSError."""
    said = dict(_config_at(own, "config", errors="surrogateescape"))
    if said.get("extensions.worktreeconfig", "").lower() == "true":
        said |= dict(_config_at(own, "config.worktree", errors="surrogateescape"))
    return said.get("core.worktree")


def _top_of(own: Path) -> Path:
    """Returns the folder of the repository's working tree by its settings; its own folder if they name none."""
    try:
        return own.joinpath(_tree_of(own) or "").resolve()
    except (OSError, RuntimeError, ValueError):
        return own


def _config_at(folder: Path, name: str, errors: str = "replace") -> tuple[tuple[str, str], ...]:
    return parse_config((read_git_file(folder, name, MAX_CONFIG_BYTES) or b"").decode(errors=errors))


def _path(folder: Path, line: bytes) -> Path:
    return folder.joinpath(os.fsdecode(line.rstrip(b"\n")))


_MAX_INDEX_BYTES = 200_000_000


def folders_above(root: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the folders above `root` in which git looks for a repository, the nearest first."""
    ceilings = {Path(each) for each in environment.get("GIT_CEILING_DIRECTORIES", "").split(":") if each}
    for folder in root.parents:
        if folder in ceilings:
            return
        yield folder


def of_another_user(paths: tuple[Path, ...]) -> Path | None:
    """Returns the first of the paths that is not this user's own. Raises OSError."""
    return next((path for path in paths if path.lstat().st_uid != os.geteuid()), None)


def knows_files_in(own: Path, prefix: str) -> bool:
    """Returns whether the index in the repository's folder `own` has files below `prefix`, which ends with `/`."""
    try:
        status = (own / "index").stat()
    except OSError:
        return False
    return _knows(own, os.fsencode(prefix), (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=16)
def _knows(own: Path, prefix: bytes, state: tuple[int, int, int]) -> bool:
    """Does the work of `knows_files_in`; the index is read once for each `state` of the file."""
    del state
    try:
        data = read_git_file(own, "index", _MAX_INDEX_BYTES) or b""
        entries = read_joined(data, lambda name: read_git_file(own, name, _MAX_INDEX_BYTES) or b"")
        return any(name.startswith(prefix) for name, _ in entries)
    except (OSError, ValueError):
        return False


KEPT_S = 30.0
"""How old a survey may be, in seconds, in a search for nested repositories, which only a person makes."""


def nested_repositories(root: Path, survey: LookAgain) -> tuple[Folders, ...] | None:
    """Returns the repositories in folders below `root`; None if the tree is too large to be searched, or the system
    fails."""
    try:
        found = survey()
    except OSError:
        return None
    # A folder inside a `.git` folder is no nested repository.
    below = (each for each in found.repositories if each and GIT not in PurePosixPath(each).parts)
    return tuple(each for name in below for each in _repository_in(root / name)) if found.whole else None


def _repository_in(folder: Path) -> Iterator[Folders]:
    own = folder / GIT
    # If `.git` is a file, the repository is elsewhere: it is found there itself, or no command sees it.
    if own.is_dir() and not own.is_symlink() and is_repository(own):
        yield Folders(own, own, folder)
    elif is_repository(folder):
        yield Folders(folder, folder, folder)
