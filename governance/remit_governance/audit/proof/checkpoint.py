"""Signed checkpoints: what a log held at one moment, signed with an Ed25519 key (AUD-04). Pure.

A checkpoint is one line of canonical JSON with its key and signature, and holds the digest of the line before it. The
lines are kept outside the database's folder, so that a log that was cut off, or recomputed as a whole, does not match.
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
"""Put before each checkpoint's bytes when they are signed, so that no signature can be used for anything else."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of the log `log` at one moment: how many records it had, and the hash of the last one.

    `started` is when the segment with that record began, `time` when the checkpoint was made (milliseconds since the
    epoch); `previous` is the digest of the line before, empty in the first. With no records, `head` is the genesis
    hash.
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
    """A checkpoint, the public half of the key that signed it, and the signature, both in lower-case hex."""

    checkpoint: Checkpoint
    key: str
    signature: str

    @property
    def line(self) -> bytes:
        """The one written form, without a line break."""
        return canonical({**_fields(self.checkpoint), "key": self.key, "signature": self.signature})

    @property
    def digest(self) -> str:
        """The digest by which the next line and the log refer to this one."""
        return digest_bytes(self.line)


class Signer:
    """A private key of `KEY_BYTES` bytes, ready to sign; `key` is its public half in hex, which identifies it."""

    def __init__(self, key: bytes) -> None:
        self._private = _private(key)
        self._secret = hashlib.sha256(_HEAD_SECRET + key).digest()
        self.key = self._private.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Returns the signature in hex."""
        return self._private.sign(message).hex()

    def seal(self, message: bytes) -> str:
        """Returns a code in hex (keyed BLAKE2b), which only holders of the key can make and check, but faster."""
        return hashlib.blake2b(message, digest_size=32, key=self._secret).hexdigest()


def make(checkpoint: Checkpoint, signer: Signer) -> SignedCheckpoint:
    """Returns the checkpoint signed with this key."""
    return SignedCheckpoint(checkpoint, signer.key, signer.sign(_message(checkpoint)))


def read_line(line: bytes) -> SignedCheckpoint:
    """Returns the checkpoint that a line holds. Raises ValueError unless it is in the one written form.

    Checks no signature.
    """
    try:
        value: dict[str, Any] = json.loads(line)
        key, signature = str(value.pop("key")), str(value.pop("signature"))
        signed = SignedCheckpoint(Checkpoint(**value), key, signature)
        typed = all(type(value[name]) is type(example) for name, example in _EXAMPLE.items())
        # Accept only one written form, because the same checkpoint written otherwise would have another digest.
        written = _HEX_KEY.fullmatch(key) and _HEX_SIGNATURE.fullmatch(signature) and signed.line == line
        if typed and written and value["version"] == VERSION:
            return signed
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ValueError(f"it is not a checkpoint of version {VERSION}")


def signature_holds(signed: SignedCheckpoint) -> bool:
    """Returns whether the checkpoint was signed with the key that it names; callers have to check whose key it is."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 as below
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed.key))
        public.verify(bytes.fromhex(signed.signature), _message(signed.checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True


def _private(key: bytes) -> Ed25519PrivateKey:
    # Import it here, because the import is slow and most code that reads a log needs no key.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    return Ed25519PrivateKey.from_private_bytes(key)


def _fields(checkpoint: Checkpoint) -> dict[str, str | int]:
    return {name: getattr(checkpoint, name) for name in _NAMES}


def _message(checkpoint: Checkpoint) -> bytes:
    return _PURPOSE + canonical(_fields(checkpoint))


_NAMES = tuple(f.name for f in fields(Checkpoint))
_EXAMPLE = _fields(Checkpoint("", 0, "", 0, 0, ""))
