"""Reads Remit's settings from an editor's (CFG-02; LSP-15).

An editor's settings may come from the workspace, and the editor does not say so. They may therefore do only what a
project's file may. Each setting that does not count is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import ValidationError

from remit_governance.secrets.cutting import shorten
from remit_server.runtime.config.form import SECTIONS, project_may, variable_of
from remit_server.runtime.config.layers import Key, Resolved, strictness

MOST = 200
"""Keys of an editor's settings that are looked at."""


def read_editor(given: object, before: Resolved, *, trusted: bool | None) -> tuple[Mapping[Key, Any], tuple[str, ...]]:
    """Returns the settings that count, and a sentence for each of the others. `before` are those without them."""
    if given is None:
        return {}, ()
    if not isinstance(given, Mapping):
        return {}, ("the editor's `remit` settings are not an object, and do not count",)
    values: dict[Key, Any] = {}
    complaints: list[str] = []
    for key, value in _flat(cast("Mapping[str, Any]", given)):
        read = _read(key, value, before, trusted=trusted)
        if isinstance(read, str):
            complaints.append(f"the editor's setting `remit.{shorten('.'.join(key), 80)}` does not count: {read}")
        else:
            values[cast("Key", key)] = read[0]
    return values, tuple(complaints)


def _flat(given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the keys with their values, as many as are looked at."""
    found = 0
    for section, inside in given.items():
        pairs: list[tuple[tuple[str, ...], Any]] = [((section,), inside)]
        if isinstance(inside, Mapping):
            settings = cast("Mapping[str, Any]", inside)
            pairs = [((section, name), value) for name, value in settings.items()]
        for key, value in pairs:
            found += 1
            if found > MOST:
                return
            if value is not None:
                yield key, value


def _read(key: tuple[str, ...], value: Any, before: Resolved, *, trusted: bool | None) -> tuple[Any] | str:
    """Returns the value, or why it does not count."""
    if len(key) != 2 or key[0] not in SECTIONS or key[1] not in SECTIONS[key[0]].model_fields:
        return "there is no such setting"
    section, name = key
    may = project_may(section, name)
    if may == "no":
        yours = f"your own `config.yaml`, or as {variable_of(section, name)}"
        return f"an editor cannot set it, because editor settings can come from a workspace; set it in {yours}"
    if may == "free" and trusted is False:
        return "you do not trust this folder, and the setting may come from it"
    try:
        read = getattr(SECTIONS[section].model_validate({name: value}), name)
    except ValidationError as error:
        return error.errors(include_url=False, include_input=False)[0]["msg"].lower()
    setting, counts = (section, name), before.value((section, name))
    if may == "tighten" and strictness(setting, read) > strictness(setting, counts):
        shown = counts if isinstance(counts, str) else f"{counts:g}"
        return f"an editor can only make it stricter, so `{shown}` counts"
    return (read,)
