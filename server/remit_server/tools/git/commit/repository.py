"""The repository that a commit goes to, as it is now: head, index, objects and settings (GIT-02). It is refused in a
state in which a commit would mean something else. Of its settings only those that say how a tree is read are followed.

This module also parses git's index, and refuses one from which no commit can be made (GIT-02).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree

from remit_governance.secrets.cutting import shorten
from remit_server.errors import ToolError
from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.workspace.content.files import MAX_FILE_BYTES, digest_of, if_there
from remit_server.workspace.git_config import MAX_CONFIG_BYTES, Settings, is_on, settings_of
from remit_server.workspace.git_folder import GitFiles
from remit_server.workspace.git_index import LONGEST_NAME, IndexEntry, read_version, read_whole
from remit_server.workspace.git_linked import Folders, NoRepository, find_repository
from remit_server.workspace.git_objects import Objects, objects_of
from remit_server.workspace.paths.workspace_path import Workspace


def parse_index(data: bytes) -> tuple[dict[bytes, IndexEntry], int]:
    """Returns the staged entries by path, and the version of the format.

    Raises ToolError if no commit can be made from the index, and ValueError if the index is damaged.
    """
    entries, whole = read_whole(data)
    if not whole:
        raise commit_refusal("its index is split or sparse", "have a person run `git update-index --no-split-index`")
    for name, entry in entries:
        if entry.stage:
            raise commit_refusal("there are conflicts", "a person has to resolve them and `git add` the files")
        if len(name) > LONGEST_NAME or stat.S_ISDIR(entry.mode):
            raise commit_refusal("its index holds an entry that Remit does not support", "use git itself")
    return dict(entries), read_version(data)


def stages_the_same(before: bytes, after: bytes) -> bool:
    """Returns whether two indexes stage the same; False if one of them cannot be read. Their bytes may still differ,
    because git notes when it last looked at files, even if it only reads.
    """
    try:
        return _staged(before) == _staged(after)
    except Exception:  # the index may come from a command, so the parser may raise anything
        return False


def _staged(data: bytes) -> list[tuple[bytes, int, bytes, int, int]]:
    entries, _ = parse_index(data)
    return [(name, each.mode, each.sha, each.flags, each.extended_flags) for name, each in entries.items()]


_HEAD = re.compile(r"ref: (refs/heads/[^\x00-\x20\x7f~^:?*\[\\]+)\n?")
_SHA = re.compile(r"([0-9a-f]{40})\n?")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a sequence of picks",
}
_EXTENSIONS = frozenset({"worktreeconfig", "partialclone", "preciousobjects", "noop", "relativeworktrees"})
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change")
_LARGEST_TREE = 500_000
_MOST_FOLDERS = 50_000
_LONGEST_NAMES = 100_000_000

T = TypeVar("T")
Entry = tuple[int, str]
"""A file of a tree: its mode as git writes it, and the id of its content."""


@dataclass(frozen=True, slots=True)
class Index:
    """The staged entries: those of the workspace by path, and those `outside` it by the path in the repository.
    `digest` is that of the index file, None where there is none."""

    entries: Mapping[bytes, IndexEntry]
    outside: Mapping[bytes, IndexEntry]
    version: int
    digest: str | None
    written_ns: int


@dataclass(frozen=True, slots=True)
class RepositoryNow:
    """A repository at one moment. `ref` is None if HEAD is detached, `parent` is None if there is no commit yet."""

    git: GitFiles
    settings: Settings
    head: bytes
    ref: str | None
    parent: str | None
    index: Index
    objects: Objects
    hooks: tuple[str, ...]

    @property
    def prefix(self) -> bytes:
        """The workspace's path in the repository, with a final `/`, or empty."""
        return os.fsencode(self.git.folders.prefix)

    def committed(self) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
        """Returns every file of the last commit: those of the workspace, and those outside it by the path in the
        repository.

        Raises ToolError if the commit cannot be read, or if a file is in the place of the workspace or of a folder
        above it.
        """
        inside, outside = _split(self._committed(), self.prefix)
        above = next((name for name in (*outside, *self.index.outside) if self.prefix.startswith(name + b"/")), None)
        if above is not None:
            why = f"the repository has a file where the folder `{os.fsdecode(above)}` should be"
            raise commit_refusal(why, "a person has to commit here with git itself")
        return inside, outside

    def _committed(self) -> dict[bytes, Entry]:
        if self.parent is None:
            return {}
        commit = self.object(self.parent)
        if not isinstance(commit, Commit):
            raise commit_refusal("HEAD is not a commit", "look at the repository with git")
        try:
            return self._files_of(commit.tree.decode())
        except Exception as error:
            raise _unreadable(error) from error

    def _files_of(self, root: str) -> dict[bytes, Entry]:
        """Returns the files of a tree. Raises ToolError beyond some limits, because a few objects can stand for more
        files and folders than time and memory allow."""
        found: dict[bytes, Entry] = {}
        folders, length = 0, 0
        pending = [(b"", root)]
        while pending:
            prefix, sha = pending.pop()
            tree = self.object(sha)
            if not isinstance(tree, Tree):
                raise commit_refusal(f"the object {sha} is not a tree", "have a person run `git fsck`")
            folders += 1
            for entry in tree.iteritems():
                path = prefix + entry.path
                length += len(path)
                if stat.S_ISDIR(entry.mode):
                    pending.append((path + b"/", entry.sha.decode()))
                else:
                    found[path] = (entry.mode, entry.sha.decode())
                if folders + len(pending) > _MOST_FOLDERS or len(found) > _LARGEST_TREE or length > _LONGEST_NAMES:
                    raise commit_refusal("its tree is too large", "use git itself")
        return found

    def object(self, sha: str) -> ShaFile:
        """Returns the object with that id. Raises ToolError if it is missing or broken."""
        try:
            return self.objects[ObjectID(sha.encode())]
        except Exception as error:  # a broken file can make the library raise anything
            raise _unreadable(error) from error

    def blob(self, sha: str) -> bytes:
        """Returns the content of the file object with that id. Raises ToolError, also if it is too large to be
        shown."""
        found = self.object(sha)
        if not isinstance(found, Blob) or found.raw_length() > MAX_FILE_BYTES:
            raise commit_refusal(
                f"the object {sha} is not a file, or is larger than {MAX_FILE_BYTES} bytes", "use git itself"
            )
        return found.data

    def holds(self, sha: str) -> bool:
        """Returns whether the repository already has the object."""
        return ObjectID(sha.encode()) in self.objects


