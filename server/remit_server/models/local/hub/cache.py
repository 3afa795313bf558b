"""The Hugging Face cache on this machine, in the layout of the hub's own client, so that all programs share it; and
names of models on the hub: `org/name`, with `@revision` unless it is the main one.

`models--org--name/` holds `blobs/HASH`, `snapshots/COMMIT/FILE` (links to blobs) and `refs/REVISION` (a commit). A
blob exists only when it is complete and its hash is verified; a partial download is `blobs/HASH.incomplete`.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}")
_FOLDER = "models--"


@dataclass(frozen=True, slots=True)
class CachedRepo:
    """One repository's part of the cache. It need not exist."""

    folder: Path

    def blob(self, name: str) -> Path:
        """Returns the path of a complete file, by its hash."""
        return self.folder / "blobs" / name

    def unfinished(self, name: str) -> Path:
        """Returns the path of a partial download, by its hash."""
        return self.folder / "blobs" / f"{name}.incomplete"

    def snapshot(self, commit: str) -> Path:
        """Returns the folder of a commit's files under their own names."""
        return self.folder / "snapshots" / commit

    def commit_of(self, revision: str) -> str | None:
        """Returns the commit that a branch or tag named when it was last fetched; a commit names itself."""
        if is_commit(revision):
            return revision
        with suppress(OSError, UnicodeDecodeError):
            commit = (self.folder / "refs" / revision).read_text(encoding="ascii").strip()
            return commit if is_commit(commit) else None
        return None

    def link(self, commit: str, name: str, blob: str) -> None:
        """Links a blob under its name in a commit. Raises OSError."""
        target = self.snapshot(commit) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(target, lambda path: path.symlink_to(os.path.relpath(self.blob(blob), target.parent)))

    def remember(self, revision: str, commit: str) -> None:
        """Records the commit of a branch or tag. Raises OSError."""
        if is_commit(revision):
            return
        target = self.folder / "refs" / revision
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(target, lambda path: path.write_text(commit, encoding="ascii"))


def is_commit(text: str) -> bool:
    """Returns whether the text is a commit's full hash."""
    return _COMMIT.fullmatch(text) is not None


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder of the hub's models, by the variables that its own client reads."""
    if named := environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE"):
        return Path(os.path.expandvars(named)).expanduser().absolute()
    if home := environment.get("HF_HOME"):
        return Path(os.path.expandvars(home)).expanduser().absolute() / "hub"
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "huggingface" / "hub"


def cached_repo(cache: Path, repo: str) -> CachedRepo:
    """Returns the cache's part for `org/name`."""
    return CachedRepo(cache / f"{_FOLDER}{repo.replace('/', '--')}")


def find_snapshot(cache: Path, name: HubName) -> Path | None:
    """Returns the folder of a fetched model, complete or not, or None if no part of it was fetched."""
    repo = cached_repo(cache, name.repo)
    commit = repo.commit_of(name.revision)
    folder = repo.snapshot(commit) if commit is not None else None
    return folder if folder is not None and folder.is_dir() else None


def cached_models(cache: Path) -> Iterator[tuple[HubName, Path]]:
    """Yields every model in the cache with its folder: by branch or tag where it has one, else by commit."""
    for folder in sorted(cache.glob(f"{_FOLDER}*--*")):
        repo, name = CachedRepo(folder), folder.name.removeprefix(_FOLDER).replace("--", "/", 1)
        refs = folder / "refs"
        named = {ref.relative_to(refs).as_posix() for ref in sorted(refs.rglob("*")) if ref.is_file()}
        meant = {revision: commit for revision in sorted(named) if (commit := repo.commit_of(revision))}
        others = {path.name for path in (folder / "snapshots").glob("*") if is_commit(path.name)} - set(meant.values())
        for revision in (*meant, *sorted(others)):
            found = HubName(name, revision)
            if (path := find_snapshot(cache, found)) is not None:
                yield found, path


def _put(target: Path, make: Callable[[Path], object]) -> None:
    """Creates a file under a temporary name and renames it, so that the file is never incomplete."""
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
    try:
        make(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


MAIN = "main"
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(rf"(?P<repo>{_PART}/{_PART})(?:@(?P<revision>{_PART}(?:/{_PART})*))?")


@dataclass(frozen=True, slots=True)
class HubName:
    """A repository of the hub at a revision: a branch, a tag or a commit."""

    repo: str
    revision: str = MAIN

    def __str__(self) -> str:
        return self.repo if self.revision == MAIN else f"{self.repo}@{self.revision}"


def hub_name(reference: str) -> HubName | None:
    """Returns the name that `reference` spells; None for other references, such as `./folder`, `/folder` or `folder`.

    An existing folder of that name does not matter, because no folder in the workspace may replace a model.
    """
    found = _NAME.fullmatch(reference)
    if found is None or ".." in reference:
        return None
    return HubName(found["repo"], found["revision"] or MAIN)
