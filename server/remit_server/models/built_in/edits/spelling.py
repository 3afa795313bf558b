"""Writes a new value in the language of its file, in place of an old one (MOD-23). Pure."""

from __future__ import annotations

import ast
import json
import re
import tomllib

import yaml

from remit_server.models.built_in.edits.kinds import (
    CODE,
    ENV,
    NUMBER,
    PYTHON,
    QUOTED,
    SCRIPT,
    SHELL,
    TOML,
    YAML,
    Kind,
    NoPlace,
)

_DECIMAL = re.compile(r"(?P<sign>[+-]?)(?P<whole>0|[1-9]\d*|)(?P<part>\.\d*)?(?P<power>[eE][+-]?\d+)?")
_BASED = re.compile(r"-?0(?:[xX][\da-fA-F]+|[bB][01]+|[oO][0-7]+)|-?[1-9]\d{0,2}(?:_\d{3})+")
_SWITCHES = (("True", "False"), ("true", "false"), ("yes", "no"), ("on", "off"))
_ON, _OFF = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})


def _sort(value: str) -> str:
    if value[:1] in {'"', "'"}:
        return "text"
    if re.fullmatch(NUMBER, value):
        return "number" if re.fullmatch(r"[+-]?(?:[\d_]+|0[xXbBoO]\w+)", value) else "fraction"
    return "switch" if value.lower() in _ON | _OFF else "null" if value.lower() in {"null", "none"} else "word"


def spell(kind: Kind, old: str, value: str) -> str:
    """Returns the new value as the file's language writes it, with the quotes of the old one. Raises NoPlace if the
    value cannot stand there."""
    sort = _sort(old)
    told = value[1:-1] if len(value) > 1 and re.fullmatch(QUOTED, value) else None
    if sort == "text":
        null = told is None and value in {"null", "None", "NULL"} and kind.words is not None
        new = _null(kind) if null else _quoted(kind, old[0], value if told is None else told)
    elif told is not None:
        new = _quoted(kind, value[0] if kind.either_quote or kind.plain else '"', told)
    else:
        new = _unquoted(kind, old, value)
    if kind.typed:
        kept = _sort(new)
        if sort == "fraction" and kept == "number":  # a whole number would be of another type in some languages
            new, kept = f"{new}.0", sort
        if sort != kept:
            raise NoPlace(f"`{value}` is not of the same type as `{old}`")
    return new


def _null(kind: Kind) -> str:
    if kind.words is None or kind.words.null is None:
        raise NoPlace("I do not know how this file's language writes an empty value")
    return kind.words.null


def _unquoted(kind: Kind, old: str, value: str) -> str:
    """Returns how an unquoted new value is written in place of an unquoted old one."""
    lower, word = value.lower(), _sort(old) == "word"
    for on, off in _SWITCHES:
        if old in {on, off} and lower in _ON | _OFF:
            return on if lower in _ON else off
    if kind.words is not None and (known := _literal(kind, value, or_none=not word)) is not None:
        return known
    if kind.words is not None and re.match(r"[\[{(]" if word else rf"[\[{{(]|[\w.]+[(\[]|(?:{NUMBER})$", value):
        raise NoPlace(f"`{value}` is not a plain value in this file's language")
    if kind.plain and re.fullmatch(kind.plain, value) and (kind is not YAML or _is_safe_yaml(old, value)):
        return value
    if not kind.quotes or not value:
        raise NoPlace(f"`{value}` cannot be written there without quotes")
    return _quoted(kind, "'" if kind is YAML and re.search(r"[\"\\]", value) else '"', value)


def _literal(kind: Kind, value: str, *, or_none: bool) -> str | None:
    """Returns a value that never needs quotes, as the language writes it, or None for a text. The word `none` is a text
    unless `or_none`."""
    assert kind.words is not None
    lower = value.lower()
    if lower in {"true", "false"}:
        return kind.words.true if lower == "true" else kind.words.false
    if value in {"null", "None", "NULL"} or (lower == "none" and or_none):
        return _null(kind)
    return value if _is_listing(kind, value) else _number(kind, value)


def _number(kind: Kind, value: str) -> str | None:
    """Returns a number as the language writes it, or None if the value is no number in that language."""
    free = kind is PYTHON or kind is SCRIPT
    if free and _BASED.fullmatch(value):
        return value
    match = _DECIMAL.fullmatch(value)
    if match is None or not re.search(r"\d", value.partition("e")[0].partition("E")[0]):
        return None
    if free:
        return value
    part, power = match["part"] or "", match["power"] or ""
    if kind is YAML and power:  # YAML 1.1 reads a text if the point or the exponent's sign is missing
        part, power = part or ".0", power if power[1] in "+-" else f"{power[0]}+{power[1:]}"
    return f"{'-' if match['sign'] == '-' else ''}{match['whole'] or '0'}{'.0' if part == '.' else part}{power}"


def _is_listing(kind: Kind, value: str) -> bool:
    """Returns whether the value is a list or a table as the language writes it."""
    if value[:1] not in {"[", "{", "("} or "\\" in value or kind.typed:
        return False
    try:
        if kind is PYTHON:
            ast.literal_eval(value)
        elif kind is TOML:
            tomllib.loads(f"a = {value}")
        else:
            json.loads(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False
    return True


def _is_safe_yaml(old: str, value: str) -> bool:
    """Returns whether a text needs no quotes: every version of YAML reads it as text, also within braces, or it is a
    date or time like the old value."""
    if re.fullmatch(r"[\d:-]*[:-][\d:-]*", value) and re.sub(r"\d", "0", old) == re.sub(r"\d", "0", value):
        return True  # a date or a time in place of one
    if "," in value or re.fullmatch(r"[-+]?[\d.]+[eE][-+]?\d+|0o[0-7]+|[yYnN~]", value):
        return False
    try:
        return bool(yaml.safe_load(value) == value)
    except (yaml.YAMLError, ValueError):
        return False


def _quoted(kind: Kind, quote: str, text: str) -> str:
    if quote in text and kind.either_quote:
        quote = "'" if quote == '"' else '"'
    literal = quote == "'" and kind in {YAML, TOML, ENV, SHELL}
    if quote in text or (not literal and any(sign in text for sign in kind.unsafe)):
        raise NoPlace(f"`{text}` cannot be written within its quotes")
    if kind is CODE and quote == "'" and len(text) != 1:
        raise NoPlace(f"`{text}` is not a single character")
    return f"{quote}{text}{quote}"
