"""Signs the head of a log after each durable write (effect), and finds where head and log do not match (AUD-04).

Records that this process wrote before it had its key are known to be its own, and are signed later. Any other records
after the signed head were written by a process that was killed just then, or by somebody else. This is reported once,
and from then on the head follows the log again.

Also makes checkpoints: signs what the log holds now, and adds that to the log's checkpoint file, which lies outside the
database's folder.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from remit_governance.audit.log.chain import Chain
from remit_governance.audit.log.database import Segment
from remit_governance.audit.proof.checkpoint import Checkpoint, SignedCheckpoint, Signer, make, read_line
from remit_governance.audit.proof.checkpoint_file import span
from remit_governance.audit.proof.head import Head, HeadStore, StoredHead, sign_head
from remit_governance.audit.proof.keys import KeyVault
from remit_governance.audit.record import AuditEvent, AuditKind, may_wait
from remit_governance.canonical import digest_bytes
from remit_governance.errors import AuditError

_LINES_END = 64 * 1024
"""More bytes than the longest line together with the part of a line that a crash may leave."""

Sign = Callable[[str], bytes]
"""Makes the new line, given the digest of the line before (empty if there is none)."""


class CheckpointPlace(Protocol):
    """Keeps the lines of one log's checkpoints."""

    def read(self) -> bytes | None:
        """Returns all lines, or None if there are none yet. Raises AuditError if they cannot be read."""
        ...

    def append(self, sign: Sign) -> None:
        """Adds a line, durably; no other process can add one meanwhile. Raises AuditError."""
        ...


class MemoryPlace:
    """A fake in memory that ships with Remit."""

    def __init__(self, data: bytes | None = None) -> None:
        self.data = data

    def read(self) -> bytes | None:
        """Returns all lines that were added."""
        return self.data

    def append(self, sign: Sign) -> None:
        """Adds a line."""
        self.data = (self.data or b"") + sign(_last_digest(self.data or b"")) + b"\n"


class CheckpointFile:
    """A file with mode 0600, in a folder with mode 0700."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> bytes | None:
        """Returns the file's content, or None if there is no file. Raises AuditError if it cannot be read."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            why = f"{self.path}: {(error.strerror or str(error)).lower()}"
            raise AuditError("the checkpoint file cannot be read", why, "make it readable for you") from error

    def append(self, sign: Sign) -> None:
        """Adds a line under a lock, durably, and drops a part of a line that a crash left. Raises AuditError."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(fd, "r+b") as file:  # noqa: PTH123 a descriptor
                fcntl.flock(file, fcntl.LOCK_EX)
                # Read only the end, because the file grows with the log and only its last line is needed.
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
    """Vouches for one log with a person's key: by checkpoints and, if there are `heads`, by a signed head."""

    def __init__(self, place: CheckpointPlace, vault: KeyVault, heads: HeadStore | None = None) -> None:
        self.place, self._vault, self.heads = place, vault, heads
        self._preparing = threading.Lock()
        self.signer: Signer | None = None
        """None until `prepare` has the key."""

    def prepare(self) -> Signer:
        """Gets the key, which may take a while the first time. Raises AuditError."""
        with self._preparing:
            self.signer = self.signer or Signer(self._vault.obtain())
            return self.signer

    def vouch(self, segment: Segment, time_ms: int) -> SignedCheckpoint:
        """Makes a checkpoint of what the log holds now, as its active segment says. Raises AuditError."""
        log, count, head, started = segment.log, segment.count, segment.last_hash, segment.started
        return self._add(lambda previous: Checkpoint(log, count, head, started, time_ms, previous))

    def keep(self, head: Head) -> SignedCheckpoint:
        """Turns a head, which the next one would replace, into a checkpoint, which stays. Raises AuditError."""
        return self._add(head.checkpoint)

    def last_said(self) -> Mapping[str, str]:
        """Returns what the signed head, or else the last checkpoint, says, as metadata for a record; empty if they
        cannot be read. Checks no signature."""
        with suppress(AuditError, ValueError):
            stored = StoredHead.read((self.heads.read() if self.heads else None) or b"").signed
            if stored is not None:
                return {"log": stored.head.log, "count": str(stored.head.count), "head": stored.head.head}
            _, _, line = (self.place.read() or b"").rstrip(b"\n").rpartition(b"\n")
            said = read_line(line).checkpoint if line else None
            return {"log": said.log, "count": str(said.count), "head": said.head} if said else {}
        return {}

    def trusted(self) -> frozenset[str]:
        """Returns the public keys whose signatures count. Raises AuditError if a key may exist but cannot be read."""
        return frozenset(self.signers())

    def signers(self) -> Mapping[str, Signer]:
        """Returns the private keys, ready to sign, by their public halves. Raises AuditError as `trusted` does."""
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
    """Returns an offset near the end of a checkpoint file and all bytes from there on, which have at least one whole
    line, if the file has one."""
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


