"""Adds a setting to a file that has none of this name, in the file's language (MOD-23). Pure.

Whatever is added is parsed: the file has to hold exactly the settings of before and the new one, or it is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser, Error
from typing import cast

import yaml

from remit_server.models.built_in.edits.kinds import ENV, TOML, YAML, Kind, NoPlace, kind_of
from remit_server.models.built_in.edits.spelling import spell

_SWITCHES = {"on": "true", "yes": "true", "off": "false", "no": "false"}
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_CLOSING = re.compile(r"\s*}\s*")
_FORMS: Mapping[str, str] = {"json": '"{name}": {value}', "yaml": "{name}: {value}", "toml": "{name} = {value}"}


def can_add(path: str, name: str) -> bool:
    """Returns whether a file consists of settings, and whether a new one can have this name."""
    try:
        return kind_of(path).name in READERS and _NAME.fullmatch(name) is not None
    except NoPlace:
        return False


def with_setting(path: str, lines: Sequence[str], name: str, value: str) -> tuple[int, str, str]:
    """Returns the number of the line below which the new setting goes, that line as it is then, and the new line.

    Raises NoPlace if the file sets the name already, or if there is no one place for the setting.
    """
    kind = kind_of(path)
    read = READERS[kind.name]
    before = read(lines)
    if before is None:
        raise NoPlace("I can add a setting only at the top level of a file that I can read")
    named = re.compile(rf"\s*([\"']?){re.escape(name)}\1\s*[:=]")
    if name in before or any(map(named.match, lines)):
        raise NoPlace(f"`{name}` is set already; to change it: set {name} to {value} in {path}")
    at = _last(kind, lines)
    above = lines[at - 1]
    opens = above.strip() == "{"
    shown = above if kind.name != "json" or opens else f"{above.rstrip()},"
    spelled = spell(kind, "0", _SWITCHES.get(value.lower(), value) if kind.words is not None else value)
    made = f"{_indent(kind, lines)}{_form(kind, lines).format(name=name, value=spelled)}"
    after = read((*lines[: at - 1], shown, made, *lines[at:]))
    alone = read(("{", made, "}") if kind.name == "json" else (*_section(kind, lines), made))
    if after is None or after != {**before, **(alone or {})} or name not in after:
        raise NoPlace(f"I cannot tell where `{name}` belongs in this file")
    return at, shown, made


def _last(kind: Kind, lines: Sequence[str]) -> int:
    """Returns the number of the last line with a text; in JSON, of the one before the closing brace."""
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    if kind.name == "json":
        if len(filled) < 2 or not _CLOSING.fullmatch(lines[filled[-1] - 1]):
            raise NoPlace("its closing brace is not on a line of its own")
        filled.pop()
    if not filled:
        raise NoPlace("the file is empty")
    return filled[-1]


def _indent(kind: Kind, lines: Sequence[str]) -> str:
    if kind.name != "json":
        return ""
    return next((match[1] for line in lines if (match := re.match(r'(\s+)"', line))), "  ")


def _form(kind: Kind, lines: Sequence[str]) -> str:
    """Returns how the file writes a setting, with the sign and the blanks that it uses."""
    if (form := _FORMS.get(kind.name)) is not None:
        return form
    default = "=" if kind is ENV else " = "
    signs = (match[1] for line in lines if (match := re.match(r"\s*[\w.-]+(\s*[=:]\s*)\S", line)))
    return f"{{name}}{next(signs, default)}{{value}}"


def _section(kind: Kind, lines: Sequence[str]) -> Sequence[str]:
    """Returns the header of the one section that an ini file has."""
    return [line for line in lines if line.startswith("[")][:1] if kind.name == "ini" else ()


def _text(lines: Sequence[str]) -> str:
    return "\n".join((*lines, ""))


def _read_json(lines: Sequence[str]) -> Mapping[str, object] | None:
    return _mapping(lambda: json.loads(_text(lines)))


def _read_yaml(lines: Sequence[str]) -> Mapping[str, object] | None:
    return _mapping(lambda: yaml.safe_load(_text(lines)) or {})


def _read_toml(lines: Sequence[str]) -> Mapping[str, object] | None:
    return _mapping(lambda: tomllib.loads(_text(lines)))


def _read_ini(lines: Sequence[str]) -> Mapping[str, object] | None:
    """Returns the settings of an ini file's one section."""

    def read() -> Mapping[str, object] | None:
        parser = ConfigParser(interpolation=None, allow_no_value=True)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read_string(_text(lines))
        return dict(parser.items(parser.sections()[0])) if len(parser.sections()) == 1 else None

    return _mapping(read)


def _read_env(lines: Sequence[str]) -> Mapping[str, object] | None:
    """Returns the settings of a file in which each line that is no comment sets a name."""
    texts = [text for line in lines if (text := line.strip()) and not text.startswith("#")]
    pairs = [text.removeprefix("export ").partition("=") for text in texts]
    plain = all(sign and _NAME.fullmatch(name) and "\\" not in value for name, sign, value in pairs)
    return {name: value for name, _, value in pairs} if plain else None


def _mapping(read: Callable[[], object]) -> Mapping[str, object] | None:
    """Returns what was read if it is a mapping with texts as keys, or else None."""
    try:
        found = read()
    except (ValueError, RecursionError, MemoryError, yaml.YAMLError, Error):
        return None
    known = cast("dict[object, object]", found) if isinstance(found, dict) else {None: found}
    texts = {key: value for key, value in known.items() if isinstance(key, str)}
    return texts if len(texts) == len(known) else None


READERS: Mapping[str, Callable[[Sequence[str]], Mapping[str, object] | None]] = {
    "json": _read_json,
    YAML.name: _read_yaml,
    TOML.name: _read_toml,
    "ini": _read_ini,
    ENV.name: _read_env,
}
"""How the settings of each kind of file are read, by the kind's name."""
