"""The record of a plugin that the person accepted, in a file beside it: the digests and texts of its files, and what
the person decided (PLG-02).

The states of a plugin, and which state may follow which, are one table (PLG-03).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from remit_server.contract import Wire
from remit_server.errors import os_reason
from remit_server.own_files import read_at_most
from remit_server.tools.plugins.manifest import Files, Kind, Manifest, digest_of, unusable


class PluginState(StrEnum):
    """The states of a plugin."""

    DISCOVERED = "discovered"
    REJECTED = "rejected"
    REGISTERED = "registered"
    LOADED = "loaded"
    ACTIVE = "active"
    DISABLED = "disabled"
    UNLOADED = "unloaded"


_S = PluginState

EDGES: Mapping[PluginState, Mapping[PluginState, str]] = MappingProxyType(
    {
        _S.DISCOVERED: {
            _S.REGISTERED: "its manifest is valid, and the person accepted it",
            _S.REJECTED: "its manifest is not valid, or nobody accepted it",
        },
        _S.REJECTED: {_S.DISCOVERED: "it is looked at again"},
        _S.REGISTERED: {
            _S.LOADED: "its files are those that were accepted, and its tools are offered",
            _S.DISABLED: "its files differ from those that were accepted, or the person disabled it",
        },
        _S.LOADED: {
            _S.ACTIVE: "it answered its handshake",
            _S.DISABLED: "it broke the protocol, changed, or the person disabled it",
            _S.UNLOADED: "it is gone, or looked at again",
        },
        _S.ACTIVE: {
            _S.DISABLED: "it broke the protocol, changed, or the person disabled it",
            _S.UNLOADED: "it is gone, or looked at again",
        },
        _S.DISABLED: {_S.DISCOVERED: "it is looked at again"},
        _S.UNLOADED: {_S.DISCOVERED: "it is looked at again"},
    }
)
"""For each state, the states that may follow, and when. No other change of state is possible."""


class NoSuchEdge(ValueError):
    """A plugin cannot change from the one state to the other."""


@dataclass(frozen=True, slots=True)
class Life:
    """A plugin's state, and the reason for it if the plugin cannot be used."""

    state: PluginState = PluginState.DISCOVERED
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether the plugin's tools can be called."""
        return self.state in {PluginState.LOADED, PluginState.ACTIVE}

    def move(self, to: PluginState, reason: str = "") -> Life:
        """Returns the life in the state `to`. Raises NoSuchEdge."""
        if to not in EDGES[self.state]:
            raise NoSuchEdge(f"no plugin can go from {self.state} to {to}")
        return Life(to, reason)

    def look_again(self) -> Life:
        """Returns the life of a plugin that is found anew."""
        life = self.move(PluginState.UNLOADED) if self.usable else self
        return life if life.state is PluginState.DISCOVERED else life.move(PluginState.DISCOVERED)


FOLDER, FILES, RECORD = "plugins", "files", "record.json"
_MAX_TEXT = 100_000
_MAX_TEXTS = 1_000_000
_MAX_BYTES = 8 << 20


class Record(Wire):
    """What the person accepted. `kind` is what the plugin brings. `digests` are those of its files, `texts` their
    contents, which show what changed since. `reads_only` are the tools that, by the person's word, change nothing;
    `reason` says why the plugin is not `enabled`."""

    kind: Kind
    digest: str
    digests: Mapping[str, str]
    texts: Mapping[str, str] = {}
    reads_only: tuple[str, ...] = ()
    enabled: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CallablePlugin:
    """A plugin that can be called. `changed` returns why the plugin differs from the accepted one, or None. `greeted`
    is called when its handshake succeeded, `broke` when it broke the protocol."""

    manifest: Manifest
    folder: Path
    record: Record
    changed: Callable[[], str | None]
    greeted: Callable[[], None]
    broke: Callable[[str], None]


def taken(kind: Kind, files: Files, reads_only: Iterable[str]) -> Record:
    """Returns the record of the plugin that a person accepts now."""
    texts: dict[str, str] = {}
    room = _MAX_TEXTS
    for name, file in files.items():
        if len(file.data) <= min(_MAX_TEXT, room) and (text := _text(file.data)) is not None:
            texts[name] = text
            room -= len(file.data)
    digests = {name: file.digest for name, file in files.items()}
    return Record(kind=kind, digest=digest_of(files), digests=digests, texts=texts, reads_only=tuple(reads_only))


def read_record(file: Path) -> Record:
    """Reads a record. Raises SetupError, also if nobody has accepted the plugin."""
    fix = "accept it with `remit plugin install FOLDER`, or remove its folder"
    try:
        return Record.model_validate_json(read_at_most(file, _MAX_BYTES))
    except FileNotFoundError as error:
        raise unusable(f"nobody has accepted the plugin in `{file.parent}`", fix) from error
    except OSError as error:
        raise unusable(f"`{file}`: {os_reason(error)}", fix) from error
    except ValidationError as error:
        raise unusable(f"`{file}` is not the record of a plugin", fix) from error


def spell(record: Record) -> str:
    """Returns the text for a record's file."""
    return json.dumps(record.model_dump(mode="json", exclude_defaults=True), indent=1, ensure_ascii=False) + "\n"


def changed_files(record: Record, files: Files) -> tuple[str, ...]:
    """Returns the names of the files that differ from the accepted ones, including missing and new files."""
    now = {name: file.digest for name, file in files.items()}
    return tuple(name for name in sorted(record.digests.keys() | now) if record.digests.get(name) != now.get(name))


def differences(record: Record, files: Files) -> Iterator[str]:
    """Yields a diff, line by line, between the accepted plugin and the present one."""
    for name in changed_files(record, files):
        before = record.texts.get(name) if name in record.digests else ""
        after = _text(files[name].data) if name in files else ""
        if before is None or after is None or before == after:
            yield f"{name}: {_fate(name, record, files)}"
            continue
        old, new = f"{name}, as you accepted it", f"{name}, now" if name in files else "gone"
        yield from difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="")


def _fate(name: str, record: Record, files: Files) -> str:
    if name not in files:
        return "gone"
    return "new" if name not in record.digests else f"changed, {len(files[name].data)} bytes now"


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
