"""The registry of the person's plugins, a folder each: finds, examines, installs and removes them (PLG-02)."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from remit_server.counted import list_some
from remit_server.errors import SetupError, os_reason
from remit_server.own_files import entries_of, stamp_of
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.tools.plugins.manifest import NAME, Files, Manifest, manifest_of, read_files, unusable
from remit_server.tools.plugins.record import (
    FILES,
    FOLDER,
    RECORD,
    CallablePlugin,
    Life,
    PluginState,
    Record,
    changed_files,
    read_record,
    spell,
    taken,
)

CHANGED = "its files differ from those you accepted"
BY_THE_PERSON = "you disabled it"


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin as it was found: all that could be read of it, and the state that it is in (`life`)."""

    name: str
    place: Path
    life: Life
    manifest: Manifest | None = None
    record: Record | None = None
    files: Files | None = None

    @property
    def folder(self) -> Path:
        """The folder of the plugin's own files."""
        return self.place / FILES


class Plugins:
    """The plugins of a person's configuration folder. The state of each is kept from one look to the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER
        self._lives: dict[str, Life] = {}

    def find(self) -> tuple[Found, ...]:
        """Looks at all plugins again; those that are gone are unloaded."""
        found = tuple(self._look(place) for place in places(self.folder))
        for name in self._lives.keys() - {each.name for each in found}:
            if (life := self._lives[name]).usable:
                self._lives[name] = life.move(PluginState.UNLOADED, "it is gone")
        return found

    def life_of(self, name: str) -> Life:
        """Returns the state of a plugin."""
        return self._lives.get(name, Life())

    def stamps(self) -> Iterator[tuple[object, ...]]:
        """Yields values that change with the files of each plugin, and with whether it can be called."""
        for place in places(self.folder):
            yield (place.name, self.life_of(place.name).usable)
            for file in (place / RECORD, *_below(place / FILES)):
                yield (str(file), stamp_of(file))

    def plugin(self, found: Found) -> CallablePlugin | None:
        """Returns what the rows of a plugin's tools are made of, or None if the plugin cannot be called."""
        if not found.life.usable or found.manifest is None or found.record is None:
            return None
        name = found.name
        return CallablePlugin(
            manifest=found.manifest,
            folder=found.folder,
            record=found.record,
            changed=partial(self._why_not, found),
            greeted=partial(self._greeted, name),
            broke=partial(self._broke, found),
        )

    def _look(self, place: Path) -> Found:
        before = self._lives.get(place.name)
        found = look_at(place, Life() if before is None else before.look_again())
        self._lives[place.name] = found.life
        return found

    def _why_not(self, found: Found) -> str | None:
        """Returns why a plugin may not be called, by its files as they are now, or None if it may."""
        life = self.life_of(found.name)
        if not life.usable:
            return life.reason or f"it is {life.state}"
        now = look_at(found.place, Life())
        if now.life.usable and now.record == found.record:
            return None
        why = now.life.reason or CHANGED
        self._lives[found.name] = life.move(PluginState.DISABLED, why)
        return why

    def _greeted(self, name: str) -> None:
        if self.life_of(name).state is PluginState.LOADED:
            self._lives[name] = self._lives[name].move(PluginState.ACTIVE)

    def _broke(self, found: Found, why: str) -> None:
        """Disables a plugin that broke the protocol, until the person enables it again."""
        reason = f"it broke the protocol: it sent {why}"
        life = self.life_of(found.name)
        if life.usable:
            self._lives[found.name] = life.move(PluginState.DISABLED, reason)
        with contextlib.suppress(OSError, SetupError):
            record = read_record(found.place / RECORD)
            keep(found.place, record.model_copy(update={"enabled": False, "reason": reason}))


def places(folder: Path) -> tuple[Path, ...]:
    """Returns the folder of each plugin."""
    return tuple(entries_of(folder, lambda _: True))


def look_at(place: Path, life: Life) -> Found:
    """Returns the plugin in a folder, with the state that its files and record lead to."""
    name, manifest, record, files = place.name, None, None, None
    try:
        if not NAME.fullmatch(name):
            raise unusable(
                f"the name of `{place}` is not a valid plugin name",
                "rename it, with small letters, digits, `-` and `_`",
            )
        if place.is_symlink() or (place / FILES).is_symlink():
            raise unusable(f"`{place}` or its files are a link", "install it again")
        record = read_record(place / RECORD)
        files = read_files(place / FILES)
        changed = changed_files(record, files)
        try:
            manifest = manifest_of(place / FILES, files)
        except SetupError:
            if not changed:
                raise
    except SetupError as error:
        life = life.move(PluginState.REJECTED, f"{error.why}; {error.fix}")
        return Found(name, place, life, manifest, record, files)
    if not changed and manifest is not None and manifest.name != name:
        life = life.move(PluginState.REJECTED, f"`{place}` is the plugin `{manifest.name}`; install it again")
        return Found(name, place, life, manifest, record, files)
    life = life.move(PluginState.REGISTERED)
    if changed:
        fix = f"look at the change with `remit plugin show {name}`, and accept it with `remit plugin enable {name}`"
        life = life.move(PluginState.DISABLED, f"{CHANGED}: {list_some(changed, 5)}; {fix}")
    elif not record.enabled:
        life = life.move(PluginState.DISABLED, record.reason or BY_THE_PERSON)
    else:
        life = life.move(PluginState.LOADED)
    return Found(name, place, life, manifest, record, files)


def _below(folder: Path) -> Iterator[Path]:
    for above, _, names in os.walk(folder):
        yield Path(above)
        yield from (Path(above, name) for name in sorted(names))


def keep(place: Path, record: Record) -> None:
    """Writes the record of a plugin. Raises SetupError."""
    text = spell(record)
    try:
        rewrite(place / RECORD, lambda _: text)
    except OSError as error:
        fix = "make its folder writable"
        raise SetupError("the plugin was not saved", f"`{place / RECORD}`: {os_reason(error)}", fix) from error


def install(folder: Path, manifest: Manifest, files: Files, reads_only: Iterable[str]) -> Path:
    """Writes the files of a plugin and the record that the person took them; returns its place. Raises SetupError."""
    place = folder / FOLDER / manifest.name
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A plugin without a record never runs, so no half of one does.
        (place / RECORD).unlink(missing_ok=True)
        shutil.rmtree(place / FILES, ignore_errors=True)
        for relative, file in files.items():
            target = place / FILES / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
            # Only the person can enter the plugin's place; but root's container runs the plugin as another user than
            # root.
            target.chmod(0o755 if file.executable else 0o644)
            for above in target.relative_to(place).parents:
                (place / above).chmod(0o755 if above.parts else 0o700)
    except OSError as error:
        fix = "make the folder of your configuration writable"
        raise SetupError("the plugin was not installed", f"`{place}`: {os_reason(error)}", fix) from error
    keep(place, taken(manifest.kind, files, reads_only))
    return place


def remove(folder: Path, name: str) -> bool:
    """Removes a plugin; returns whether there was one. Raises OSError."""
    place = folder / FOLDER / name
    if not os.path.lexists(place):
        return False
    if place.is_symlink() or not place.is_dir():
        place.unlink()
    else:
        shutil.rmtree(place)
    return True
