"""The signed head: says where one log ends, is signed at every durable write and kept apart from the log's database
(AUD-04), in a file of its own beside the checkpoints (effect).

The signature is a keyed BLAKE2b under a secret made from the key that signs checkpoints, because it is made at every
durable record and has to be fast. It can be checked only with that key; what is sent elsewhere is a checkpoint.

A checkpoint file only grows; the head is one statement that the next one replaces. It also covers records that come
after the last checkpoint, so that a removed end or an appended forgery does not match it.

The file holds two heads, one in each half, and the older one is written over, so that a power cut in the middle of a
write leaves the other. The file's lock is held while a record is written and its head signed, so that the two agree for
any other process that takes the lock.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import re
import secrets
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields
from json.encoder import encode_basestring
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from remit_governance.audit.proof.checkpoint import Checkpoint, Signer
from remit_governance.errors import AuditError

VERSION = 1
_HEX = re.compile("[0-9a-f]{64}")
_PURPOSE = b"remit audit head\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the log `log` at one moment: how many records it has, and the hash of the last one.

    `started` is when the active segment began, `time` when the head was signed (milliseconds since the epoch), `serial`
    counts the heads of a workspace and only grows.
    """

    log: str
    count: int
    head: str
    started: int
    time: int
    serial: int
    version: int = VERSION

    def checkpoint(self, previous: str) -> Checkpoint:
        """Returns the same statement as a line of the checkpoint file, after the line with the digest `previous`."""
        return Checkpoint(self.log, self.count, self.head, self.started, self.time, previous)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head, the public half of the key that signed it, and the signature, both in lower-case hex."""

    head: Head
    key: str
    signature: str

    @property
    def line(self) -> bytes:
        """The one written form, without a line break."""
        return _written(self.head, f'"key":"{self.key}",', f'"signature":"{self.signature}",')

    def holds(self, signer: Signer) -> bool:
        """Returns whether this key signed exactly this head."""
        return hmac.compare_digest(self.signature, signer.seal(_message(self.head)))


def sign_head(head: Head, signer: Signer) -> SignedHead:
    """Returns the head signed with this key."""
    return SignedHead(head, signer.key, signer.seal(_message(head)))


def read_head(line: bytes) -> SignedHead | None:
    """Returns the head that a line holds, or None unless the line is in the one written form. Checks no signature."""
    try:
        value: dict[str, Any] = json.loads(line)
        key, signature = str(value.pop("key")), str(value.pop("signature"))
        signed = SignedHead(Head(**value), key, signature)
        typed = all(type(value[name]) is type(example) for name, example in _EXAMPLE.items())
        same = typed and _HEX.fullmatch(key) and _HEX.fullmatch(signature) and signed.line == line
        return signed if same and value["version"] == VERSION else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _fields(head: Head) -> dict[str, str | int]:
    return {name: getattr(head, name) for name in _NAMES}


def _message(head: Head) -> bytes:
    return _PURPOSE + _written(head)


def _written(head: Head, key: str = "", signature: str = "") -> bytes:
    """Returns canonical JSON, assembled by hand because every durable record waits for it and this is much faster."""
    names = f'"head":{encode_basestring(head.head)},{key}"log":{encode_basestring(head.log)},"serial":{head.serial},'
    rest = f'"started":{head.started},"time":{head.time},"version":{head.version}'
    return f'{{"count":{head.count},{names}{signature}{rest}}}'.encode("utf-8", "backslashreplace")


_NAMES = tuple(f.name for f in fields(Head))
_EXAMPLE = _fields(Head("", 0, "", 0, 0, 0))


SLOT = 1024
_MOST = 2 * SLOT + 1


@dataclass(frozen=True, slots=True)
class StoredHead:
    """What a head file holds: the newest head that can be read (or None), the `older` one, and whether the file also
    has something that is no head."""

    data: bytes = b""
    signed: SignedHead | None = None
    damaged: bool = False
    older: SignedHead | None = None

    @staticmethod
    def read(data: bytes) -> StoredHead:
        """Returns what the content of a head file holds."""
        lines = [line for at in (0, SLOT) if (line := data[at : at + SLOT].strip(b" \n\0"))]
        found = [signed for line in lines if (signed := read_head(line))]
        found.sort(key=lambda signed: signed.head.serial, reverse=True)
        newest, older, *_ = (*found, None, None)
        damaged = len(found) < len(lines) or len(data) > 2 * SLOT
        return StoredHead(data, newest, damaged, older)


class HeadStore(Protocol):
    """Keeps the head of one log. The other methods are called inside `held`."""

    def held(self) -> AbstractContextManager[None]:
        """Locks the store against every other process. Raises AuditError if that fails."""
        ...

    def read(self) -> bytes | None:
        """Returns all content, or None if nothing was ever written. Raises AuditError."""
        ...

    def write(self, signed: SignedHead, before: bytes, *, durable: bool) -> bytes:
        """Writes the head over the older one of the two in `before`, and returns the new content. `durable` brings it
        to the disk. Raises AuditError."""
        ...

    def set_aside(self) -> None:
        """Moves the content away, so that it cannot be taken for a head of ours. Raises AuditError."""
        ...

    def close(self) -> None:
        """Closes what is open. Idempotent."""
        ...


class MemoryHead:
    """A fake in memory that ships with Remit."""

    def __init__(self, data: bytes | None = None) -> None:
        self.data = data

    def held(self) -> AbstractContextManager[None]:
        """Locks nothing, because no other process can use it."""
        return nullcontext()

    def read(self) -> bytes | None:
        """Returns what was written."""
        return self.data

    def write(self, signed: SignedHead, before: bytes, *, durable: bool) -> bytes:
        """Writes the head."""
        del durable
        self.data = _with(before, signed)
        return self.data

    def set_aside(self) -> None:
        """Forgets the content."""
        self.data = None

    def close(self) -> None:
        """Does nothing, because nothing is open."""


class HeadFile:
    """A file with mode 0600, in a folder with mode 0700. Only one thread may use it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = path.with_name(f"{path.name}.lock")
        # Opening a file takes longer than the rest of a write, so the lock file stays open, and the file itself stays
        # open while the lock is held.
        self._lock_fd, self._fd, self._holds = -1, -1, False

    def held(self) -> AbstractContextManager[None]:
        """Locks the lock file beside the file, which is made if it is missing. Raises AuditError."""
        return self

    def __enter__(self) -> None:
        try:
            if self._lock_fd < 0:
                self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._lock_fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with suppress(OSError):  # on a file system without locks two servers may report that log and head disagree
                fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        except OSError as error:
            raise _unusable("written", self._lock, error) from error
        self._holds = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holds = False
        self._let_go()
        with suppress(OSError):
            fcntl.flock(self._lock_fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Closes the lock file. Idempotent; the lock file is opened again when needed."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def read(self) -> bytes | None:
        """Returns the file's content, or None if there is no file. Raises AuditError if it cannot be read."""
        try:
            if self._fd < 0:
                flags = os.O_RDWR if self._holds else os.O_RDONLY
                self._fd = os.open(self.path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            return os.pread(self._fd, _MOST, 0)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable("read", self.path, error) from error
        finally:
            if not self._holds:
                self._let_go()

    def write(self, signed: SignedHead, before: bytes, *, durable: bool) -> bytes:
        """Writes one half of the file, and returns the file's new content. Raises AuditError."""
        try:
            if self._fd < 0:
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.pwrite(self._fd, _slot(signed), _at(signed))
            if durable:
                os.fsync(self._fd)
            return _with(before, signed)
        except OSError as error:
            raise _unusable("written", self.path, error) from error

    def set_aside(self) -> None:
        """Renames the file. Raises AuditError."""
        self._let_go()
        try:
            self.path.rename(self.path.with_name(f"{self.path.name}.set-aside-{secrets.token_hex(4)}"))
        except OSError as error:
            raise _unusable("set aside", self.path, error) from error

    def _let_go(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _slot(signed: SignedHead) -> bytes:
    return signed.line.ljust(SLOT - 1) + b"\n"


def _at(signed: SignedHead) -> int:
    return signed.head.serial % 2 * SLOT


def _with(data: bytes, signed: SignedHead) -> bytes:
    """Returns the content of a file with these bytes after the head is written to it."""
    at, slot = _at(signed), _slot(signed)
    return data[:at].ljust(at, b"\0") + slot + data[at + SLOT :]


def _unusable(done: str, path: Path, error: OSError) -> AuditError:
    why = f"{path}: {(error.strerror or str(error)).lower()}"
    return AuditError(f"the signed head of the audit log cannot be {done}", why, "make the file readable and writable")