def _split(files: Mapping[bytes, T], prefix: bytes) -> tuple[dict[bytes, T], dict[bytes, T]]:
    """Returns the files below `prefix`, without the prefix, and all others."""
    inside = {name.removeprefix(prefix): value for name, value in files.items() if name.startswith(prefix)}
    return inside, {name: value for name, value in files.items() if not name.startswith(prefix)} if prefix else {}


def whole(inside: Mapping[bytes, T], outside: Mapping[bytes, T], prefix: bytes) -> dict[bytes, T]:
    """Returns all files by their paths in the repository; `inside` are those of the workspace, which is at `prefix`."""
    return {**{prefix + name: value for name, value in inside.items()}, **outside}


def folders_of(workspace: Workspace) -> Folders:
    """Returns the folders of the workspace's repository. Raises ToolError if there is none that can be trusted."""
    found = find_repository(workspace.root)
    if isinstance(found, NoRepository):
        raise commit_refusal(found.why, found.fix, found.code)
    return found


def open_for_commit(git: GitFiles) -> RepositoryNow:
    """Returns the repository whose files are `git`. Raises ToolError if nothing can be committed to it."""
    try:
        settings = settings_of(git.folders.own, git.folders.config(), os.environ)
    except OSError as error:
        raise commit_refusal(f"its settings cannot be read: {error.strerror}", "check its permissions") from error
    _must_be_plain(settings, git)
    _must_be_at_rest(git)
    head = git.read("HEAD", MAX_CONFIG_BYTES) or b""
    ref, parent = _head(git, head.decode(errors="replace"))
    return RepositoryNow(
        git, settings, head, ref, parent, _index(git), _objects(git), tuple(_active_hooks(git, settings))
    )


