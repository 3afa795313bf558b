"""The settings of a running server: read again when the configuration changes (CFG-05)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, fields

from remit_server.errors import SetupError
from remit_server.runtime.config.form import KEYS, value_of
from remit_server.runtime.notice import Notice
from remit_server.runtime.settings import Settings

log = logging.getLogger(__name__)


@dataclass(slots=True)
class LiveSettings:
    """The settings in force. `read` reads the files and the environment; `put` puts new settings into effect, and
    raises SetupError if that cannot be done."""

    now: Settings
    read: Callable[[], Settings]
    put: Callable[[Settings], None] = lambda settings: None
    problem: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def reload(self) -> Notice | None:
        """Put the configuration in force from the next turn on as it is now, or keep the old one if it cannot be used;
        None if there is nothing new to say."""
        async with self._lock:
            try:
                new = await asyncio.to_thread(self.read)
                changed = sorted(changes(self.now, new))
                if changed:
                    self.put(new)
            except SetupError as error:
                return self._failed(error)
            mended, self.problem, self.now = bool(self.problem), "", new
        if changed:
            names = ", ".join(f"`{name}`" for name in changed)
            log.info("the configuration was changed: %s", names)
            return Notice(True, f"The configuration changed; from the next turn on, these apply: {names}")
        return Notice(True, "The configuration is valid again") if mended else None

    def _failed(self, error: SetupError) -> Notice | None:
        known, self.problem = self.problem, f"{error.what}: {error.why}; {error.fix}"
        if known == self.problem:
            return None
        return Notice(
            False, f"The configuration on disk has a mistake; the previous one stays in force: {self.problem}"
        )


def changes(old: Settings, new: Settings) -> set[str]:
    """Returns the settings that differ, as a file names them, and the other fields of `Settings` that differ."""
    names = {each.name for each in fields(Settings) if each.compare} - {"config"}
    found = {name for name in names if getattr(old, name) != getattr(new, name)}
    return found | {".".join(key) for key in KEYS if value_of(old.config, key) != value_of(new.config, key)}
