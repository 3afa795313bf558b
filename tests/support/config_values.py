"""Values of every setting, for tests that try them all. They follow from the setting's type, so that a new setting
needs no row here."""

from __future__ import annotations

from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from remit_server.runtime.config.form import KEYS, SECTIONS

_OWN: dict[str, tuple[tuple[Any, Any], str | None]] = {
    "workflow.test_hosts": ((["pypi.org"], ["127.0.0.1:8443", "[::1]:80"]), "http://x"),
    "git.message_prefix": (("[one]", "[two]"), "x" * 41),
    "telemetry.endpoint": (("http://127.0.0.1:4318", "https://collector.example"), "127.0.0.1:4318"),
}
"""The values of settings whose text has a form of its own."""


def _values(section: str, name: str) -> tuple[tuple[Any, Any], str | None]:
    """Returns two values of a setting, and a text that its variable refuses (None if it takes every text)."""
    field = SECTIONS[section].model_fields[name]
    kind: Any = field.annotation
    while get_origin(kind) in (Union, UnionType, Annotated):  # optional values; the path in `Place`
        kind = get_args(kind)[0]
    if own := _OWN.get(f"{section}.{name}"):
        return own
    if get_origin(kind) is Literal:
        return _words(get_args(kind), field.default), "neither"
    if kind is bool:
        return (not field.default, not field.default), "perhaps"
    if kind is int or kind is float:
        least = next((each.ge for each in field.metadata if hasattr(each, "ge")), 0)
        most = next((each.le for each in field.metadata if hasattr(each, "le")), least + 8)
        # A limit gets a value below its default and one above it; without a default it gets values in its range.
        lower, higher = ((field.default or most) - least) / 2, field.default or 0
        return (kind(least + lower), kind(higher + (most - higher) / 2)), str(most + 1)
    assert kind in (str, Path), f"no values are known of a {kind}: add a row"
    return ("/one", "/two"), None


def _words(words: tuple[Any, ...], default: Any) -> tuple[Any, Any]:
    """Returns two words, the stricter one first; not the default alone, which would change nothing."""
    others = [word for word in words if word != default]
    return others[0], (words[-1] if words[-1] != others[0] else words[0])


_FOUND = {key: _values(*key) for key in KEYS}
VALUES: dict[tuple[str, str], tuple[Any, Any]] = {key: two for key, (two, _) in _FOUND.items()}
"""Two values of each setting; of a limit one that is lower than the default, and one that is higher."""

WRONG: dict[tuple[str, str], str | None] = {key: wrong for key, (_, wrong) in _FOUND.items()}
"""A text that the variable of each setting refuses; None if it takes every text."""


def as_variable(value: Any) -> str:
    """Returns a value as it is written in a variable."""
    return ", ".join(value) if isinstance(value, list) else str(value)
