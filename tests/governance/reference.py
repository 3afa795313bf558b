"""The policy engine said a second time, as plainly as possible, to compare the real one with (003 §Rule Evaluation Engine).

Rules are dictionaries as a policy file writes them; nothing is compiled or indexed. Globs: only `**`, `name`, `dir/**`.
"""

from __future__ import annotations

from typing import Any


def glob(pattern: str, path: str) -> bool:
    if pattern == "**":
        return True
    if pattern.endswith("/**"):
        return path.startswith(pattern[:-2])
    return pattern in path.split("/")


def holds(conditions: dict[str, Any], action: dict[str, Any]) -> bool:
    for key, values in conditions.items():
        if key == "path_glob":
            good = "path" in action and any(glob(p, action["path"]) for p in values)
        elif key == "caller_tag":
            good = any(tag in action.get("caller_tags", []) for tag in values)
        elif key == "command":
            words = action.get("command", [])
            good = any(words[: len(c.split())] == c.split() for c in values)
        else:
            default = {"state": "idle", "mode": "strict"}.get(key)
            good = action.get(key, default) in values
        if not good:
            return False
    return True


def reference(rules: list[dict[str, Any]], action: dict[str, Any]) -> tuple[str, set[str]]:
    said: dict[str, set[str]] = {"allow": set(), "deny": set(), "require_review": set(), "pass": set()}
    for rule in rules:
        if holds(rule["match"], action) and not any(holds(e, action) for e in rule.get("except", [])):
            limit = rule.get("constraints", {}).get("max_file_size")
            over = limit is not None and action.get("size", 0) > limit
            said["pass" if rule["action"] == "allow" and over else rule["action"]].add(rule["name"])
    for verdict in ("deny", "require_review", "allow"):
        if said[verdict]:
            return verdict, said[verdict]
    return "deny", set()
