"""Whether Codex runs Remit's entries (HOK-10): it passes over a hook that its person has not trusted, and says nothing.

It keeps the digest of each trusted hook in its `config.toml`, under the place of the hook.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from remit_server.hooks.json_places import NoPlace, read_places

_EVENT = ("PreToolUse", "pre_tool_use")
"""The event that stops calls: by its name in the hooks' file, and in the key of what is trusted."""
CONFIG = ".codex/config.toml"
MOST_BYTES = 4 << 20


def is_trusted(place: Path, text: str, entry: Mapping[str, object], home: Path) -> bool:
    """Returns whether Codex runs this entry of the hooks' file at `place`, which has this text."""
    config = _read(home / CONFIG)
    features = _table(config, "features")
    if features.get("hooks") is False or features.get("codex_hooks") is False:
        return False
    state = _table(config, "hooks", "state")
    found = (_table(state, f"{place}:{_EVENT[1]}:{number}:0") for number in _numbers(text, entry))
    return any(each.get("trusted_hash") == hash_of(entry) and each.get("enabled") is not False for each in found)


def hash_of(entry: Mapping[str, object]) -> str:
    """Returns the digest by which Codex knows an entry of one command."""
    (hook,) = cast("list[dict[str, object]]", entry["hooks"])
    known = {"event_name": _EVENT[1], "matcher": entry["matcher"], "hooks": [{**hook, "async": False}]}
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _numbers(text: str, entry: Mapping[str, object]) -> tuple[int, ...]:
    """Returns where among the entries of its event this one stands."""
    try:
        hooks = read_places(text).member("hooks")
    except NoPlace:
        return ()
    entries = hooks.member(_EVENT[0]) if hooks is not None else None
    items = (entries.items or ()) if entries is not None else ()
    return tuple(n for n, each in enumerate(items) if json.loads(text[each.start : each.end]) == entry)


def _read(place: Path) -> Mapping[str, object]:
    try:
        if not place.is_file() or place.stat().st_size > MOST_BYTES:
            return {}
        return tomllib.loads(place.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _table(value: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    for key in keys:
        below = value.get(key)
        value = cast("Mapping[str, object]", below) if isinstance(below, dict) else {}
    return value
