"""Translates rules and actions to Cedar, as far as both languages can express them: an oracle, and a comparison for
speed.

Both know: default deny, a deny that is final, no order; syscall, exact and leading paths, endings, caller tags, intent, tool, mode,
state, and `except`. Rules and actions are dictionaries as policy files and the command line write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Words = Mapping[str, Sequence[str]]


def policies(rules: Sequence[Mapping[str, Any]]) -> str:
    """Returns Cedar's text for these rules; each `allow` is a `permit`, each `deny` a `forbid`, with the rule's name as
    its id."""
    return "\n".join(map(_policy, rules))


def request(action: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the request that asks about this action. Its context is JSON text, because cedarpy would convert it to
    that."""
    said = {"caller_tags": [], "state": "", "mode": ""} | dict(action)
    return {
        "principal": 'Caller::"remit"',
        "action": f"Action::{json.dumps(said.pop('syscall'))}",
        "resource": 'Workspace::"here"',
        "context": json.dumps(said),
    }


def _policy(rule: Mapping[str, Any]) -> str:
    effect = {"allow": "permit", "deny": "forbid"}[rule["action"]]
    match = dict(rule["match"])
    syscalls = match.pop("syscall", None)
    scope = "action" if syscalls is None else f"action in [{', '.join(f'Action::{json.dumps(s)}' for s in syscalls)}]"
    when = f" when {{ {_condition(match)} }}" if match else ""
    unless = "".join(f" unless {{ {_condition(each)} }}" for each in rule.get("except", ()))
    return f"@id({json.dumps(rule['name'])}) {effect}(principal, {scope}, resource){when}{unless};"


def _condition(match: Words) -> str:
    return " && ".join(_conditions(match)) or "true"


def _conditions(match: Words) -> Iterator[str]:
    for key, values in match.items():
        if key == "path_glob":
            ways = " || ".join(way for glob in values for way in _path(glob)) or "false"
            yield f"context has path && ({ways})"
        elif key == "caller_tag":
            yield f"context.caller_tags.containsAny({json.dumps(values)})"
        elif key == "syscall":
            yield f"[{', '.join(f'Action::{json.dumps(s)}' for s in values)}].contains(action)"
        elif len(values) == 1:
            yield f"context has {key} && context.{key} == {json.dumps(values[0])}"
        else:
            yield f"context has {key} && {json.dumps(values)}.contains(context.{key})"


def _path(glob: str) -> Iterator[str]:
    """Yields Cedar's conditions for a glob: `src/a.py` means that path and paths below it, `src/**` only paths below
    it, `**/*.py` paths with that ending and paths below them."""
    if glob.startswith("**/*"):
        yield f"context.path like {json.dumps(glob[3:])}"
        yield f"context.path like {json.dumps(glob[3:] + '/*')}"
        return
    plain = glob.removesuffix("/**")
    if plain == glob:
        yield f"context.path == {json.dumps(glob)}"
    yield f"context.path like {json.dumps(plain + '/*')}"
