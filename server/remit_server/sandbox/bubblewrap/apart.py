"""The folders of the host that a command sees, each behind an overlay of its own (BOX-11).

A socket of the host that lies in one of them can be connected to even where it is mounted read-only. Behind an overlay
it has another inode, by which the kernel finds nobody who listens. So a command whose every folder is behind one may
have UNIX sockets: those that it makes itself are found, and no other.
"""

from __future__ import annotations

import contextlib
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


def foreign_folders(workspace: Path, shown: Iterable[ReadOnlyMount]) -> frozenset[str]:
    """Returns every folder of the host that a command sees beside its workspace. Looks at what exists."""
    system = [folder for folder in map(Path, SYSTEM_FOLDERS) if folder.is_dir() and not folder.is_symlink()]
    named = [each.source for each in shown if each.source.is_dir()]
    return frozenset(map(str, (*system, *named, *mounts_below(workspace))))


def make_stand_ins(layer: Layer, folders: Iterable[str]) -> dict[str, str]:
    """Prepares an overlay for each folder, and returns where it is found once it is mounted. Raises OSError."""
    (layer.folder / "empty").mkdir(mode=0o700)
    places: dict[str, str] = {}
    for number, folder in enumerate(sorted(folders)):
        here = layer.folder / "shown" / str(number)
        (here / "at").mkdir(mode=0o700, parents=True)
        (here / "from").symlink_to(folder)
        places[folder] = str(here / "at")
    return places


def mounts_below(workspace: Path) -> Iterator[Path]:
    """Yields where other file systems are mounted inside the workspace: a layer over it does not show them."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            place = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split()[4]))
            if place != workspace and place.is_relative_to(workspace):
                yield place