Span = tuple[int, int]
"""The first and the last of a range of record numbers."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why log and head do not match, and, if known, which records somebody else must have written."""

    why: str
    forged: Span | None = None

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata for the record about it."""
        return {"first": str(self.forged[0]), "last": str(self.forged[1])} if self.forged else {}


class Sealer:
    """Keeps the signed head of one open log; only one thread may use it at a time."""

    def __init__(self, notary: Notary, clock: Callable[[], int]) -> None:
        """Signs nothing until the notary has its key."""
        self._notary, self._clock = notary, clock
        self._known: StoredHead | None = None
        self._signers: Mapping[str, Signer] | None = None
        self._serial = 0
        self._own: list[Span] = []
        self._since: tuple[int, str] | None = None
        self.failed: AuditError | None = None
        """Why the head could not be signed the last time; None if it could."""

    def held(self) -> AbstractContextManager[object]:
        """Keeps other processes from writing durably to the log and from signing, until the context is left."""
        if self._notary.heads is None:
            return nullcontext()
        try:
            return _Held(self._notary.heads.held())
        except AuditError:
            return nullcontext()

    def prepare(self) -> None:
        """Gets the key, which may take a while the first time. Raises AuditError."""
        self._notary.prepare()

    def note(self, chain: Chain) -> None:
        """Notes that the last append of the chain was this process's own."""
        first, last = chain.before[0] + 1, chain.end[0]
        self._since = self._since or chain.before
        if self._own and self._own[-1][1] == first - 1:
            first = self._own.pop()[0]
        if first <= last:
            self._own.append((first, last))

    def close(self) -> None:
        """Closes the store of the head. Idempotent."""
        if self._notary.heads is not None:
            self._notary.heads.close()

    def forget(self) -> None:
        """Forgets which records are this process's own, because another log is open from now on."""
        self._forget_own()

    def seal(self, chain: Chain, alone: Callable[[], bool], *, durable: bool = False) -> Trouble | None:
        """Signs where the chain ends now; returns the trouble if the chain and the previous head do not match, or None.

        To be called inside `held`. `alone` says whether no other process uses the log. If the head cannot be signed,
        the reason is kept in `failed`.
        """
        signer, heads = self._notary.signer, self._notary.heads
        if signer is None or heads is None:
            return None
        try:
            data = heads.read()
            stored = self._known if self._known and self._known.data == data else StoredHead.read(data or b"")
            trouble = None
            if not self._follows(stored, chain):
                trouble = self._trouble(stored, chain, alone)
                data = heads.read()
            self._write(data or b"", chain, durable=durable)
        except AuditError as error:
            self.failed = error
            return None
        self.failed = None
        self._forget_own()
        return trouble

    def _forget_own(self) -> None:
        self._own.clear()
        self._since = None

    def _write(self, before: bytes, chain: Chain, *, durable: bool) -> None:
        signer, heads = self._notary.prepare(), self._notary.heads
        assert heads is not None, "only a head that is kept is signed"
        (count, last), self._serial = chain.end, self._serial + 1
        signed = sign_head(Head(chain.log, count, last, chain.started, self._clock(), self._serial), signer)
        self._known = StoredHead(heads.write(signed, before, durable=durable), signed)

    def _follows(self, stored: StoredHead, chain: Chain) -> bool:
        """Returns whether this process signed the stored head last, and wrote all records after it."""
        if stored is not self._known or stored.signed is None:
            return False
        head = stored.signed.head
        return head.log == chain.log and (head.count, head.head) in (self._since, chain.end) and self._is_own(head)

    def _is_own(self, head: Head) -> bool:
        return len(self._own) <= 1 and all(first == head.count + 1 for first, _ in self._own)

    def _trouble(self, stored: StoredHead, chain: Chain, alone: Callable[[], bool]) -> Trouble | None:
        if stored.signed is None and not stored.damaged:
            removed = "the signed head was removed, though a record says that one is kept"
            return Trouble(removed) if chain.says_head() else None
        signer = self._ours().get(stored.signed.key) if stored.signed else None
        if stored.signed is None or signer is None or not stored.signed.holds(signer):
            # Set it aside, because with a forged serial it could be taken for the newest head for ever.
            self._reject()
            return Trouble("the signed head was changed or forged, or its key is in a locked keyring")
        head = stored.signed.head
        self._serial = head.serial
        return self._parted(head, chain, alone)

    def _parted(self, head: Head, chain: Chain, alone: Callable[[], bool]) -> Trouble | None:
        if head.log != chain.log:
            self._notary.keep(head)
            replaced = Trouble(f"it was replaced: the signed head is of another log, with {head.count} records")
            return None if chain.begun else replaced
        if head.count > chain.end[0] or chain.hash_at(head.count) not in {head.head, None}:
            # The head will follow the log from now on, so keep what it said as a checkpoint, which shows this for ever.
            self._notary.keep(head)
            why = f"the signed head vouches for record {head.count}, which is not here"
            return Trouble(f"its end was cut off or rewritten: {why}")
        strange = list(_without((head.count + 1, chain.end[0]), self._own))
        if not strange or not alone():
            return None
        said = ", ".join(span(first, last) for first, last in strange)
        opened = chain.open_servers(self._own, head.count)
        if opened and all(chain.every(*one, may_wait) for one in strange):
            return None  # the server was killed before it signed these records, which may wait for the disk
        if opened or all(chain.every(*one, _of_the_log) for one in strange):
            return Trouble(f"{said}: not vouched for: written when a server was killed, or by somebody else")
        # No server was open then, and a server that ends in order has signed all of its records.
        why = f"{said}: not vouched for: every server had ended in order, and somebody else wrote this"
        return Trouble(why, (strange[0][0], strange[-1][1]))

    def _reject(self) -> None:
        if self._notary.heads is not None:
            self._notary.heads.set_aside()

    def _ours(self) -> Mapping[str, Signer]:
        if self._signers is None:
            self._signers = self._notary.signers()
        return self._signers


class _Held:
    """Holds a lock if it can be had; without it, records are written all the same."""

    def __init__(self, lock: AbstractContextManager[None]) -> None:
        self._lock, self._got = lock, False

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
            self._got = True
        except AuditError:
            self._got = False

    def __exit__(self, *exception: object) -> None:
        if self._got:
            self._lock.__exit__(None, None, None)


def _of_the_log(event: AuditEvent) -> bool:
    """Returns whether a process may record such an event before its server starts, or after the server's end."""
    return event.kind in {AuditKind.CHECKPOINT, AuditKind.AUDIT_CHAIN_BREAK}


def _without(span: Span, own: list[Span]) -> Iterator[Span]:
    """Yields the parts of a span that are in none of the spans `own`, which are sorted."""
    first, last = span
    for begin, end in own:
        if begin > first and begin - 1 <= last:
            yield first, begin - 1
        first = max(first, end + 1)
    if first <= last:
        yield first, last
