"""A broker whose users have keys, as `nsc` makes them: an operator, an account, a user's file of credentials."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3
"""The first byte of each kind of key, and of a seed."""


class Key:
    """A key of one kind."""

    def __init__(self, kind: int) -> None:
        self._private, self._kind = Ed25519PrivateKey.generate(), kind
        self.public = _spelled(bytes([kind]) + self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @property
    def seed(self) -> str:
        first = bytes([SEED | self._kind >> 5, (self._kind & 31) << 3])
        return _spelled(first + self._private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))

    def sign(self, subject: str, **claims: Any) -> str:
        """Returns a JWT about a subject."""
        about = {
            "iat": int(time.time()),
            "iss": self.public,
            "sub": subject,
            "name": "remit",
            "nats": {**claims, "version": 2},
        }
        about["jti"] = base64.b32encode(hashlib.sha256(json.dumps(about).encode()).digest()).decode().rstrip("=")
        parts = f"{_part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_part(about)}"
        return f"{parts}.{base64.urlsafe_b64encode(self._private.sign(parts.encode())).decode().rstrip('=')}"


def _spelled(data: bytes) -> str:
    checked = data + binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(checked).decode().rstrip("=")


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def keyed() -> tuple[str, str]:
    """Returns a broker's configuration, and the credentials of a user that it lets in."""
    operator, system, account, user = Key(OPERATOR), Key(ACCOUNT), Key(ACCOUNT), Key(USER)
    most = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
    stored = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
    known = operator.sign(account.public, type="account", limits={**most, **stored, "wildcards": True})
    of_system = operator.sign(system.public, type="account", limits={**most, "wildcards": True})
    config = "\n".join(
        (
            'listen: "127.0.0.1:4222"',
            'jetstream { store_dir: "/var/lib/nats" }',
            f"operator: {operator.sign(operator.public, type='operator')}",
            "resolver: MEMORY",
            f"resolver_preload: {{ {account.public}: {known}, {system.public}: {of_system} }}",
            f"system_account: {system.public}",
        )
    )
    let_in = account.sign(user.public, type="user", subs=-1, data=-1, payload=-1)
    credentials = f"""-----BEGIN NATS USER JWT-----
{let_in}
------END NATS USER JWT------

************************* IMPORTANT *************************
-----BEGIN USER NKEY SEED-----
{user.seed}
------END USER NKEY SEED------
"""
    return config, credentials
