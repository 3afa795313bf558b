"""Makes checkpoints (effect): signs what a log holds now, and adds it to the log's checkpoint file, which lies outside
the database's folder (AUD-04).
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from remit_governance.audit.log.database import Segment
from remit_governance.audit.proof.checkpoint import Checkpoint, SignedCheckpoint, Signer, make, read_line
from remit_governance.audit.proof.head import Head
from remit_governance.audit.proof.head_file import HeadStore, StoredHead
from remit_governance.audit.proof.keys import KeyVault
from remit_governance.canonical import digest_bytes
from remit_governance.errors import AuditError

_LINES_END = 64 * 1024
"""Bytes that hold more than the longest line, and a part of one that a crash left."""

Sign = Callable[[str], bytes]
"""From the digest of the line before (empty where there is none) to the new line."""


class CheckpointPlace(Protocol):
    """Where the lines of one log's checkpoints are."""

    def read(self) -> bytes | None:
        """Returns all of it; None where there is nothing yet. Raises AuditError where it cannot be read."""
        ...

    def append(self, sign: Sign) -> None:
        """Add a line, durably; nobody else adds one meanwhile. Raises AuditError."""
        ...


class MemoryPlace:
    """The fake that ships."""

    def __init__(self, data: bytes | None = None) -> None:
        self.data = data

    def read(self) -> bytes | None:
        """Returns what was added."""
        return self.data

    def append(self, sign: Sign) -> None:
        """Add a line."""
        self.data = (self.data or b"") + sign(_last_digest(self.data or b"")) + b"\n"


class CheckpointFile:
    """A file with mode 0600, in a folder with mode 0700."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> bytes | None:
        """Returns the file's content. Raises AuditError where it is there and cannot be read."""
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
                # The last line is all that is needed of a file that grows for as long as the log does.
                begin, data = _end_of(file)
                whole = data.rfind(b"\n") + 1
                line = sign(_last_digest(data)) + b"\n"
                file.truncate(begin + whole)
                file.seek(begin + whole)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            why = f"{self.path}: {(error.strerror or str(error)).lower()}"
            raise AuditError("no checkpoint can be made", why, "make the file writable, with space left") from error


class Notary:
    """Vouches for one log with a person's key: with checkpoints and, where `heads` keeps one, a head."""

    def __init__(self, place: CheckpointPlace, vault: KeyVault, heads: HeadStore | None = None) -> None:
        self.place, self._vault, self.heads = place, vault, heads
        self._preparing = threading.Lock()
        self.signer: Signer | None = None
        """None until `prepare` has the key."""

    def prepare(self) -> Signer:
        """Get the key, which may take a while the first time. Raises AuditError."""
        with self._preparing:
            self.signer = self.signer or Signer(self._vault.obtain())
            return self.signer

    def vouch(self, segment: Segment, time_ms: int) -> SignedCheckpoint:
        """Sign what the log holds now, as its active segment says, and write it down. Raises AuditError."""
        log, count, head, started = segment.log, segment.count, segment.last_hash, segment.started
        return self._add(lambda previous: Checkpoint(log, count, head, started, time_ms, previous))

    def keep(self, head: Head) -> SignedCheckpoint:
        """Make a head, which the next one replaces, into a checkpoint, which stays. Raises AuditError."""
        return self._add(head.checkpoint)

    def last_said(self) -> Mapping[str, str]:
        """Returns what head and checkpoints last said, unchecked, in words for a record; nothing where they cannot be
        read."""
        with suppress(AuditError, ValueError):
            stored = StoredHead.read((self.heads.read() if self.heads else None) or b"").signed
            if stored is not None:
                return {"log": stored.head.log, "count": str(stored.head.count), "head": stored.head.head}
            _, _, line = (self.place.read() or b"").rstrip(b"\n").rpartition(b"\n")
            said = read_line(line).checkpoint if line else None
            return {"log": said.log, "count": str(said.count), "head": said.head} if said else {}
        return {}

    def trusted(self) -> frozenset[str]:
        """Returns the public keys whose signatures count. Raises AuditError where a key may be there and cannot be
        had."""
        return frozenset(self.signers())

    def signers(self) -> Mapping[str, Signer]:
        """Returns the keys themselves, by their public halves. Raises AuditError as `trusted` does."""
        return {signer.key: signer for signer in map(Signer, self._vault.load())}

    def _add(self, said: Callable[[str], Checkpoint]) -> SignedCheckpoint:
        signer = self.prepare()
        made: list[SignedCheckpoint] = []

        def sign(previous: str) -> bytes:
            made.append(make(said(previous), signer))
            return made[0].line

        self.place.append(sign)
        return made[0]


def _end_of(file: BinaryIO) -> tuple[int, bytes]:
    """Returns where the last lines of a checkpoint file begin, and all from there on: at least one whole line, if there
    is one."""
    begin = max(0, file.seek(0, os.SEEK_END) - _LINES_END)
    file.seek(begin)
    data = file.read()
    if begin and data.count(b"\n") < 2:
        file.seek(0)
        return 0, file.read()
    return begin, data


def _last_digest(data: bytes) -> str:
    lines = data.split(b"\n")[:-1]
    return digest_bytes(lines[-1]) if lines else ""
