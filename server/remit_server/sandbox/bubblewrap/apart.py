"""Puts each folder of the host that a command sees behind an overlay of its own (BOX-11).

A command can connect to a socket of the host in such a folder, even if the folder is mounted read-only. Behind an
overlay the socket has another inode, for which the kernel finds no listener. So a command may have UNIX sockets if all
folders that it sees are behind overlays: it reaches the sockets that it makes itself, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from remit_server.sandbox.bubblewrap.layer import Layer
from remit_server.sandbox.visible.environment import SYSTEM_FOLDERS
from remit_server.sandbox.visible.toolchains import ReadOnlyMount

MOUNT_STAND_INS = (
    'for each in "$layer"/shown/*/; do [ -d "$each" ] || continue; '
    'mount -t overlay overlay -o "lowerdir=$each/from:$layer/empty" "$each/at" || exit; done; '
)
"""The part of a shell script that mounts what `make_stand_ins` has prepared in the folder `$layer`."""

_OCTAL = re.compile(r"\\([0-7]{3})")


def foreign_folders(workspace: Path, shown: Iterable[ReadOnlyMount]) -> frozenset[str] | None:
    """Returns the folders of the host that a command sees besides its workspace, or None if overlays could not show all
    of them: another file system is mounted inside one, or a file is mounted in the workspace. Looks at which exist.
    """
    system = [folder for folder in map(Path, SYSTEM_FOLDERS) if folder.is_dir() and not folder.is_symlink()]
    named = [each.source for each in shown if each.source.is_dir()]
    places = _mounts()
    own = [place for place in places if _is_inside(place, workspace)]
    shadowed = any(_is_inside(place, folder) for place in places for folder in (*system, *named, *own))
    if shadowed or any(not place.is_dir() for place in own):
        return None
    return frozenset(map(str, (*system, *named, *own)))


def make_stand_ins(layer: Layer, folders: Iterable[str]) -> dict[str, str]:
    """Prepares an overlay for each folder, and returns by folder where it will be mounted. Raises OSError."""
    (layer.folder / "empty").mkdir(mode=0o700)
    places: dict[str, str] = {}
    for number, folder in enumerate(sorted(folders)):
        here = layer.folder / "shown" / str(number)
        (here / "at").mkdir(mode=0o700, parents=True)
        (here / "from").symlink_to(folder)
        places[folder] = str(here / "at")
    return places


def mounts_below(folder: Path) -> Iterator[Path]:
    """Yields the places inside a folder at which other file systems are mounted; a layer over it does not show them."""
    return (place for place in _mounts() if _is_inside(place, folder))


def _is_inside(place: Path, folder: Path) -> bool:
    return place != folder and place.is_relative_to(folder)


def _mounts() -> tuple[Path, ...]:
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ()
    return tuple(Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split()[4])) for line in lines)
