"""What of the system a command sees: its folders, mounted as they are (BOX-02)."""

from __future__ import annotations

# Names, not paths: this runs before each command.
# ruff: noqa: PTH112, PTH114, PTH115
import os
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType


def system_options(folders: Iterable[str], stand_ins: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Those of the folders that exist, as they are, to be read; of a folder with a stand-in, that."""
    options: list[str] = []
    for folder in folders:
        if os.path.islink(folder):
            options += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            options += ["--ro-bind", stand_ins.get(folder, folder), folder]
    return options


def existing_folders(names: Iterable[str]) -> Iterator[str]:
    """Those that there are; most of those that are looked for are not."""
    return filter(os.path.exists, names)
