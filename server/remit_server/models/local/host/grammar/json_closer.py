"""Closes a JSON value while tokens are left, because an incomplete value is useless (MOD-06)."""

from __future__ import annotations

from llguidance import LLMatcher, LLTokenizer
from pydantic import JsonValue

from remit_server.models.local.host.grammar.json_schema import Schema
from remit_server.models.local.host.grammar.schemas import number_of

_ENDS = ("}", "]", ",")
_STARTS = ('"', "123456789", "0", "n", "t", "f", "-", "[", "{")
_MARGIN = 4
"""Tokens reserved for the end token, and for one that is sampled ahead."""


def room_needed(schema: Schema) -> int:
    """Returns the tokens, of a byte each, that close a value of `schema` (plain and bounded) from any state."""
    return _size(schema) + _MARGIN


def _size(schema: JsonValue) -> int:
    if not isinstance(schema, dict):
        return 24
    if "const" in schema or "enum" in schema:
        listed = schema["enum"] if "enum" in schema else [schema["const"]]
        return max((len(str(value).encode()) + 2 for value in listed), default=0) if isinstance(listed, list) else 0
    sizes = [_size(part) for key in ("anyOf", "oneOf") for part in _list(schema, key)]
    size = max(sizes, default=0) + sum(_size(part) for part in _list(schema, "allOf"))
    return size + _object_size(schema) + _array_size(schema) + _scalar_size(schema)


def _scalar_size(schema: Schema) -> int:
    """Returns a scalar's size: a string with a pattern in full, at two tokens per character; else the least."""
    if "pattern" in schema or "format" in schema:
        return 2 * number_of(schema, "maxLength") + 4
    return number_of(schema, "minLength") + 24


def _object_size(schema: Schema) -> int:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return _size(schema["additionalProperties"]) if isinstance(schema.get("additionalProperties"), dict) else 0
    required = _list(schema, "required")
    sizes = {name: len(name.encode()) + 4 + _size(part) for name, part in properties.items()}
    return sum(sizes[name] for name in required if isinstance(name, str) and name in sizes) + max(
        (size for name, size in sizes.items() if name not in required), default=0
    )


def _array_size(schema: Schema) -> int:
    first = sum(_size(part) + 1 for part in _list(schema, "prefixItems"))
    items = schema.get("items")
    return first + (_size(items) + 1) * max(1, number_of(schema, "minItems")) if isinstance(items, dict) else first


def _list(schema: Schema, key: str) -> list[JsonValue]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


class JsonCloser:
    """Tracks a JSON value token by token. When few tokens are left, allows only those that close the value soonest."""

    def __init__(self, tokenizer: LLTokenizer, needed: int) -> None:
        """Reserves `needed` tokens for closing, see `room_needed`."""
        self._tokenizer = tokenizer
        self._needed = self._kept = needed
        self._left = needed + 1
        self._in_string = False
        self._escaped = False
        self.closed_early = False

    def set_limit(self, max_tokens: int) -> None:
        """Sets the number of tokens for the whole value; at least a quarter of them stays unrestricted."""
        self._left = max_tokens
        self._kept = min(self._needed, max_tokens * 3 // 4)

    def accept(self, token: int) -> None:
        """Records a token of the value."""
        self._left -= 1
        for byte in self._tokenizer.decode_bytes([token]):
            if self._escaped:
                self._escaped = False
            elif self._in_string and byte == 0x5C:
                self._escaped = True
            elif byte == 0x22:
                self._in_string = not self._in_string

    def ends_here(self, *, accepting: bool) -> bool:
        """Returns whether a value that could continue, such as a number, is to end now."""
        ends = accepting and self._left <= self._kept
        self.closed_early = self.closed_early or ends
        return ends

    def force_spelling(self, mask: bytes, matcher: LLMatcher) -> bytes:
        """Returns the mask, or the first token of a forced text that spells a marker.

        llguidance would offer only the marker's own token there, which it then refuses.
        """
        bits = int.from_bytes(mask, "little")
        if bits.bit_count() != 1 or not self._tokenizer.is_special_token(bits.bit_length() - 1):
            return mask
        forced = matcher.compute_ff_bytes().decode("utf-8", "ignore")
        return _mask_of(self._tokenizer.greedy_tokenize(forced)[:1], len(mask)) if forced else mask

    def narrow(self, mask: bytes) -> bytes:
        """Returns the mask, or the part of it that closes the value."""
        if self._left > self._kept or self._escaped:
            return mask
        for characters in ('"',) if self._in_string else (*_ENDS, *_STARTS):
            tokens = [token for token in self._single(characters) if _has(mask, token)]
            if tokens:
                narrow = _mask_of(tokens, len(mask))
                self.closed_early = self.closed_early or narrow != mask
                return narrow
        return mask

    def _single(self, characters: str) -> list[int]:
        spelled = (self._tokenizer.greedy_tokenize(character) for character in characters)
        return [tokens[0] for tokens in spelled if len(tokens) == 1]


def _has(mask: bytes, token: int) -> bool:
    return token >> 3 < len(mask) and bool(mask[token >> 3] >> (token & 7) & 1)


def _mask_of(tokens: list[int], size: int) -> bytes:
    bits = bytearray(size)
    for token in tokens:
        bits[token >> 3] |= 1 << (token & 7)
    return bytes(bits)
