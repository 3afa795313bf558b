"""Adds one rule to the person's permission file, whole or not at all (APP-04)."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from remit_governance.errors import PolicyError
from remit_governance.permissions.permission_file import ListName, NoPlace, parse_permissions, with_rule
from remit_governance.permissions.permissions import PermissionConfig, PermissionRule
from remit_governance.policy.language.load import read_source


class NotKept(Exception):
    """The file is as it was; the message says why, and what to do."""


def keep_rule(file: Path, name: ListName, rule: PermissionRule) -> PermissionConfig:
    """Write the rule at the end of the file's list `name`, and return what the file says then. Raises NotKept.

    A link is followed: the file it leads to is replaced, in its own folder, with the mode it had. Another process that
    adds a rule at the same time waits.
    """
    place = Path(os.path.realpath(file))
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(place.parent) as folder:
            text = read_source(place).text if place.exists() else ""
            longer = with_rule(str(file), text, name, rule)
            if longer != text:
                _replace(place, longer.encode(), folder)
    except PolicyError as error:
        raise NotKept(f"the file has a mistake: {error.why}; mend it, or add the rule by hand") from None
    except NoPlace as error:
        raise NotKept(f"`{file}` was left as it is, because {error}; add the rule by hand") from None
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise NotKept(f"`{file}` cannot be written: {why}; make it writable, or add the rule elsewhere") from None
    return parse_permissions(str(file), longer)


@contextmanager
def _alone(folder: Path) -> Generator[int]:
    """The folder's descriptor, while no other Remit writes there."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def _replace(place: Path, data: bytes, folder: int) -> None:
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600
    temporary = f".{place.name}.{secrets.token_hex(8)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
