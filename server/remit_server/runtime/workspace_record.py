"""The id of a workspace's folder, kept in the person's state: another folder at the same path gets another
(APP-05)."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from remit_governance.permissions.permissions import WorkspaceIdentity
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.places import folder_identity
from remit_server.runtime.settings import Settings

_NAME = "workspace.json"


@dataclass(frozen=True, slots=True)
class _Record:
    id: str
    folder: str


def workspace_identity(settings: Settings) -> WorkspaceIdentity:
    """The workspace's identity as recorded; without an id where none is, or where it is another folder's."""
    record = _read(settings.state / _NAME)
    known = record is not None and record.folder == folder_identity(settings.workspace)
    return WorkspaceIdentity(str(settings.workspace), record.id if known and record is not None else None)


def record_workspace(settings: Settings) -> None:
    """Record an id for the workspace's folder, where there is none or that of another folder. Raises SetupError."""
    try:
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(settings.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)  # two servers that start at once agree on one id
            if workspace_identity(settings).id is None:
                record = {"id": f"w{secrets.token_hex(8)}", "folder": folder_identity(settings.workspace)}
                temporary = settings.state / f".{_NAME}.new"
                temporary.write_text(json.dumps(record), encoding="utf-8")
                temporary.replace(settings.state / _NAME)
        finally:
            os.close(fd)
    except OSError as error:
        raise SetupError(
            f"cannot write to `{settings.state}`",
            (error.strerror or type(error).__name__).lower(),
            "make it writable, or name another folder by REMIT_STATE_DIR",
            code=ErrorCode.AUDIT_BROKEN,
        ) from error


def _read(file: Path) -> _Record | None:
    try:
        value: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    match cast("dict[str, object]", value):
        case {"id": str(name), "folder": str(folder)}:
            return _Record(name, folder)
        case _:
            return None
