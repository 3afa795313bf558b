"""Makes the image that commands run in unless the person names one: empty folders on which this system's own programs
are mounted (BOX-07).
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

from remit_server.sandbox.bubblewrap.bubblewrap_options import ETC, GROUP, PASSWD
from remit_server.sandbox.visible.environment import SCRATCH, SYSTEM_FOLDERS, places_of
from remit_server.sandbox.visible.toolchains import folders_above

_FOLDERS = ("/usr", "/etc", "/proc", "/sys", "/dev", "/run", "/var")


def system_image(system: Iterable[str] = SYSTEM_FOLDERS, passed: Iterable[Path] = ()) -> tuple[str, bytes]:
    """Returns the image's name, which changes with its content, and a tar file of it.

    Folders of `system` that are links on this machine become links in the image. The `passed` folders, which only lead
    to a mount, cannot be listed inside.
    """
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in _FOLDERS:
            tar.addfile(_tar_entry(name, tarfile.DIRTYPE, 0o755))
        tar.addfile(_tar_entry(SCRATCH, tarfile.DIRTYPE, 0o1777))
        for path in passed:
            if str(path) not in _FOLDERS and not any(map(path.is_relative_to, (SCRATCH, *SYSTEM_FOLDERS))):
                tar.addfile(_tar_entry(str(path), tarfile.DIRTYPE, 0o111))
        for folder in map(Path, system):
            if folder.is_symlink():
                link = _tar_entry(str(folder), tarfile.SYMTYPE, 0o777)
                link.linkname = str(folder.readlink())
                tar.addfile(link)
        for name, content in (("/etc/passwd", PASSWD), ("/etc/group", GROUP)):
            entry = _tar_entry(name, tarfile.REGTYPE, 0o644)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    digest = hashlib.sha256(data.getvalue()).hexdigest()[:12]
    return f"localhost/remit-system:{digest}", data.getvalue()


def image_here() -> tuple[str, bytes]:
    """Returns the image with the folders above every toolchain of the person, because the runtime itself would make
    them listable."""
    return system_image(passed=folders_above(places_of(os.environ)))


def system_paths() -> tuple[Path, ...]:
    """Returns what is mounted on the image: this system's programs, and the few files of /etc that they need."""
    folders = (Path(name) for name in SYSTEM_FOLDERS)
    files = (Path("/etc", name) for name in ETC)
    return (*(f for f in folders if f.is_dir() and not f.is_symlink()), *(f for f in files if f.exists()))


def _tar_entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.type, entry.mode = kind, mode
    return entry
