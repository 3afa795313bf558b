"""Files of the working tree in the form that git stores; links are stored as links, and no link is followed (GIT-02).

A file's bytes are stored as they are; if git would change them, the file is refused (GIT-03).

Filters are programs, so they are not run. Line ends are not converted: if git would convert them, the file is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from dulwich.index import (
    validate_path,
    validate_path_element_hfs,
    validate_path_element_ntfs,
)
from dulwich.objects import Blob

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.git.commit.attributes import Attributes, Value
from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.tools.git.commit.repository import RepositoryNow
from remit_server.workspace.content.files import read_image
from remit_server.workspace.content.text import Text, plain
from remit_server.workspace.git_config import Settings, is_on
from remit_server.workspace.git_index import IndexEntry, entry_of, times_of
from remit_server.workspace.paths.workspace_path import UNUSABLE, Workspace, WorkspacePath
from remit_server.workspace.ports import Documents

LINK, FILE, EXECUTABLE, SUBMODULE = 0o120000, 0o100644, 0o100755, 0o160000


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the form that git stores, and its entry in the index."""

    data: bytes
    entry: IndexEntry


def path_of(name: bytes) -> str:
    """Returns a name of the index as a path. Raises ToolError if the name could lead elsewhere or cannot be shown."""
    text = os.fsdecode(name)
    tricky = "\\" in text or not (validate_path(name, validate_path_element_ntfs) and _fits_a_mac(name))
    if tricky or not text or UNUSABLE.search(text):
        raise commit_refusal(
            f"the name {os.fsencode(text).decode(errors='replace')!r} cannot be committed", "rename the file"
        )
    return text


def _fits_a_mac(name: bytes) -> bool:
    return validate_path(name, validate_path_element_hfs)


