"""Keeps the private key that signs checkpoints (effect): in the operating system's keyring, else in a file that only
its owner can read (AUD-04).
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from remit_governance.audit.proof.checkpoint import KEY_BYTES
from remit_governance.errors import AuditError
from remit_governance.os_keyring import import_keyring, may_have_keyring

SERVICE = "remit"
ACCOUNT = "audit-checkpoints"
KEYRING_PATIENCE_S = 5.0
"""How long to wait for a keyring, which may ask the person to unlock it while no person is there."""

T = TypeVar("T")


class KeyVault(Protocol):
    """Keeps private keys of `KEY_BYTES` bytes."""

    def load(self) -> tuple[bytes, ...]:
        """Returns the existing keys. Raises AuditError if there may be one that cannot be read."""
        ...

    def obtain(self) -> bytes:
        """Returns the key to sign with, and makes it if there is none. Raises AuditError."""
        ...


class MemoryVault:
    """A fake in memory that ships with Remit; its key is lost with the process. With `broken` it cannot be opened."""

    def __init__(self, *keys: bytes, broken: bool = False) -> None:
        self._keys = list(keys)
        self.broken = broken

    def load(self) -> tuple[bytes, ...]:
        """Returns the keys it was given or made."""
        if self.broken:
            raise AuditError("the key cannot be read", "the vault is locked", "unlock it")
        return tuple(self._keys)

    def obtain(self) -> bytes:
        """Returns the first key, and makes it if there is none."""
        if not self.load():
            self._keys.append(secrets.token_bytes(KEY_BYTES))
        return self._keys[0]


class FileVault:
    """A key in a file with mode 0600."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> tuple[bytes, ...]:
        """Returns the key, if there is a file. Raises AuditError if the file cannot be read, or if other users can read
        or write it."""
        try:
            with self.path.open("rb") as file:
                mode, data = os.fstat(file.fileno()).st_mode, file.read(4 * KEY_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _unusable(_reason(self.path, error), "make the file readable only for you") from error
        if mode & 0o077:
            raise _unusable(f"{self.path} can be read or changed by others", f"run `chmod 600 {self.path}`")
        return (_key(data.decode("ascii", "replace").strip(), str(self.path)),)

    def obtain(self) -> bytes:
        """Returns the key, and makes it if there is none. Raises AuditError."""
        return (self.load() or self._made())[0]

    def _made(self) -> tuple[bytes, ...]:
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:  # noqa: PTH123 a descriptor
                file.write(f"{secrets.token_hex(KEY_BYTES)}\n".encode())
                file.flush()
                os.fsync(file.fileno())
            # A link, unlike a rename, does not replace a key that another process has made meanwhile.
            with suppress(FileExistsError):
                os.link(temporary, self.path)
        except OSError as error:
            raise _unusable(_reason(self.path, error), "make its folder writable") from error
        finally:
            temporary.unlink(missing_ok=True)
        return self.load()


class KeyringVault:
    """A key in the operating system's keyring, which is asked on a thread of its own, for a limited time."""

    def __init__(self, lock: Path, patience_s: float = KEYRING_PATIENCE_S) -> None:
        """`lock` is a file that is locked while a key is made, because a keyring cannot add one "only if there is
        none"."""
        self._lock, self._patience_s = lock, patience_s
        self._given_up = False

    def load(self) -> tuple[bytes, ...]:
        """Returns the key, if there is one. Raises AuditError if the keyring cannot be used."""
        text = self._asked(_read_keyring)
        return (_key(text, "the keyring"),) if text else ()

    def obtain(self) -> bytes:
        """Returns the key, and makes it if there is none. Raises AuditError, also if the keyring does not keep it."""
        found = self.load() or self._made()
        if not found:
            raise _unusable("the keyring stores nothing", "set up a working keyring, or use none")
        return found[0]

    def _made(self) -> tuple[bytes, ...]:
        try:
            self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "rb") as lock:  # noqa: PTH123
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self.load():  # another process may have been faster
                    self._asked(lambda: _write_keyring(secrets.token_hex(KEY_BYTES)))
                return self.load()
        except OSError as error:
            raise _unusable(_reason(self._lock, error), "make its folder writable") from error

    def _asked(self, work: Callable[[], T]) -> T:
        results: list[T] = []
        reasons = ["the keyring did not answer in time"]
        if self._given_up:
            raise _unusable(reasons[0], "unlock the keyring")

        def ask() -> None:
            try:
                results.append(work())
            except Exception as error:  # keyring backends are other people's code, and may raise anything
                reasons[0] = f"the keyring cannot be used: {error}"

        thread = threading.Thread(target=ask, name="remit-keyring", daemon=True)
        thread.start()
        thread.join(self._patience_s)
        self._given_up = thread.is_alive()
        if not results:
            raise _unusable(reasons[0], "unlock the keyring")
        return results[0]


class FirstVault:
    """Signs with the key of the first vault that works, and loads the keys of all. Only the last one has to work."""

    def __init__(self, *vaults: KeyVault) -> None:
        self._vaults = vaults

    def load(self) -> tuple[bytes, ...]:
        """Returns the keys of every vault that can be opened. Raises AuditError if the last one cannot."""
        keys: list[bytes] = []
        for vault in self._vaults[:-1]:
            with suppress(AuditError):
                keys += vault.load()
        return (*keys, *self._vaults[-1].load())

    def obtain(self) -> bytes:
        """Returns the key of the first vault that has one or can make one. Raises AuditError if none can."""
        for vault in self._vaults[:-1]:
            with suppress(AuditError):
                return vault.obtain()
        return self._vaults[-1].obtain()


def person_vault(file: Path) -> FirstVault:
    """Returns the vault of the person at this machine: their keyring, if there may be one, and then the file."""
    keyring = (KeyringVault(file.with_name(f"{file.name}.lock")),) if may_have_keyring() else ()
    return FirstVault(*keyring, FileVault(file))


def _read_keyring() -> str | None:
    text: str | None = import_keyring().get_password(SERVICE, ACCOUNT)
    return text


def _write_keyring(text: str) -> None:
    import_keyring().set_password(SERVICE, ACCOUNT, text)


def _key(text: str, where: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise _unusable(
            f"what {where} holds is not a key",
            "put the key back; else checkpoints that it signed cannot be checked",
        )
    return key


def _reason(path: Path, error: OSError) -> str:
    return f"{path}: {(error.strerror or str(error)).lower()}"


def _unusable(why: str, fix: str) -> AuditError:
    return AuditError("the key that signs checkpoints cannot be used", why, fix)
