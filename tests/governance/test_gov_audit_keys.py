"""Where the key that signs checkpoints is kept: in the keyring, otherwise in a file for its owner alone (AUD-01)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import keyring.backends.null
import pytest
from keyring.backend import KeyringBackend

from remit_governance.audit.proof.checkpoint import KEY_BYTES, Checkpoint, Signer, make
from remit_governance.audit.proof.keys import (
    ACCOUNT,
    SERVICE,
    FileVault,
    FirstVault,
    KeyringVault,
    MemoryVault,
    person_vault,
)
from remit_governance.errors import AuditError

KEY = bytes(range(32))


class Held(KeyringBackend):
    """A working keyring that lasts as long as the test."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password


class Locked(Held):
    """A keyring that waits until somebody unlocks it."""

    def __init__(self) -> None:
        super().__init__()
        self.unlocked = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.unlocked.wait(30)
        return super().get_password(service, username)


@pytest.fixture
def held() -> Iterator[Held]:
    before = keyring.get_keyring()
    backend = Held()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_a_key_is_made_once_and_found_again(held: Held, tmp_path: Path) -> None:
    for vault in (KeyringVault(tmp_path / "lock"), FileVault(tmp_path / "data" / "key"), MemoryVault()):
        assert vault.load() == ()
        key = vault.obtain()
        assert len(key) == KEY_BYTES
        assert vault.obtain() == key
        assert vault.load() == (key,)
        assert make(Checkpoint("l", 1, "h", 1, 1, ""), Signer(key)).key == Signer(key).key
    assert held.passwords.keys() == {(SERVICE, ACCOUNT)}
    assert KeyringVault(tmp_path / "lock").obtain() == KeyringVault(tmp_path / "other").obtain()


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "data" / "key")
    key = vault.obtain()
    assert vault.path.stat().st_mode & 0o777 == 0o600
    assert vault.path.parent.stat().st_mode & 0o777 == 0o700
    assert list(vault.path.parent.iterdir()) == [vault.path]
    assert FileVault(vault.path).obtain() == key


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o666])
def test_thr_storage_key_that_others_can_read_is_not_used(mode: int, tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "key")
    vault.obtain()
    vault.path.chmod(mode)
    for use in (vault.load, vault.obtain, person_vault(vault.path).load):
        with pytest.raises(AuditError, match="can be read or changed by others") as caught:
            use()
        assert caught.value.fix == f"run `chmod 600 {vault.path}`"


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 64, b"ab" * 31, b"ab" * 33, b"zz" * 32])
def test_what_is_no_key_is_not_used_and_not_replaced(content: bytes, tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "key")
    vault.path.write_bytes(content)
    vault.path.chmod(0o600)
    with pytest.raises(AuditError, match="is not a key"):
        vault.obtain()
    assert vault.path.read_bytes() == content


def test_a_key_that_cannot_be_read_or_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(AuditError, match="directory"):
        FileVault(tmp_path / "folder").load()
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match="file exists|not a directory"):
        FileVault(tmp_path / "file" / "key").obtain()


def test_many_who_make_the_key_at_once_get_the_same(held: Held, tmp_path: Path) -> None:
    for make_vault in (lambda: FileVault(tmp_path / "key"), lambda: KeyringVault(tmp_path / "lock")):
        found = list[bytes]()
        barrier = threading.Barrier(8)

        def work(make_vault=make_vault, found=found, barrier=barrier) -> None:
            barrier.wait()
            found.append(make_vault().obtain())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(found) == {make_vault().obtain()}
    assert {path.name for path in tmp_path.iterdir()} == {"key", "lock"}


def test_the_keyring_comes_first_and_the_file_is_not_made(held: Held, tmp_path: Path) -> None:
    vault = person_vault(tmp_path / "key")
    assert vault.load() == ()
    key = vault.obtain()
    assert bytes.fromhex(held.passwords[SERVICE, ACCOUNT]) == key
    assert not (tmp_path / "key").exists()


def test_a_key_made_while_there_was_no_keyring_still_counts(held: Held, tmp_path: Path) -> None:
    old = FileVault(tmp_path / "key").obtain()
    vault = person_vault(tmp_path / "key")
    new = vault.obtain()
    assert new != old
    assert vault.load() == (new, old)


@pytest.mark.parametrize("backend", [keyring.backends.fail.Keyring, keyring.backends.null.Keyring])
def test_without_a_keyring_it_is_the_file(backend: type[KeyringBackend], held: Held, tmp_path: Path) -> None:
    keyring.set_keyring(backend())
    with pytest.raises(AuditError, match="keyring"):
        KeyringVault(tmp_path / "lock").obtain()
    vault = person_vault(tmp_path / "key")
    key = vault.obtain()
    assert vault.load() == FileVault(tmp_path / "key").load() == (key,)


def test_a_keyring_that_waits_for_somebody_is_not_waited_for(held: Held, tmp_path: Path) -> None:
    locked = Locked()
    keyring.set_keyring(locked)
    vault = FirstVault(KeyringVault(tmp_path / "lock", patience_s=0.2), FileVault(tmp_path / "key"))
    with pytest.raises(AuditError, match="did not answer in time"):
        KeyringVault(tmp_path / "lock", patience_s=0.2).load()
    assert vault.obtain() == FileVault(tmp_path / "key").obtain()
    locked.unlocked.set()


def test_rubbish_in_the_keyring_is_not_replaced(held: Held, tmp_path: Path) -> None:
    held.passwords[SERVICE, ACCOUNT] = "not a key"
    with pytest.raises(AuditError, match="what the keyring holds is not a key"):
        KeyringVault(tmp_path / "lock").obtain()
    assert person_vault(tmp_path / "key").obtain()
    assert held.passwords[SERVICE, ACCOUNT] == "not a key"


def test_only_the_last_vault_has_to_work() -> None:
    broken = MemoryVault(broken=True)
    assert FirstVault(broken, MemoryVault(KEY)).load() == (KEY,)
    assert FirstVault(broken, MemoryVault(KEY)).obtain() == KEY
    assert FirstVault(MemoryVault(KEY), broken).obtain() == KEY
    with pytest.raises(AuditError, match="locked"):
        FirstVault(MemoryVault(KEY), broken).load()
