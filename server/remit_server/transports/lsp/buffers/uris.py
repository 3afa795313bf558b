"""Finds the path of a `file:` URI, or the reason why a workspace folder is not on this machine (RFC 3986; LSP-06)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:  # errors import the contract, which is slow
    from remit_server.errors import RemitError

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:[?#].*)?", re.DOTALL)
_HERE = frozenset({"", "localhost"})
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder on this machine, which may not exist."""

    path: Path


@dataclass(frozen=True, slots=True)
class NotHere:
    """A folder that is not on this machine's disk, with the reason and the fix."""

    uri: str
    why: str
    fix: str

    def error(self) -> RemitError:
        """Returns the error for a request that needs this folder."""
        from remit_server.errors import SetupError

        return SetupError(f"there is no folder to work in at `{self.uri[:_SHOWN]}`", self.why, self.fix)


Root: TypeAlias = LocalFolder | NotHere

_ELSEWHERE = {
    "untitled": (
        "it is only in the editor and has not been saved to a disk",
        "save it into a folder, and open that folder in the editor",
    ),
    "vscode-remote": (
        "it is on the machine at the other end of the editor's connection, and this server runs on this one",
        "install Remit on that machine: in the window that is connected to it, install the extension there",
    ),
    "vscode-vfs": (
        "it is shown by the editor without a copy on a disk",
        "clone the repository, and open the clone in the editor",
    ),
}
"""The schemes that editors use for workspace folders, with their meanings."""


def file_path(uri: str) -> str | None:
    """Returns the path of a `file:` URI, or None for any other URI and for files of other machines."""
    found = classify_root(uri)
    return str(found.path) if isinstance(found, LocalFolder) else None


def classify_root(uri: str) -> Root:
    """Returns the folder of a URI, without access to the disk."""
    parts = _URI.fullmatch(uri)
    if parts is None:
        return NotHere(uri, "this is not a URI", "let the editor name the folder as `file:///PATH`")
    scheme, host, path = parts[1].lower(), (parts[2] or "").lower(), parts[3]
    if scheme != "file":
        why, fix = _ELSEWHERE.get(
            scheme, (f"`{scheme}:` names no file of this machine", "open a folder on this machine")
        )
        return NotHere(uri, why, fix)
    if host not in _HERE:
        why = f"it is on another machine, `{host[:_SHOWN]}`"
        return NotHere(uri, why, "mount it and open the folder where it is mounted, or run Remit on that machine")
    try:
        return local_folder(os.fsdecode(unquote_to_bytes(path)), uri)
    except UnicodeEncodeError:  # half of a surrogate pair, which no path contains
        return local_folder("", uri)


def local_folder(path: str, name: str) -> Root:
    """Returns the folder of a local path; `name` is the editor's name for it."""
    if not path.startswith("/") or "\0" in path:
        return NotHere(name, "its path is not one of this machine", "let the editor name the folder as `file:///PATH`")
    return LocalFolder(Path(path))
