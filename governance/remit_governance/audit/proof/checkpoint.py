"""Signed checkpoints: what a log held at one moment, vouched for with an Ed25519 key (AUD-04). Pure.

A checkpoint is one line of canonical JSON with its key and signature, and names the digest of the line before it. Lines
lie outside the database's folder, so that a log that was cut off, or recomputed as a whole, does not match them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from remit_governance.canonical import canonical, digest_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

VERSION = 1
KEY_BYTES = 32
_HEX_KEY, _HEX_SIGNATURE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{128}")
_HEAD_SECRET = b"remit audit head secret\n"
_PURPOSE = b"remit audit checkpoint\n"
"""Signed before each checkpoint, so that a signature can never be taken for one of something else."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The log `log` had `count` records, the last one's hash was `head`.

    `started` is when the segment with that record began, `time` when this was said (milliseconds since the epoch);
    `previous` is the digest of the line before, empty in the first. With no records, `head` is the genesis hash.
    """

    log: str
    count: int
    head: str
    started: int
    time: int
    previous: str
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint, the public key that vouches for it and the signature, both in lower-case hex."""

    checkpoint: Checkpoint
    key: str
    signature: str

    @property
    def line(self) -> bytes:
        """The one way to write it down, without a line break."""
        return canonical({**_fields(self.checkpoint), "key": self.key, "signature": self.signature})

    @property
    def digest(self) -> str:
        """What the next line and the log name it by."""
        return digest_bytes(self.line)


class Signer:
    """A private key of `KEY_BYTES` bytes, ready to sign; `key` is its public half in hex, which names it."""

    def __init__(self, key: bytes) -> None:
        self._private = _private(key)
        self._secret = hashlib.sha256(_HEAD_SECRET + key).digest()
        self.key = self._private.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Returns the signature in hex."""
        return self._private.sign(message).hex()

    def seal(self, message: bytes) -> str:
        """Returns a code that only holders of the key can make and check (keyed BLAKE2b), in hex: at a small part of a
        signature's cost."""
        return hashlib.blake2b(message, digest_size=32, key=self._secret).hexdigest()


def make(checkpoint: Checkpoint, signer: Signer) -> SignedCheckpoint:
    """Sign a checkpoint."""
    return SignedCheckpoint(checkpoint, signer.key, signer.sign(_message(checkpoint)))


def read_line(line: bytes) -> SignedCheckpoint:
    """Returns the checkpoint a line holds, whatever its signature. Raises ValueError unless all of it is as we write
    it."""
    try:
        value: dict[str, Any] = json.loads(line)
        key, signature = str(value.pop("key")), str(value.pop("signature"))
        signed = SignedCheckpoint(Checkpoint(**value), key, signature)
        typed = all(type(value[name]) is type(example) for name, example in _EXAMPLE.items())
        # One way to write it only: hex could be upper case, and a line that is another line is another checkpoint.
        written = _HEX_KEY.fullmatch(key) and _HEX_SIGNATURE.fullmatch(signature) and signed.line == line
        if typed and written and value["version"] == VERSION:
            return signed
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ValueError(f"it is no checkpoint of version {VERSION}")


def signature_holds(signed: SignedCheckpoint) -> bool:
    """Returns whether the key it names signed exactly this. Whose key that is, is another question."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 as below
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed.key))
        public.verify(bytes.fromhex(signed.signature), _message(signed.checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True


def _private(key: bytes) -> Ed25519PrivateKey:
    # Slow to import, and most of what reads a log needs no key.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    return Ed25519PrivateKey.from_private_bytes(key)


def _fields(checkpoint: Checkpoint) -> dict[str, str | int]:
    return {name: getattr(checkpoint, name) for name in _NAMES}


def _message(checkpoint: Checkpoint) -> bytes:
    return _PURPOSE + canonical(_fields(checkpoint))


_NAMES = tuple(f.name for f in fields(Checkpoint))
_EXAMPLE = _fields(Checkpoint("", 0, "", 0, 0, ""))