def _must_be_plain(settings: Settings, git: GitFiles) -> None:
    for name, value in settings.items():
        extension = name.removeprefix("extensions.")
        plain = (extension, value.lower()) in {("objectformat", "sha1"), ("refstorage", "files")}
        if extension != name and extension not in _EXTENSIONS and not plain:
            raise commit_refusal(f"Remit does not support its format ({name} = {value})", "use git itself")
    if settings.get("core.repositoryformatversion", "0") not in {"0", "1"} or is_on(settings, "core.bare"):
        raise commit_refusal("it is bare, or of a version that Remit does not support", "use git itself")
    if "core.worktree" in settings and not _is_here(settings["core.worktree"], git):
        raise commit_refusal("`core.worktree` puts its files elsewhere", "open that folder's own repository")
    if settings.get("core.sharedrepository", "umask").lower() not in {"umask", "false", "0"}:
        raise commit_refusal("`core.sharedRepository` asks for permissions that Remit does not set", "use git itself")
    if is_on(settings, "commit.gpgsign"):
        raise commit_refusal(
            "`commit.gpgSign` is on, and signing would start a program with a key of the person's",
            "have the person commit with git itself, or set `commit.gpgSign` to false for this repository",
        )


def _is_here(tree: str, git: GitFiles) -> bool:
    try:
        return git.folders.own.joinpath(tree).resolve() == git.folders.top
    except (OSError, RuntimeError, ValueError):
        return False


def _must_be_at_rest(git: GitFiles) -> None:
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(git.absolute(name)):
            raise commit_refusal(f"{what} is under way", "a person has to finish or abort it first")


def _head(git: GitFiles, text: str) -> tuple[str | None, str | None]:
    if detached := _SHA.fullmatch(text):
        return None, detached[1]
    named = _HEAD.fullmatch(text)
    ref = named[1] if named else ""
    if not ref or ".." in ref or "//" in ref or "@{" in ref or not all(map(_is_ref_name, ref.split("/"))):
        raise commit_refusal("HEAD names no branch", "look at the repository with git")
    parent = git.read_ref(ref)
    if parent is None:
        above = {"/".join(ref.split("/")[:length]) for length in range(3, ref.count("/") + 1)}
        if any(other in above or other.startswith(ref + "/") for other in git.read_packed_refs()):
            raise commit_refusal(
                f"another branch's name is in the way of `{ref}`", "choose another name for the branch"
            )
    return ref, parent


def _is_ref_name(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not name.endswith((".", ".lock"))


def _objects(git: GitFiles) -> Objects:
    for name in ("objects", "objects/pack", "refs", "refs/heads"):
        if (folder := if_there(partial(git.open_folder, name))) is not None:
            os.close(folder)
    if (git.read("objects/info/alternates") or b"").strip():
        raise commit_refusal("its objects are in another repository too (alternates)", "use git itself")
    return objects_of(git)


def _index(git: GitFiles) -> Index:
    data = git.read("index")
    if data is None:
        return Index({}, {}, 2, None, 0)
    written_ns = git.absolute("index").lstat().st_mtime_ns
    try:
        entries, version = parse_index(data)
    except Exception as error:
        raise _unreadable(error) from error
    inside, outside = _split(entries, os.fsencode(git.folders.prefix))
    return Index(inside, outside, version, digest_of(data), written_ns)


def _active_hooks(git: GitFiles, settings: Settings) -> Iterator[str]:
    if path := settings.get("core.hookspath"):
        yield f"those in {path}"
    folder = git.absolute("hooks")
    for name in _HOOKS:
        if os.access(folder / name, os.X_OK):
            yield name


def _unreadable(error: Exception) -> ToolError:
    if isinstance(error, ToolError):
        return error
    why = shorten(str(error), 200) or type(error).__name__
    return commit_refusal(f"the repository cannot be read: {why}", "have a person run `git fsck`")
