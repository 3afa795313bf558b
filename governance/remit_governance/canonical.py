"""The canonical bytes of a JSON value and their digest, to which approvals and the audit chain are bound
(APP-01).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias

# Made once, because every call uses it.
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


def canonical(value: Json) -> bytes:
    """Returns canonical JSON: keys sorted by code point, no spaces, UTF-8; equal values give equal bytes.

    Lone surrogates (from file names that are not UTF-8) stay as JSON escapes. Raises ValueError for NaN, infinities and
    cycles, and TypeError for values that JSON does not have, such as mappings with keys that are not strings.
    """
    text = encode_basestring(value) if isinstance(value, str) else _ENCODE(_plain(value))
    # A surrogate becomes `\udcXX`, which is exactly how JSON escapes it; nothing else is unencodable.
    return text.encode("utf-8", "backslashreplace")


def digest(value: Json) -> str:
    """Returns `sha256:` and the hex digest of the canonical bytes of the value."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """Returns `sha256:` and the hex digest of these bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _plain(value: Json) -> Json:
    """Returns the value in dicts and lists, which `json` knows. Raises TypeError for a key that is not a string,
    because `json` would silently turn keys such as `1` and `None` into strings."""
    if isinstance(value, Mapping):
        keys: list[object] = list(value)
        for key in keys:
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object is a string, not {key!r}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
