"""The folders where Remit keeps things, and how one workspace's folder is told from another (CFG-01, APP-05)."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path, user_data_path, user_state_path

_AT_FDCWD, _STATX_BTIME, _BTIME_AT = -100, 0x800, 80
_STATX_BYTES = 256


def config_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder of the person's policy, permissions, prompts and configuration."""
    return Path(environment.get("REMIT_CONFIG_DIR") or user_config_path("remit")).absolute()


def state_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder of the states of all workspaces, with their audit logs, one folder each."""
    return Path(environment.get("REMIT_STATE_DIR") or user_state_path("remit")).absolute()


def data_folder(environment: Mapping[str, str]) -> Path | None:
    """Returns the folder of checkpoints; None if only the state folder was moved, beside which they are then."""
    if named := environment.get("REMIT_DATA_DIR"):
        return Path(named).absolute()
    return None if environment.get("REMIT_STATE_DIR") else user_data_path("remit").absolute()


def workspace_state(root: Path, environment: Mapping[str, str]) -> Path:
    """Returns the folder of one workspace's state."""
    return state_folder(environment) / workspace_key(root)


def workspace_key(root: Path) -> str:
    """Returns a folder name for a workspace: readable, and distinct for distinct paths."""
    return f"{root.name or 'root'}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"


def folder_identity(folder: Path) -> str:
    """Returns a text that differs for another folder at the same path: time of birth and inode, or else device and
    inode.

    Device numbers change between starts of some systems, so they count only if no time of birth is known.
    Raises OSError.
    """
    status = folder.stat()
    born = _birth(folder)
    return f"device {status.st_dev} inode {status.st_ino}" if born is None else f"born {born} inode {status.st_ino}"


def _birth(folder: Path) -> str | None:
    if sys.platform == "darwin":
        return f"{folder.stat().st_birthtime}"
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(folder), 0, _STATX_BTIME, answer) != 0:
        return None
    seconds = int.from_bytes(answer.raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    nanoseconds = int.from_bytes(answer.raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder)
    has_it = int.from_bytes(answer.raw[:4], sys.byteorder) & _STATX_BTIME
    return f"{seconds}.{nanoseconds:09}" if has_it and seconds > 0 else None
