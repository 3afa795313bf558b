"""A second implementation of the policy engine, as plain as possible, to compare the real one with (POL-01).

Rules and actions are dictionaries as in files and on the command line; nothing is compiled, indexed or cached.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

EFFECT = {"fs.read": 1, "fs.list": 1, "fs.write": 2, "process.exec": 1}
COMMAND = {"ls": 1, "git status": 1, "git commit": 2, "pytest": 3, "git push": 4, "rm": 2, "curl": 4}
SENSITIVE = {"poetry.lock"}
"""The paths in the tests that are reviewed each time, because they take effect by themselves (POL-04)."""


def below(pattern: list[str], path: list[str]) -> bool:
    """Returns whether the pattern matches; a folder means everything in it, and `**` any number of folders."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return bool(path) and (len(pattern) == 1 or any(below(pattern[1:], path[n:]) for n in range(len(path))))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and below(pattern[1:], path[1:])


def glob(pattern: str, path: str) -> bool:
    if "/" not in pattern.rstrip("/"):
        return any(fnmatchcase(part, pattern) for part in path.split("/"))
    return below(pattern.split("/"), path.split("/"))


def sensitive(action: dict[str, Any]) -> bool:
    return not SENSITIVE.isdisjoint(action.get("path", "").split("/"))


def is_write(action: dict[str, Any]) -> bool:
    return action["syscall"].startswith("fs.") and action["syscall"] not in {"fs.read", "fs.list"}


def risk(action: dict[str, Any]) -> str:
    score = EFFECT.get(action["syscall"], 4)
    if action["syscall"] == "process.exec":
        words = action.get("command", [])
        score *= next((n for known, n in COMMAND.items() if words[: len(known.split())] == known.split()), 4)
    elif score > 1 and sensitive(action):
        score *= 2
    return "low" if score == 1 else "medium" if score < 4 else "high"


INSIDE = {"process.exec", "net.connect"}


def holds(conditions: dict[str, Any], action: dict[str, Any]) -> bool:
    for key, values in conditions.items():
        if key == "path_glob":
            good = "path" in action and any(glob(p, action["path"]) for p in values if p[0] != "!")
            good = good and not any(glob(p[1:], action["path"]) for p in values if p[0] == "!")
        elif key == "caller_tag":
            good = any(tag in action.get("caller_tags", []) for tag in values)
        elif key == "command":
            words = action.get("command", [])
            good = any(words[: len(c.split())] == c.split() for c in values)
        elif key == "risk":
            good = risk(action) in values
        else:
            good = action.get(key) in values
        if not good:
            return False
    return True


def reference(rules: list[dict[str, Any]], action: dict[str, Any]) -> tuple[str, set[str]]:
    """Returns the verdict, and the names of all rules with that verdict."""
    said: dict[str, set[str]] = {"allow": set(), "deny": set(), "require_review": set(), "pass": set()}
    for rule in rules:
        if holds(rule["match"], action) and not any(holds(e, action) for e in rule.get("except", [])):
            wanted = rule.get("constraints", {})
            over = wanted.get("max_file_size") is not None and action.get("size", 0) > wanted["max_file_size"]
            where = action.get("sandbox", "code-executor" if action["syscall"] in INSIDE else "none")
            over |= wanted.get("require_sandbox") == "L2" and where == "none"
            over |= wanted.get("require_sandbox") not in {None, "L2", where}
            over |= wanted.get("require_capability_token", False) and not action.get("permit", True)
            said["pass" if rule["action"] == "allow" and over else rule["action"]].add(rule["name"])
    verdict, names = next(((v, said[v]) for v in ("deny", "require_review", "allow") if said[v]), ("deny", set()))
    if verdict != "deny" and is_write(action) and sensitive(action):
        return "require_review", said["require_review"] | {"builtin.implicit-code"}
    return verdict, names
