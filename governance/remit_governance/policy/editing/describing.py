"""A rule in one sentence (POL-14). Whatever the file says stands between backticks, so that it is never markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from remit_governance.policy.language.policy_form import MatchForm, RuleForm
from remit_governance.visible import visible

_SHOWN = 8
_VERBS = {
    "allow": "allows",
    "deny": "denies",
    "pass": "says nothing about",
    "require_review": "has you asked about",
}


def sentence(rule: RuleForm) -> str:
    """Says what the rule does, starting with its name."""
    parts = [code(rule.name), _VERBS[rule.action], *_condition(rule.match)]
    parts += [_limits(rule)] if rule.action == "allow" and _limits(rule) else []
    without = [" ".join(_condition(item)).removeprefix("everything ") for item in rule.except_]
    return " ".join(parts) + (f", except {'; '.join(without)}" if without else "") + "."


def code(text: str) -> str:
    """Text as Markdown shows it letter by letter, hidden characters spelled out."""
    shown = visible(text, "show")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _condition(form: MatchForm) -> list[str]:
    given = {key: values for key, values in form if values is not None}
    syscalls = given.pop("syscall", None)
    named = "everything" if syscalls is None else _any(syscalls)
    return [named, *(f"{_told(key)} {_any(values)}" for key, values in given.items())]


def _told(key: str) -> str:
    """How the values of a key begin."""
    return str(cast("dict[str, str]", MatchForm.model_fields[key].json_schema_extra)["told"])


def _any(values: Iterable[str]) -> str:
    words = [code(str(value)) for value in values]
    if len(words) > _SHOWN:
        return f"{', '.join(words[:_SHOWN])} or {len(words) - _SHOWN} more"
    if len(words) < 2:
        return words[0] if words else "nothing"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _limits(rule: RuleForm) -> str:
    limits = rule.constraints
    said = [
        f"up to {limits.max_file_size} bytes" if limits.max_file_size is not None else "",
        ""
        if limits.require_sandbox is None
        else "in a sandbox"
        if limits.require_sandbox == "L2"
        else f"in a sandbox of {code(limits.require_sandbox)}",
        "under a token of its own" if limits.require_capability_token else "",
    ]
    return ", ".join(part for part in said if part)
