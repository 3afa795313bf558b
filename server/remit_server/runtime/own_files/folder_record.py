"""What the person's state records of a workspace's folder: its id, and whether the person trusts what it brings.

Another folder at the same path gets another id (APP-05). The person is asked once whether they trust the folder's
configuration, prompts, instructions and skills; the answer is recorded for this very folder and for what was in it
(CFG-06). They are asked again about another folder at its path, and about what arrives later. A project's policy and
the scopes of its work items need no trust, because they only tighten.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from remit_governance.permissions.permissions import WorkspaceIdentity
from remit_governance.work_items import WORK_ITEMS_FILE
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError, os_reason
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.runtime.own_files.places import folder_identity, workspace_state

_TRUST, _IDENTITY = "trust.json", "workspace.json"
INSTRUCTIONS = "AGENTS.md"
SKILLS = (".agents/skills", ".claude/skills", ".github/skills")
_BROUGHT = (".remit/config.yaml", ".remit/config.json", ".remit/prompts", INSTRUCTIONS, *SKILLS, WORK_ITEMS_FILE)


def trust_file(root: Path, environment: Mapping[str, str] | None = None) -> Path:
    """Returns the file that records the answer about a folder."""
    return workspace_state(root, os.environ if environment is None else environment) / _TRUST


def brought(root: Path) -> tuple[str, ...]:
    """Returns the files and folders in a folder that count only once it is trusted, relative to it."""
    return tuple(name for name in _BROUGHT if os.path.lexists(root / name))


def arrived(root: Path, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Returns those of `brought` that were not there when the person said that they trust the folder.

    Work items are left out, because Remit writes them itself, and their scopes only tighten.
    """
    known = _read_answer(root, environment).get("brought")
    if not isinstance(known, list):  # an answer from before the names were recorded
        return ()
    return tuple(name for name in brought(root) if name not in known and name != WORK_ITEMS_FILE)


def read_trust(root: Path, environment: Mapping[str, str] | None = None) -> bool | None:
    """Returns the person's answer about a folder, or None if they were not asked about all that it brings."""
    trusted = _read_answer(root, environment).get("trusted")
    if not isinstance(trusted, bool) or (trusted and arrived(root, environment)):
        return None
    return trusted


def as_it_holds(answered: bool | None, root: Path) -> bool | None:
    """Returns the answer, or None if something arrived after a yes, about which the person was not asked."""
    return None if answered and arrived(root) else answered


def _read_answer(root: Path, environment: Mapping[str, str] | None) -> dict[str, object]:
    """Returns what is recorded about this very folder, or nothing if that cannot be read."""
    answer = _read(trust_file(root, environment))
    try:
        return answer if answer.get("folder") == folder_identity(root) else {}
    except OSError:
        return {}


def write_trust(root: Path, *, trusted: bool, environment: Mapping[str, str] | None = None) -> None:
    """Records an answer. Raises SetupError."""
    file = trust_file(root, environment)

    def record(_: str) -> str:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        there = sorted({*brought(root), *_known(root, environment)})
        return json.dumps({"folder": folder_identity(root), "trusted": trusted, "when": when, "brought": there})

    try:
        rewrite(file, record, lambda _: "")
    except OSError as error:
        why = f"{file}: {os_reason(error)}"
        raise SetupError("the answer was not recorded", why, "make the folder writable") from error


def _known(root: Path, environment: Mapping[str, str] | None) -> list[str]:
    """Returns the names that the person was asked about before, so that a file that comes back with another branch is
    not asked about again."""
    known = _read_answer(root, environment).get("brought")
    return [str(name) for name in cast("list[object]", known)] if isinstance(known, list) else []


def left_out(names: Sequence[str]) -> str:
    """Returns the sentence that says which files of a folder do not count, and how to make them count."""
    whole = [f"`{name}`" for name in names if name != WORK_ITEMS_FILE]
    parts = [f"{', '.join(whole)} of this folder {'do' if len(whole) > 1 else 'does'} not count"] if whole else []
    parts += [f"only the scopes in `{WORK_ITEMS_FILE}` count"] if WORK_ITEMS_FILE in names else []
    return f"{'; '.join(parts)}: run `remit config trust` if you trust it"


def workspace_identity(root: Path, state: Path) -> WorkspaceIdentity:
    """Returns a workspace's identity as its state has it; without an id if there is none, or only another folder's.

    Raises OSError.
    """
    return WorkspaceIdentity(str(root), _id_in(_read(state / _IDENTITY), root))


def record_workspace(root: Path, state: Path) -> None:
    """Records an id for a workspace's folder, unless the folder has one already. Raises SetupError."""

    def with_id(text: str) -> str:  # two servers that start at once agree on one
        if _id_in(_parsed(text), root) is not None:
            return text
        return json.dumps({"id": f"w{secrets.token_hex(8)}", "folder": folder_identity(root)})

    try:
        rewrite(state / _IDENTITY, with_id)
    except OSError as error:
        raise SetupError(
            f"cannot write to `{state}`",
            os_reason(error),
            "make it writable, or name another folder with REMIT_STATE_DIR",
            code=ErrorCode.AUDIT_BROKEN,
        ) from error


def _id_in(record: dict[str, object], root: Path) -> str | None:
    match record:
        case {"id": str(name), "folder": str(folder)} if folder == folder_identity(root):
            return name
        case _:
            return None


def _read(file: Path) -> dict[str, object]:
    try:
        return _parsed(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _parsed(text: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
