"""One byte string for one JSON value, and its digest: what approvals and the audit chain are bound to
(APP-01).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias

# Made once: this is on the way of every call.
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


def canonical(value: Json) -> bytes:
    """Returns canonical JSON: keys sorted by code point, no spaces, UTF-8; equal values give equal bytes.

    Lone surrogates (names that are no UTF-8 on disk) stay as JSON escapes. Raises ValueError for NaN, infinities and
    cycles, TypeError for what JSON cannot say, mappings with keys that are no strings included.
    """
    text = encode_basestring(value) if isinstance(value, str) else _ENCODE(_plain(value))
    # A surrogate becomes `\udcXX`, which is exactly how JSON escapes it; nothing else is unencodable.
    return text.encode("utf-8", "backslashreplace")


def digest(value: Json) -> str:
    """`sha256:` and the hex digest of the canonical bytes."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """`sha256:` and the hex digest of these very bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _plain(value: Json) -> Json:
    """Returns the value in the containers `json` knows; it would quietly turn the keys `1` and `None` into strings."""
    if isinstance(value, Mapping):
        keys: list[object] = list(value)
        for key in keys:
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object is a string, not {key!r}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
