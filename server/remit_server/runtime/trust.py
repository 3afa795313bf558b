"""Whether the person trusts what a folder brings: its configuration, prompts and instructions (CFG-06).

It is asked once and recorded in the person's state, for this very folder and what was in it: another folder at its path
is asked about anew, and so is what arrives later. A project's policy and the scopes of its work items need no trust,
for they only tighten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from remit_governance.work_items import WORK_ITEMS_FILE
from remit_server.errors import SetupError
from remit_server.runtime.places import folder_identity, workspace_state

_NAME = "trust.json"
INSTRUCTIONS = "AGENTS.md"
_BROUGHT = (".remit/config.yaml", ".remit/config.json", ".remit/prompts", INSTRUCTIONS, WORK_ITEMS_FILE)


def trust_file(root: Path, environment: Mapping[str, str] | None = None) -> Path:
    """Returns where the answer about a folder is recorded."""
    return workspace_state(root, os.environ if environment is None else environment) / _NAME


def brought(root: Path) -> tuple[str, ...]:
    """Returns what lies in a folder that counts once it is trusted, relative to it."""
    return tuple(name for name in _BROUGHT if os.path.lexists(root / name))


def arrived(root: Path, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Returns what lies in a folder that was not there when the person said that they trust it.

    Work items are not among it: Remit writes them itself, and their scopes only tighten.
    """
    known = _read_answer(root, environment).get("brought")
    if not isinstance(known, list):  # it was answered before this was recorded
        return ()
    return tuple(name for name in brought(root) if name not in known and name != WORK_ITEMS_FILE)


def read_trust(root: Path, environment: Mapping[str, str] | None = None) -> bool | None:
    """Returns what the person answered about a folder; None where they were not asked about all that it brings."""
    trusted = _read_answer(root, environment).get("trusted")
    if not isinstance(trusted, bool) or (trusted and arrived(root, environment)):
        return None
    return trusted


def as_it_holds(answered: bool | None, root: Path) -> bool | None:
    """Returns an answer as it holds by now: in a session, too, what arrives was not asked about."""
    return None if answered and arrived(root) else answered


def _read_answer(root: Path, environment: Mapping[str, str] | None) -> dict[str, object]:
    """Returns what is recorded about this very folder; nothing where that cannot be read."""
    file = trust_file(root, environment)
    try:
        value: object = json.loads(file.read_text(encoding="utf-8"))
        identity = folder_identity(root)
    except (OSError, ValueError):
        return {}
    answer = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return answer if answer.get("folder") == identity else {}


def write_trust(root: Path, *, trusted: bool, environment: Mapping[str, str] | None = None) -> None:
    """Records an answer. Raises SetupError."""
    file = trust_file(root, environment)
    temporary = file.with_name(f".{_NAME}.{os.getpid()}.new")
    try:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        record = {
            "folder": folder_identity(root),
            "trusted": trusted,
            "when": when,
            "brought": sorted({*brought(root), *_known(root, environment)}),
        }
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as open_file:
            json.dump(record, open_file)
        temporary.replace(file)
    except OSError as error:
        why = f"{file}: {(error.strerror or str(error)).lower()}"
        raise SetupError("the answer was not recorded", why, "make the folder writable") from error


def _known(root: Path, environment: Mapping[str, str] | None) -> list[str]:
    """What was asked about before: a file that goes and comes back with another branch is not asked about again."""
    known = _read_answer(root, environment).get("brought")
    return [str(name) for name in cast("list[object]", known)] if isinstance(known, list) else []


def left_out(names: Sequence[str]) -> str:
    """Returns the sentence that says what of a folder does not count, and how it will."""
    listed = ", ".join(f"`{name}`" for name in names)
    do = "do" if len(names) > 1 else "does"
    return f"{listed} of this folder {do} not count: run `remit config trust` if you trust it"
