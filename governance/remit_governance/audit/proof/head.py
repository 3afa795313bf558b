"""The signed head: how far one log has come, signed at every durable write and kept apart from its database
(AUD-04). Pure.

The signature is a keyed BLAKE2b under a secret made from the key that signs checkpoints: it is checked only where that
key is, and made on the way of every record. What leaves this machine is a checkpoint.

A checkpoint file only grows; the head is one statement that the next one replaces. It speaks of records that no
checkpoint has reached yet: a removed end and an appended forgery do not match it.
"""

from __future__ import annotations

import hmac
import json
import re
from dataclasses import dataclass, fields
from json.encoder import encode_basestring
from typing import Any

from remit_governance.audit.proof.checkpoint import Checkpoint, Signer

VERSION = 1
_HEX = re.compile("[0-9a-f]{64}")
_PURPOSE = b"remit audit head\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The log `log` has `count` records, the last one's hash is `head`.

    `started` is when the active segment began, `time` when this was signed (milliseconds since the epoch), `serial`
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
    """A head, the public half of the key that signs it and the signature, both in lower-case hex."""

    head: Head
    key: str
    signature: str

    @property
    def line(self) -> bytes:
        """Its one written form, without a line break."""
        return _written(self.head, f'"key":"{self.key}",', f'"signature":"{self.signature}",')

    def holds(self, signer: Signer) -> bool:
        """Returns whether this key signed exactly this."""
        return hmac.compare_digest(self.signature, signer.seal(_message(self.head)))


def sign_head(head: Head, signer: Signer) -> SignedHead:
    """Sign a head."""
    return SignedHead(head, signer.key, signer.seal(_message(head)))


def read_head(line: bytes) -> SignedHead | None:
    """Returns the head that a line holds, whatever its signature; None unless all of it is in the one written form."""
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
    """Returns canonical JSON, put together by hand: this is on the way of every durable record, and much faster."""
    names = f'"head":{encode_basestring(head.head)},{key}"log":{encode_basestring(head.log)},"serial":{head.serial},'
    rest = f'"started":{head.started},"time":{head.time},"version":{head.version}'
    return f'{{"count":{head.count},{names}{signature}{rest}}}'.encode("utf-8", "backslashreplace")


_NAMES = tuple(f.name for f in fields(Head))
_EXAMPLE = _fields(Head("", 0, "", 0, 0, 0))
