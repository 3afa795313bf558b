"""Signs the head of a log after each durable write (effect), and finds where the two have parted (AUD-04).

What this process wrote before its key could be had is its own and is signed later. Whatever else lies between the
signed head and the log was written by a process that was killed at that moment, or by somebody else: it is said, once,
and from there on the head goes with the log.

Checkpoints are made here too: what the log holds now is signed and added to the log's checkpoint file, which lies
outside the database's folder.
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


Span = tuple[int, int]
"""The first and the last of some record numbers."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Where log and head have parted: why, and which records somebody else must have written, where that is known."""

    why: str
    forged: Span | None = None

    @property
    def metadata(self) -> dict[str, str]:
        """For the record of it."""
        return {"first": str(self.forged[0]), "last": str(self.forged[1])} if self.forged else {}


class Sealer:
    """Keeps the signed head of one open log, to be used by one thread at a time."""

    def __init__(self, notary: Notary, clock: Callable[[], int]) -> None:
        """Nothing is signed before the notary has its key."""
        self._notary, self._clock = notary, clock
        self._known: StoredHead | None = None
        self._signers: Mapping[str, Signer] | None = None
        self._serial = 0
        self._own: list[Span] = []
        self._since: tuple[int, str] | None = None
        self.failed: AuditError | None = None
        """Why the head could not be signed the last time."""

    def held(self) -> AbstractContextManager[object]:
        """Keep other processes from writing to the log, and from signing, until this is left."""
        if self._notary.heads is None:
            return nullcontext()
        try:
            return _Held(self._notary.heads.held())
        except AuditError:
            return nullcontext()

    def prepare(self) -> None:
        """Get the key, which may take a while the first time. Raises AuditError."""
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
        """Let go of the head. Idempotent."""
        if self._notary.heads is not None:
            self._notary.heads.close()

    def forget(self) -> None:
        """Forgets what was sealed: another log is open from now on."""
        self._forget_own()

    def seal(self, chain: Chain, alone: Callable[[], bool], *, durable: bool = False) -> Trouble | None:
        """Sign where the chain ends now; what is wrong between it and the head that was there, in words, or None.

        To be called while it is held. `alone` says whether no other process uses the log. What hinders the signing is
        kept in `failed`.
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
        """Returns whether all after the head that this process signed last is its own."""
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
            # It would be taken for the newest one for ever.
            self._reject()
            return Trouble("the signed head was changed or forged, or its key is in a keyring that is locked")
        head = stored.signed.head
        self._serial = head.serial
        return self._parted(head, chain, alone)

    def _parted(self, head: Head, chain: Chain, alone: Callable[[], bool]) -> Trouble | None:
        if head.log != chain.log:
            self._notary.keep(head)
            replaced = Trouble(f"it was replaced: the signed head is of a log of {head.count} records")
            return None if chain.begun else replaced
        if head.count > chain.end[0] or chain.hash_at(head.count) not in {head.head, None}:
            # The head goes on with the log; what it said stays as a checkpoint, by which this is found for ever.
            self._notary.keep(head)
            why = f"the signed head vouches for a record {head.count} that is not here"
            return Trouble(f"its end was cut off or rewritten: {why}")
        strange = list(_without((head.count + 1, chain.end[0]), self._own))
        if not strange or not alone():
            return None
        said = ", ".join(span(first, last) for first, last in strange)
        opened = chain.open_servers(self._own, head.count)
        if opened and all(chain.every(*one, may_wait) for one in strange):
            return None  # killed before these, which wait for the disk, were signed with it
        if opened or all(chain.every(*one, _of_the_log) for one in strange):
            return Trouble(f"{said}: not vouched for: written as a server was killed, or by somebody else")
        # What is ours follows: a server that ends in order has signed all of it.
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
    """A lock that is a help, and whose lack stops no record."""

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
    """Returns what a process records before its server starts, and after its end."""
    return event.kind in {AuditKind.CHECKPOINT, AuditKind.AUDIT_CHAIN_BREAK}


def _without(span: Span, own: list[Span]) -> Iterator[Span]:
    """Yields the parts of a span that are in none of the others, which are in order."""
    first, last = span
    for begin, end in own:
        if begin > first and begin - 1 <= last:
            yield first, begin - 1
        first = max(first, end + 1)
    if first <= last:
        yield first, last
