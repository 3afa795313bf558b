"""Makes checkpoints (effect): signs what a log holds now, and adds it to the log's checkpoint file, which lies outside
the database's folder (governance.md §7).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from remit_governance.audit.checkpoint import Checkpoint, SignedCheckpoint, make, public_key
from remit_governance.audit.database import Segment
from remit_governance.audit.keys import KeyVault
from remit_governance.canonical import digest_bytes
from remit_governance.errors import AuditError

Sign = Callable[[str], bytes]
"""From the digest of the line before (empty where there is none) to the new line."""


class CheckpointPlace(Protocol):
    """Where the lines of one log's checkpoints are."""

    def read(self) -> bytes | None:
        """All of it; None where there is nothing yet. Raises AuditError where it cannot be read."""
        ...

    def append(self, sign: Sign) -> None:
        """Add a line, durably; nobody else adds one meanwhile. Raises AuditError."""
        ...


class MemoryPlace:
    """The fake that ships."""

    def __init__(self, data: bytes | None = None) -> None:
        self.data = data

    def read(self) -> bytes | None:
        """What was added."""
        return self.data

    def append(self, sign: Sign) -> None:
        """Add a line."""
        self.data = (self.data or b"") + sign(_last_digest(self.data or b"")) + b"\n"


class CheckpointFile:
    """A file with mode 0600, in a folder with mode 0700."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> bytes | None:
        """The file's content. Raises AuditError where it is there and cannot be read."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            why = f"{self.path}: {(error.strerror or str(error)).lower()}"
            raise AuditError("the checkpoint file cannot be read", why, "make it readable for you") from error

    def append(self, sign: Sign) -> None:
        """Lock the file, add a line and bring it to the disk. A part of a line that a crash left is dropped first."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(fd, "r+b") as file:  # noqa: PTH123 a descriptor
                fcntl.flock(file, fcntl.LOCK_EX)
                data = file.read()
                whole = data.rfind(b"\n") + 1
                line = sign(_last_digest(data)) + b"\n"
                file.truncate(whole)
                file.seek(whole)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            why = f"{self.path}: {(error.strerror or str(error)).lower()}"
            raise AuditError("no checkpoint can be made", why, "make the file writable, with space left") from error


class Notary:
    """Vouches for one log: with a person's key, at that log's place for checkpoints."""

    def __init__(self, place: CheckpointPlace, vault: KeyVault) -> None:
        self.place, self._vault = place, vault
        self._key: bytes | None = None

    def prepare(self) -> bytes:
        """Get the key, which may take a while the first time. Raises AuditError."""
        self._key = self._key or self._vault.obtain()
        return self._key

    def vouch(self, segment: Segment, time_ms: int) -> SignedCheckpoint:
        """Sign what the log holds now, as its active segment says, and write it down. Raises AuditError."""
        key = self.prepare()
        made: list[SignedCheckpoint] = []

        def sign(previous: str) -> bytes:
            log, count, head, started = segment.log, segment.count, segment.last_hash, segment.started
            made.append(make(Checkpoint(log, count, head, started, time_ms, previous), key))
            return made[0].line

        self.place.append(sign)
        return made[0]

    def trusted(self) -> frozenset[str]:
        """The public keys whose signatures count. Raises AuditError where a key may be there and cannot be had."""
        return frozenset(map(public_key, self._vault.load()))


def _last_digest(data: bytes) -> str:
    lines = data.split(b"\n")[:-1]
    return digest_bytes(lines[-1]) if lines else ""