@dataclass(slots=True)
class WorkingTree:
    """The files of a repository below the workspace's root."""

    workspace: Workspace
    documents: Documents
    repository: RepositoryNow
    attributes: Attributes
    _folders: dict[str, int | None] = field(default_factory=dict[str, int | None])

    def is_unchanged(self, path: str, known: IndexEntry) -> bool:
        """Returns whether the file is what the index knows and is open in no editor, judged by its status without
        reading it."""
        try:
            return self.documents.get(path) is None and self._unchanged(self.status(path), known)
        except FileNotFoundError:
            return False

    def changed(self, path: str, known: IndexEntry | None) -> Stored | None:
        """Returns the file if it differs from what the index knows, else None. Raises FileNotFoundError if the file
        does not exist, and ToolError if it cannot be stored as it is."""
        status = self.status(path)
        if known is not None and self._unchanged(status, known):
            self._must_be_saved(path, None)
            return None
        if stat.S_ISLNK(status.st_mode):
            data = os.fsencode(os.readlink(path.rpartition("/")[2], dir_fd=self._folder(path)))
        elif stat.S_ISREG(status.st_mode):
            data = read_image(self.workspace, self._at(path)).data
        else:
            raise commit_refusal(f"`{path}` is neither a file nor a link", "leave it out with `paths`")
        mode = self._mode(status.st_mode, known)
        sha = Blob.from_string(data).id.decode()
        if stat.S_ISREG(status.st_mode):
            self._must_be_saved(path, data)
        if known is not None and (sha, mode) == (known.id, known.mode):
            return None
        if mode != LINK and self._turned_only(path, data, known, mode):
            return None
        return Stored(data, entry_of(status, sha, mode))

    def status(self, path: str) -> os.stat_result:
        """Returns the status of `path` itself. Raises FileNotFoundError, also if a folder on the way is missing or a
        link."""
        folder = self._folder(path)
        if folder is None:
            raise FileNotFoundError(path)
        found = os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            raise FileNotFoundError(path)
        return found

    def close(self) -> None:
        """Closes the open folder."""
        for folder in self._folders.values():
            if folder is not None:
                os.close(folder)
        self._folders.clear()

    def _at(self, path: str) -> WorkspacePath:
        return WorkspacePath(path, self.workspace.root)

    def _folder(self, path: str) -> int | None:
        """Returns a descriptor of the folder of a path, or None. Only the last folder is kept open."""
        name = path.rpartition("/")[0]
        if name not in self._folders:
            self.close()
            try:
                self._folders[name] = self.workspace.open_folder(self._at(name or "."))
            except ToolError as error:
                if error.code not in {ErrorCode.NOT_FOUND, ErrorCode.STALE, ErrorCode.INVALID_ARGUMENTS}:
                    raise
                self._folders[name] = None
        return self._folders[name]

    def _mode(self, mode: int, known: IndexEntry | None) -> int:
        settings = self.repository.settings
        if stat.S_ISLNK(mode):
            return LINK
        if known is not None and known.mode == LINK and not is_on(settings, "core.symlinks", default=True):
            return LINK
        if not is_on(settings, "core.filemode", default=True):
            return known.mode if known is not None and known.mode in {FILE, EXECUTABLE} else FILE
        return EXECUTABLE if mode & 0o100 else FILE

    def _unchanged(self, status: os.stat_result, known: IndexEntry) -> bool:
        """Returns whether the file is the one the index knows, by the fields that git compares, and older than the
        index."""
        return (
            known.times == times_of(status)
            and status.st_mtime_ns < self.repository.index.written_ns
            and known.size == status.st_size & 0xFFFFFFFF
            and known.ino == status.st_ino & 0xFFFFFFFF
            and self._mode(status.st_mode, known) == known.mode
        )

    def _turned_only(self, path: str, data: bytes, known: IndexEntry | None, mode: int) -> bool:
        """Returns whether the file differs from the stored one only in line ends, as after a checkout for which git
        converts them.

        Raises ToolError if git would store something other than `data`.
        """
        said, settings = self.attributes.of(path), self.repository.settings
        if known is not None and mode == known.mode and line_ends_are_turned(data, said, settings):
            stored = Blob.from_string(data.replace(b"\r\n", b"\n")).id
            if stored.decode() == known.id:
                return True
        must_be_stored_as_it_is(path, data, said, settings)
        return False

    def _must_be_saved(self, path: str, data: bytes | None) -> None:
        document = self.documents.get(path)
        if document is None:
            return
        held = read_image(self.workspace, self._at(path)).data if data is None else data
        try:
            same = plain(document.text) == Text.decode(held, path).content
        except ToolError:
            same = False
        if not same:
            raise commit_refusal(
                f"`{path}` is not saved in the editor", "save it first", ErrorCode.STALE, retryable=True
            )


_CRLF = b"\r\n"
_CONVERTS = frozenset({"true", "input"})


def must_be_stored_as_it_is(path: str, data: bytes, attributes: Mapping[str, Value], settings: Settings) -> None:
    """Raises ToolError where git would store something other than `data` for the file at `path`."""
    program, encoding = attributes.get("filter"), attributes.get("working-tree-encoding")
    if isinstance(program, str):
        raise _refusal(path, f"git stores it through the filter `{program}`, which is a program")
    if isinstance(encoding, str) and encoding.upper() not in {"UTF-8", "UTF8"}:
        raise _refusal(path, f"git stores it in another encoding than {encoding}")
    if attributes.get("ident") is True and b"$Id" in data:
        raise _refusal(path, "git changes the `$Id$` in it")
    if line_ends_are_turned(data, attributes, settings):
        raise _refusal(path, "git would change its line ends (CRLF)")


def line_ends_are_turned(data: bytes, attributes: Mapping[str, Value], settings: Settings) -> bool:
    """Returns whether git would store `data` with other line ends; True if that is uncertain."""
    if _CRLF not in data:
        return False
    text = attributes.get("text", attributes.get("crlf"))
    if text is False:
        return False
    if text is True or text == "input" or (text is None and attributes.get("eol") in {"lf", "crlf"}):
        return True
    if text is None and settings.get("core.autocrlf", "").lower() not in _CONVERTS:
        return False
    # Git leaves binary files alone. A NUL makes a file binary for certain; other signs may not.
    return b"\0" not in data


def _refusal(path: str, why: str) -> ToolError:
    return ToolError(
        f"cannot commit `{path}`", why, "leave it out with `paths`; a person can commit it with git itself"
    )
