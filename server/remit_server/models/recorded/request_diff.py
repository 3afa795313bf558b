"""Describes the first difference of two requests to a model, for a person. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

_AROUND = 24


def likeness(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[int, int]:
    """Returns how many leading messages two requests share, and how many characters of the next one."""
    old, new = recorded.get("messages", ()), asked["messages"]
    at = _shared_length(old, new)
    return at, _shared_length(_spell(old[at]), _spell(new[at])) if at < min(len(old), len(new)) else 0


def difference(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Returns the first difference: a message and the place in it, the number of messages, or a setting."""
    old, new = recorded.get("messages", ()), asked["messages"]
    at = _shared_length(old, new)
    if at < min(len(old), len(new)):
        return f"message {at + 1} differs: {_message_difference(old[at], new[at])}"
    if len(old) != len(new):
        return f"it had {len(old)} messages, this one has {len(new)}, and the first {at} are equal"
    return _value_difference("the request", recorded, asked)


def _value_difference(name: str, old: Any, new: Any) -> str:
    """Returns where two values differ, inside objects too."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        left, right = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
        for key in sorted({*left, *right}):
            if key not in right or key not in left:
                return f"{name} {'had' if key in left else 'did not have'} {key}"
            if left[key] != right[key]:
                return _value_difference(key, left[key], right[key])
    return f"{name} differs: {_text_difference(_spell(old), _spell(new))}"


def _message_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if old.get("role") != new.get("role"):
        return f"recorded is one of the {old.get('role')}, asked one of the {new.get('role')}"
    parts = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    name = "text" if "text" in parts else parts[0]
    return f"its {name} ({new.get('role')}), {_text_difference(_spell(old.get(name)), _spell(new.get(name)))}"


def _text_difference(old: str, new: str) -> str:
    at = _shared_length(old, new)
    start = max(0, at - _AROUND)
    return f"at character {at + 1}: recorded `{old[start : at + _AROUND]}`, asked `{new[start : at + _AROUND]}`"


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _shared_length(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Returns how many leading items two sequences share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
