"""Resolves settings from their sources, of which the later one wins (CFG-01, CFG-02).

The sources are the system's file, the person's, `~/.remit.yaml`, the project's, an editor, the environment and the
command line. A value in a project's file counts only if it loosens nothing, and a key that it must not set is an error;
the file of a folder that is not trusted is not read. Problems of a file are reported with their place (CFG-03).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from platformdirs import site_config_path
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.language.document import OF_PROJECT, OWN, Document
from remit_governance.policy.language.parse_form import parse_form
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError, os_reason
from remit_server.own_files import read_at_most
from remit_server.runtime.config.form import KEYS, SECTIONS, ConfigForm, project_may, value_of, variable_of
from remit_server.runtime.own_files.folder_record import read_trust
from remit_server.runtime.own_files.places import config_folder

MAX_BYTES = 1 << 20


def read_file(path: Path, *, project: bool) -> tuple[Document, ConfigForm]:
    """Reads a file; returns its document, with the place of each value, and its settings. Raises SetupError with the
    first problem in it."""
    try:
        text = read_at_most(path, MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = os_reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise unusable(f"{path}: {why}", "make it a readable text file, or remove it") from error
    try:
        return parse(str(path), text, project=project)
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error


def parse(file: str, text: str, *, project: bool) -> tuple[Document, ConfigForm]:
    """Returns the document and the settings of a file's text. Raises PolicyError with every problem in it."""
    document, form = parse_form(file, text, ConfigForm, SECTIONS, most=OF_PROJECT if project else OWN)
    if project and (problems := tuple(_not_a_projects(document, form))):
        raise PolicyError(problems)
    return document, form


def unusable(why: str, fix: str) -> SetupError:
    """Returns the error of a configuration that cannot be used."""
    return SetupError("the configuration cannot be used", why, fix, code=ErrorCode.INVALID_REQUEST)


def _not_a_projects(document: Document, form: ConfigForm) -> Iterator[Problem]:
    for section in sorted(form.model_fields_set):
        for name in sorted(getattr(form, section).model_fields_set):
            if project_may(section, name) == "no":
                fix = f"remove it there; you can set it in your own file, or as {variable_of(section, name)}"
                yield document.problem((section, name), f"a project may not set `{section}.{name}`", fix)


Layer = Literal["default", "system", "user", "home", "project", "editor", "environment", "command line"]
NAMES = ("config.yaml", "config.json")
HOME_NAMES = (".remit.yaml", ".remit.json")
Key = tuple[str, str]
_OF_NUMBERS = ("int_", "float_", "finite_", "greater_", "less_")
"""How the types of pydantic's errors about numbers begin."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a value: the layer, and the file or variable."""

    layer: Layer
    where: str = ""

    def __str__(self) -> str:
        return f"{self.layer}: {self.where}" if self.where else self.layer


@dataclass(frozen=True, slots=True)
class Resolved:
    """All settings in force, and where each comes from."""

    form: ConfigForm
    origins: Mapping[Key, Origin]

    def value(self, key: Key) -> Any:
        """Returns the value of one setting."""
        return value_of(self.form, key)


def places(workspace: Path | None, environment: Mapping[str, str]) -> Iterator[tuple[Layer, tuple[Path, ...]]]:
    """Yields the files of each layer, the weakest layer first; at most one file of a layer may exist."""
    home = Path(environment.get("HOME") or Path.home())
    yield "system", tuple(site_config_path("remit") / name for name in NAMES)
    yield "user", tuple(config_folder(environment) / name for name in NAMES)
    yield "home", tuple(home / name for name in HOME_NAMES)
    if workspace is not None:
        yield "project", tuple(workspace / ".remit" / name for name in NAMES)


def resolve(
    workspace: Path | None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[Key, str] | None = None,
    editor: Mapping[Key, Any] | None = None,
) -> Resolved:
    """Returns the settings for a workspace, or for None without a project's; `given` are those of the command line,
    `editor` those that an editor may set.

    Raises SetupError with the file and line, or the variable, of what cannot be used.
    """
    env = os.environ if environment is None else environment
    values: dict[Key, Any] = {}
    origins: dict[Key, Origin] = {}
    for layer, files in places(workspace, env):
        if layer == "project" and workspace is not None and not read_trust(workspace, env):
            continue
        for key, value, origin in _file_values(layer, files):
            if layer == "project" and not _taken(key, value, values):
                continue
            values[key], origins[key] = value, origin
    for key, value in (editor or {}).items():
        if _taken(key, value, values):
            values[key], origins[key] = value, Origin("editor")
    # A blank variable counts as unset.
    variables = {key: text for key in KEYS if (text := env.get(variable_of(*key), "")).strip()}
    for key, text in variables.items():
        values[key], origins[key] = _parsed(key, text, variable_of(*key)), Origin("environment", variable_of(*key))
    for key, text in (given or {}).items():
        values[key], origins[key] = _parsed(key, text, ".".join(key)), Origin("command line")
    nested: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for (section, name), value in values.items():
        nested[section][name] = value
    form = ConfigForm.model_validate(nested)
    return Resolved(form, {key: origins.get(key, Origin("default")) for key in KEYS})


def _taken(key: Key, value: Any, values: Mapping[Key, Any]) -> bool:
    """Returns whether a project's or an editor's value counts: if it may only tighten, it has to be stricter."""
    before = values.get(key, SECTIONS[key[0]].model_fields[key[1]].default)
    return project_may(*key) != "tighten" or strictness(key, value) < strictness(key, before)


def strictness(key: Key, value: Any) -> float:
    """Returns where a value stands among those of its key: the lower, the stricter."""
    if isinstance(value, str):  # its type lists the words, the strictest first
        return get_args(SECTIONS[key[0]].model_fields[key[1]].annotation).index(value)
    return float(value)


def _file_values(layer: Layer, files: tuple[Path, ...]) -> Iterator[tuple[Key, Any, Origin]]:
    there = [path for path in files if path.is_file()]
    if len(there) > 1:
        why = f"both `{there[0]}` and `{there[1]}` exist"
        raise unusable(why, "keep one of them")
    for path in there:
        document, form = read_file(path, project=layer == "project")
        for section in sorted(form.model_fields_set):
            found = getattr(form, section)
            for name in sorted(found.model_fields_set):
                key = (section, name)
                yield key, getattr(found, name), Origin(layer, f"{path}:{document.mark(key)[0]}")


def _parsed(key: Key, text: str, name: str) -> Any:
    section, field = key
    try:
        return getattr(SECTIONS[section].model_validate({field: text}), field)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        why = _in_words(found, SECTIONS[section].model_fields[field].metadata)
        what, fix = f"cannot use {name}=`{text}`", f"set such a value, or unset {name}"
        raise SetupError(what, why, fix, code=ErrorCode.INVALID_REQUEST) from error


def _in_words(error: ErrorDetails, bounds: list[Any]) -> str:
    kind = error["type"]
    if kind.startswith("bool"):
        return "it is neither `on` nor `off`"
    if kind == "literal_error":
        expected = str(error.get("ctx", {}).get("expected", ""))
        return f"it is not one of {expected.replace(chr(39), '`').replace(' or ', ', ')}"
    if not kind.startswith(_OF_NUMBERS):
        said = error["msg"].removeprefix("Value error, ")
        return said[:1].lower() + said[1:]
    least = next((f"from {each.ge:g}" for each in bounds if hasattr(each, "ge")), "above 0")
    most = next((f" up to {each.le:g}" for each in bounds if hasattr(each, "le")), "")
    return f"it is not a number {least}{most}"
