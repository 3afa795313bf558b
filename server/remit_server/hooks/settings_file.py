"""Remit's entries in an agent's own settings file (HOK-06): puts them in and takes them out, and changes nothing else.

An entry is Remit's if its command runs `remit hook AGENT`. If `remit` cannot be started, the shell itself stops the
call (`_STOPS`).

Codex silently skips a hook that its person has not trusted. Whether it runs Remit's entries is read from its
`config.toml`, which keeps the digest of each trusted hook under the place of the hook (HOK-10).
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from remit_server.errors import SetupError
from remit_server.hooks.formats.agents import Agent, AgentName
from remit_server.hooks.json_places import Node, NoPlace, read_places, with_item, without_item
from remit_server.own_files import read_at_most

TIMEOUT_S = 30
"""Seconds that an agent waits for a hook. Remit answers sooner, because an agent goes on if no answer comes."""
MOST_BYTES = 4 << 20

_DENY = json.dumps({"permissionDecision": "deny", "permissionDecisionReason": "Remit: it could not be started"})
_STOPS: Mapping[AgentName, str] = {
    "claude-code": "exit 2",
    "codex": "exit 2",
    "gemini": "exit 2",
    "copilot": f"echo '{_DENY}'",
    "cursor": "exit 2",
}
"""The shell command that stops a call if `remit` cannot be started."""

EVENTS: Mapping[AgentName, tuple[str, ...]] = {
    "claude-code": (
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"),
        *("SessionStart", "SessionEnd"),
    ),
    "codex": ("PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"),
    "gemini": ("BeforeTool", "AfterTool", "BeforeAgent", "SessionStart", "SessionEnd"),
    "copilot": (
        *("preToolUse", "postToolUse", "postToolUseFailure", "userPromptSubmitted"),
        *("sessionStart", "sessionEnd"),
    ),
    "cursor": (
        *("preToolUse", "beforeShellExecution", "beforeMCPExecution", "postToolUse", "postToolUseFailure"),
        *("beforeSubmitPrompt", "sessionStart", "sessionEnd"),
    ),
}
"""The events that get an entry."""

State = Literal["installed", "other", "absent"]
"""`other`: there are entries of Remit's, but not those that would be put in now."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """An agent's settings file, whose hooks call `remit` by this name."""

    agent: Agent
    place: Path
    remit: str

    def read(self) -> str:
        """Returns the text of the file; empty if there is none. Raises SetupError."""
        try:
            if not self.place.exists():
                return ""
            return read_at_most(self.place, MOST_BYTES).decode("utf-8")
        except (OSError, ValueError) as error:
            raise self.unusable((getattr(error, "strerror", None) or str(error)).lower()) from error

    def state(self, text: str) -> State:
        """Returns whether Remit's entries are in the text. Raises SetupError."""
        if not text:
            return "absent"
        if self.with_hooks(text) == text:
            return "installed"
        return "absent" if self.without_hooks(text) == text else "other"

    def is_heeded(self, text: str, home: Path) -> bool:
        """Returns whether the agent runs Remit's entries for the person at `home`; always True except for Codex."""
        return self.agent.name != "codex" or is_trusted(self.place, text, self._entry("PreToolUse"), home)

    def with_hooks(self, text: str) -> str:
        """Returns the text with Remit's entries. Raises SetupError if all else could not stay as it is."""
        wanted = {event: self._entry(event) for event in EVENTS[self.agent.name]}
        try:
            if text and self._ours(read_places(text), text) == wanted:
                return text
            changed = self._without(text) if text else "{}\n"
            if not text and self.agent.name in {"copilot", "cursor"}:
                changed = with_item(changed, read_places(changed), "1", "version")
            for event, entry in wanted.items():
                changed = self._added(changed, event, json.dumps(entry, indent=2))
        except ValueError as error:
            raise self.unusable(str(error)) from error
        return changed

    def without_hooks(self, text: str) -> str:
        """Returns the text without Remit's entries, and without what is empty then. Raises SetupError."""
        try:
            return self._without(text) if text else text
        except NoPlace as error:
            raise self.unusable(str(error)) from error

    def to_paste(self) -> str:
        """Returns the JSON that a person can put into the file by hand."""
        return json.dumps({"hooks": {event: [self._entry(event)] for event in EVENTS[self.agent.name]}}, indent=2)

    def unusable(self, why: str) -> SetupError:
        """Returns the error of a file that cannot be changed."""
        fix = f"put this into it yourself: {self.to_paste()}"
        return SetupError(f"cannot change `{self.place}`", why, fix)

    def _entry(self, event: str) -> dict[str, Any]:
        """Returns one entry in the form that the agent's documentation gives."""
        row = self.agent.events[event]
        command = f"{shlex.quote(self.remit)} hook {self.agent.name}"
        if self.agent.name == "copilot":
            command = f"{command} --event {event}"
        if row.kind == "before":
            command = f"{command} || {_STOPS[self.agent.name]}"
        of_tool = row.kind in {"before", "after", "failed"}
        match self.agent.style:
            case "claude" | "codex":
                hook = {"type": "command", "command": command, "timeout": TIMEOUT_S}
                return {**({"matcher": "*"} if of_tool else {}), "hooks": [hook]}
            case "gemini":
                hook = {"name": "remit", "type": "command", "command": command, "timeout": TIMEOUT_S * 1000}
                return {**({"matcher": ".*"} if of_tool else {}), "hooks": [hook]}
            case "copilot":
                return {"type": "command", "bash": command, "timeoutSec": TIMEOUT_S}
            case "cursor":
                closed = {"failClosed": True} if row.kind == "before" else {}
                # Shell commands and MCP tools have events of their own, to which an answer can be `ask`.
                others = {"matcher": "^(?!Shell$|MCP:)"} if event == "preToolUse" else {}
                return {"command": command, "timeout": TIMEOUT_S, **closed, **others}

    def _ours(self, root: Node, text: str) -> dict[str, Any]:
        hooks = root.member("hooks")
        found: dict[str, Any] = {}
        for event, entries in zip(hooks.keys or (), hooks.items or (), strict=True) if hooks else ():
            for entry in entries.items or ():
                if self._is_ours(entry, text):
                    value = json.loads(text[entry.start : entry.end]) if event not in found else "twice"
                    found[event] = value
        return found

    def _is_ours(self, entry: Node, text: str) -> bool:
        """Returns whether an entry runs Remit and nothing else."""
        written = text[entry.start : entry.end]
        return len(_COMMAND.findall(written)) == 1 and _OURS.search(written) is not None

    def _without(self, text: str) -> str:
        root = read_places(text)
        hooks = root.member("hooks")
        for event, entries in zip(hooks.keys or (), hooks.items or (), strict=True) if hooks else ():
            at = next((n for n, entry in enumerate(entries.items or ()) if self._is_ours(entry, text)), None)
            if at is None:
                continue
            if len(entries.items or ()) > 1:
                return self._without(without_item(text, entries, at))
            assert hooks is not None and hooks.keys is not None  # noqa: PT018
            if len(hooks.keys) > 1:
                return self._without(without_item(text, hooks, hooks.keys.index(event)))
            return without_item(text, root, (root.keys or ()).index("hooks"))
        return text

    def _added(self, text: str, event: str, entry: str) -> str:
        root = read_places(text)
        if root.keys is None:
            raise NoPlace("it is not an object")
        hooks = root.member("hooks")
        if hooks is None:
            return self._added(with_item(text, root, "{}", "hooks"), event, entry)
        if hooks.keys is None:
            raise NoPlace("its `hooks` is not an object")
        entries = hooks.member(event)
        if entries is None:
            return self._added(with_item(text, hooks, "[]", event), event, entry)
        if entries.items is None or entries.keys is not None:
            raise NoPlace(f"its `{event}` is not a list")
        return with_item(text, entries, entry)


_COMMAND = re.compile(r'"(?:command|bash)"\s*:\s*"')
_OURS = re.compile(r'"(?:command|bash)"\s*:\s*"[^"]*\bremit[\'"]? hook (?:claude-code|codex|gemini|copilot|cursor)\b')


def settings_place(agent: Agent, home: Path, project: Path | None) -> Path:
    """Returns where the agent's settings file is: the person's, or a project's."""
    return home / agent.settings if project is None else project / agent.project_settings


_EVENT = ("PreToolUse", "pre_tool_use")
"""The event that stops calls: its name in the hooks' file, and its name in the keys of trusted hooks."""
CONFIG = ".codex/config.toml"


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
    """Returns the positions of this entry among the entries of its event."""
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
