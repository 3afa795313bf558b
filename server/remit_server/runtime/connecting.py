"""Connects a model that the person chose: tries one governed step with it, and keeps it in the person's configuration
file (MOD-27), where everything else stays as it is (CFG-04).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from remit_governance.errors import PolicyError
from remit_server.errors import SetupError, os_reason
from remit_server.models.check import ModelReport, check_model
from remit_server.models.remote.engines import sent_to
from remit_server.own_files import read_at_most
from remit_server.runtime.config.layers import MAX_BYTES, NAMES, Key, Origin, parse, resolve, unusable
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.runtime.own_files.places import config_folder
from remit_server.runtime.settings import engine_options


class _NoPlace(Exception):
    """The setting cannot be put into the text without other changes."""


def own_file(environment: Mapping[str, str]) -> Path:
    """Returns the person's configuration file: the existing one, or else where it would be made."""
    named = [config_folder(environment) / name for name in NAMES]
    return next((path for path in named if path.is_file()), named[0])


def keep_setting(key: Key, value: str, environment: Mapping[str, str]) -> Path:
    """Sets a setting in the person's file, which is made if it does not exist, and returns the file.

    Raises SetupError if the file cannot be read or written, and leaves it unchanged then.
    """
    file = own_file(environment)
    try:
        rewrite(file, lambda text: with_setting(str(file), text, key, value), _read)
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error
    except _NoPlace as error:
        raise _not_kept(file, str(error), f"set `{'.'.join(key)}: {value}` in it by hand") from error
    except (OSError, UnicodeDecodeError) as error:
        why = os_reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise _not_kept(file, why, "make it a writable text file, or remove it") from error
    return file


def with_setting(file: str, text: str, key: Key, value: str) -> str:
    """Returns the text with this setting, and everything else in it untouched.

    Raises PolicyError if the text is no configuration, _NoPlace if more than this setting would change.
    """
    before = parse(file, text, project=False)[1]
    changed = _placed(text, key, json.dumps(value, ensure_ascii=False))
    try:
        after = parse(file, changed, project=False)[1]
    except PolicyError as error:
        raise _NoPlace(error.why) from error
    section, name = key
    wanted = before.model_dump(exclude_unset=True)
    wanted.setdefault(section, {})[name] = value
    if after.model_dump(exclude_unset=True) != wanted:
        raise _NoPlace("more than this setting would change")
    return changed


def _placed(text: str, key: Key, spelled: str) -> str:
    section, name = key
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, MappingNode):
        return f"{_ended(text)}{section}:\n  {name}: {spelled}\n"
    found = _value(root, section)
    if found is None:
        return _with_pair(text, root, section, f"{{{json.dumps(name)}: {spelled}}}", f"\n  {name}: {spelled}")
    if not isinstance(found, MappingNode):  # a section without anything in it
        return f"{text[: found.start_mark.index]}\n  {name}: {spelled}{text[found.end_mark.index :]}"
    if (value := _value(found, name)) is not None:
        return f"{text[: value.start_mark.index]}{spelled}{text[value.end_mark.index :]}"
    return _with_pair(text, found, name, spelled, f" {spelled}")


def _with_pair(text: str, mapping: MappingNode, key: str, flow: str, block: str) -> str:
    """Returns the text with a pair at the beginning of a mapping, in flow style if the mapping is written so."""
    at = mapping.start_mark.index
    if mapping.flow_style:
        return f"{text[: at + 1]}{json.dumps(key)}: {flow}{', ' if mapping.value else ''}{text[at + 1 :]}"
    margin = " " * mapping.start_mark.column
    pair = f"{key}:{block}".replace("\n", f"\n{margin}")
    return f"{text[:at]}{pair}\n{margin}{text[at:]}"


def _value(mapping: MappingNode, name: str) -> Node | None:
    return next((value for key, value in mapping.value if isinstance(key, ScalarNode) and key.value == name), None)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _read(path: Path) -> str:
    return read_at_most(path, MAX_BYTES).decode("utf-8-sig")


def _not_kept(file: Path, why: str, fix: str) -> SetupError:
    return SetupError("the setting was not saved", f"{file}: {why}", fix)


_MODEL = ("model", "name")


@dataclass(frozen=True, slots=True)
class Connected:
    """The result of connecting: the report of the trial step, the host that messages are sent to (None: this machine),
    and the file that keeps the model.

    `file` is None if nothing was kept because the step failed, as `report.problem` says. `before` is a stronger source
    that names another model, such as a variable.
    """

    report: ModelReport
    sent_to: str | None
    file: Path | None = None
    before: Origin | None = None


async def connect_model(reference: str, workspace: Path | None) -> Connected:
    """Tries a model, and keeps it in the person's configuration if it declares and calls as it has to: under the name
    that its server has for it, if that is another one.

    Raises SetupError for what is no reference, and if the configuration cannot be written.
    """
    leaves_for = sent_to(whole(reference))
    report = await check_model(reference, engine_options(resolve(workspace).form))
    if not report.ok:
        return Connected(report, leaves_for)
    kept = report.answers_as or reference
    file = await asyncio.to_thread(keep_setting, _MODEL, kept, os.environ)
    now = resolve(workspace)
    before = None if now.value(_MODEL) == kept else now.origins[_MODEL]
    return Connected(report, leaves_for, file, before)


def whole(reference: str) -> str:
    """Returns a reference that names a model. Raises SetupError for one that only names a service."""
    if reference.endswith(":"):
        fix = f"add its name, as in `{reference}NAME`; the service's own pages list them"
        raise SetupError("no model was connected", f"`{reference}` names a service, but no model", fix)
    return reference


def describe_connected(connected: Connected) -> str:
    """Returns what a person is told of a model that works: its device, where messages go, and which file keeps it."""
    report = connected.report
    held = f" ({report.device}; one step took {report.step_s:.1f} s)" if report.calls else ""
    lines = [f"`{report.reference}` works{held}.", where_messages_go(connected.sent_to)]
    if report.answers_as is not None:
        lines[0] = f"The server has no model of the name in `{report.reference}`; `{report.answers_as}` works{held}."
    if connected.file is not None:
        lines.append(f"It is your model from now on, saved in `{connected.file}`.")
    if connected.before is not None:
        lines.append(f"But {connected.before} names another one, which is used instead: remove that to use this one.")
    return " ".join(lines)


def where_messages_go(host: str | None) -> str:
    """Returns the sentence that says where messages to a model go; None is this machine."""
    return "Messages to it stay on this machine." if host is None else f"Messages to it are sent to {host}."
