"""What files held before and after each change, so that it can be taken back: bytes by their digest (SES-05); among
them the files of tests that a proof is of, each text once, and their listing (FLW-12).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from remit_governance.canonical import digest_bytes
from remit_governance.workflow.proof.runs import TestFiles

_KIND = "sha256:"
_SAID_WITHIN_S = 3_600


@dataclass(frozen=True, slots=True)
class Contents:
    """A folder that only its owner can read. Nothing in it is redacted: it could not restore a file then."""

    folder: Path

    def keep(self, digest: str, data: bytes, *, durable: bool = True) -> None:
        """Keeps bytes under their digest, once; unless `durable`, a power cut may lose them. Raises OSError."""
        path = self._path(digest)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)  # it is spoken of anew: nobody removes it meanwhile
            return
        for folder in (self.folder, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(8)}")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def get(self, digest: str) -> bytes | None:
        """Returns the bytes of a digest; None where they were not kept, or are others by now."""
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if digest_bytes(data) == digest else None

    def forget_all_but(self, digests: Iterable[str]) -> int:
        """Removes what no session speaks of; returns how many there were. Never raises.

        What was kept in the last hour stays: whoever keeps it has yet to say so.
        """
        kept, oldest = {self._path(digest) for digest in digests}, time.time() - _SAID_WITHIN_S
        gone = 0
        for path in self.folder.glob("*/*") if self.folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if path not in kept and path.stat().st_mtime < oldest:
                    path.unlink()
                    gone += 1
        return gone

    def _path(self, digest: str) -> Path:
        name = digest.removeprefix(_KIND)
        return self.folder / name[:2] / name


_LISTING: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


def keep_tests(store: Contents, tests: TestFiles) -> None:
    """Keeps all of them, the listing last. Raises OSError."""
    for path, text in tests.texts.items():
        store.keep(tests.digests[path], text.encode(errors="surrogateescape"), durable=False)
    store.keep(tests.digest, tests.listing)


def read_tests(store: Contents, digest: str) -> TestFiles | None:
    """Returns the files of a listing; None where it or one of them was not kept, or is another by now."""
    texts: dict[str, str] = {}
    for path, of_file in (_listed(store, digest) or {}).items():
        data = store.get(of_file)
        if data is None:
            return None
        texts[path] = data.decode(errors="surrogateescape")
    found = TestFiles(texts)
    return found if found.digest == digest else None


def digests_of(store: Contents, digest: str) -> Iterator[str]:
    """Yields the digest of a listing, and those that it lists."""
    yield digest
    yield from (_listed(store, digest) or {}).values()


def _listed(store: Contents, digest: str) -> dict[str, str] | None:
    data = store.get(digest)
    try:
        return None if data is None else _LISTING.validate_json(data)
    except ValidationError:
        return None
