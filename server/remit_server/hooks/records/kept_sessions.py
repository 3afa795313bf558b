"""Keeps another agent's session from one process to the next (HOK-05): its folder, and its declared intent.

A session's folder is the one that it began in; no later event changes it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from remit_governance.intents import NO_INTENT, IntentState, select
from remit_governance.values import Intent
from remit_server.errors import SetupError
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.runtime.own_files.places import state_folder

MOST_BYTES = 64_000
KEPT_S = 90 * 86_400
"""Seconds that a session is kept after its last change. After that it begins anew in the folder it is in then."""


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session by its id, such as `claude-code:8f3`: the workspace, and the intent declared in it; `new` is whether
    nothing is kept of it yet.
    """

    id: str
    root: str = ""
    intent: IntentState = NO_INTENT
    new: bool = False


@dataclass(frozen=True, slots=True)
class KeptSessions:
    """The sessions in a folder of Remit's state."""

    folder: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> KeptSessions:
        """Returns the sessions of this person."""
        return cls(state_folder(environment) / "hooks")

    def get(self, session: str) -> KeptSession:
        """Returns what is kept of a session, or a new one if nothing is. Raises SetupError if it cannot be read."""
        place = self._place(session)
        try:
            if not place.exists():
                return KeptSession(session)
            return _parse(session, _read(place))
        except (OSError, ValueError) as error:
            raise _unusable(place, error) from error

    def declared_in(self, root: str) -> IntentState:
        """Returns the intent that a person declared for all sessions of a workspace."""
        return self.get(_of_workspace(root)).intent

    def bind(self, session: KeptSession) -> KeptSession:
        """Returns the session, and keeps the workspace of a new one. Raises SetupError."""
        root = session.root
        return self._change(session.id, lambda kept: replace(kept, root=kept.root or root)) if session.new else session

    def declare(self, session: str, intent: Intent | None, work_item: str | None = None) -> KeptSession:
        """Keeps the intent that a session has from now on, None for no intent. Raises SetupError."""
        state = NO_INTENT if intent is None else select(NO_INTENT, intent, work_item)
        return self._change(session, lambda kept: replace(kept, intent=state))

    def declare_in(self, root: str, intent: Intent | None, work_item: str | None = None) -> None:
        """Keeps the intent for all sessions of a workspace. Raises SetupError."""
        self.declare(_of_workspace(root), intent, work_item)

    def prune(self) -> None:
        """Removes sessions that nothing has changed for `KEPT_S`. Never raises."""
        with suppress(OSError):
            for place in self.folder.glob("*.json"):
                if time.time() - place.stat().st_mtime > KEPT_S:
                    place.unlink()

    def _change(self, session: str, change: Callable[[KeptSession], KeptSession]) -> KeptSession:
        place = self._place(session)
        try:
            text = rewrite(place, lambda now: _text(change(_parse(session, now))), _read)
        except (OSError, ValueError) as error:
            raise _unusable(place, error) from error
        return _parse(session, text)

    def _place(self, session: str) -> Path:
        named = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / f"{named[:32]}.json"


def _of_workspace(root: str) -> str:
    return f"workspace:{root}"


def _read(place: Path) -> str:
    if not place.is_file() or place.stat().st_size > MOST_BYTES:
        raise ValueError("it is not a file, or it is too large")
    return place.read_text("utf-8")


def _text(kept: KeptSession) -> str:
    given = {"session": kept.id, "root": kept.root, "intent": kept.intent.active, "work_item": kept.intent.work_item}
    return json.dumps(given) + "\n"


def _parse(session: str, text: str) -> KeptSession:
    """Returns the session in a text. Raises ValueError."""
    if not text:
        return KeptSession(session)
    value: object = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    given = cast("dict[str, Any]", value)
    active = None if given.get("intent") is None else Intent(given["intent"])
    return KeptSession(session, str(given.get("root", "")), IntentState(active, given.get("work_item")))


def _unusable(place: Path, error: Exception) -> SetupError:
    why = (getattr(error, "strerror", None) or str(error)).lower()
    return SetupError(f"the saved session in `{place}` cannot be used", why, "remove the file")
