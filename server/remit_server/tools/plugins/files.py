"""The files that a plugin is made of, read all or not at all, and what tells them from others (PLG-02)."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit_governance.canonical import digest
from remit_governance.visible import without_hidden
from remit_server.errors import os_reason
from remit_server.tools.plugins.manifest import MANIFEST, Manifest, parse_manifest, unusable

MAX_FILES = 500
MAX_BYTES = 8 << 20
_DEEPEST = 12
_LEFT_OUT = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class PluginFile:
    """One of them."""

    data: bytes
    executable: bool

    @property
    def digest(self) -> str:
        """What tells it from another."""
        return f"{hashlib.sha256(self.data).hexdigest()}{' executable' if self.executable else ''}"


Files = Mapping[str, PluginFile]


def read_files(folder: Path, *, source: bool = False) -> Files:
    """Returns all files below a folder, by their relative paths. Of a `source` what is hidden, or made by running it,
    is left out. Raises SetupError."""
    found: dict[str, PluginFile] = {}
    left = MAX_BYTES
    for name, path in _walk(folder, "", source=source):
        data, executable = _read(path, left)
        left -= len(data)
        found[name] = PluginFile(data, executable)
        if len(found) > MAX_FILES or left < 0:
            why = f"`{folder}` holds more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
            raise unusable(why, "leave out what it does not need")
    return found


def digest_of(files: Files) -> str:
    """Returns what tells a plugin from another one: its manifest and every file."""
    return digest({name: file.digest for name, file in files.items()})


def manifest_of(folder: Path, files: Files) -> Manifest:
    """Returns what a plugin says of itself. Raises SetupError with the place of what is wrong."""
    place = folder / MANIFEST
    if MANIFEST not in files:
        raise unusable(f"there is no `{place}`", "write one: docs/plugins.md says how")
    try:
        text = files[MANIFEST].data.decode()
    except UnicodeDecodeError as error:
        raise unusable(f"`{place}` is no UTF-8", "save it as UTF-8") from error
    manifest = parse_manifest(str(place), text)
    if manifest.entry not in files:
        raise unusable(f"`{place}` names `{manifest.entry}`, which is not there", "correct `entry`")
    if manifest.runtime == "program" and not files[manifest.entry].executable:
        raise unusable(f"`{folder / manifest.entry}` is no program that can be run", "`chmod +x` it")
    return manifest


def _walk(folder: Path, above: str, *, source: bool, depth: int = 0) -> Iterator[tuple[str, Path]]:
    if depth > _DEEPEST:
        raise unusable(f"`{folder}` is deeper than {_DEEPEST} folders", "leave out what it does not need")
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise unusable(f"`{folder}`: {os_reason(error)}", "name a folder that can be read") from error
    for entry in listed:
        if source and (entry.name.startswith(".") or entry.name in _LEFT_OUT):
            continue
        name, path = f"{above}{entry.name}", Path(entry.path)
        if without_hidden(name) != name or not name.isprintable():
            raise unusable(f"a file in `{folder}` has a name that cannot be shown", "rename it")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, f"{name}/", source=source, depth=depth + 1)
        else:
            yield name, path


def _read(path: Path, most: int) -> tuple[bytes, bool]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise unusable(f"`{path}` is no file", "remove it: a plugin is made of files")
            return file.read(most + 1), bool(status.st_mode & 0o100)
    except OSError as error:
        why = "it is a link" if path.is_symlink() else os_reason(error)
        raise unusable(f"`{path}`: {why}", "remove it, or make it a file that can be read") from error
