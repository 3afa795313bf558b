"""How much an action can do, as one word for a person: effect by sensitivity of the path (004 §Future Extensions).

| effect            | sensitive path | other path, or none |
|-------------------|----------------|---------------------|
| reads, lists      | medium         | low                 |
| writes            | high           | medium              |
| executes          | high           | high                |
| network, unknown  | high           | high                |
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from remit_governance.policy.globs import compile_globs
from remit_governance.policy.paths import fold, normalise
from remit_governance.values import Action

Risk = Literal["low", "medium", "high"]

RISK: Mapping[str, tuple[Risk, Risk]] = MappingProxyType(
    {
        "fs.read": ("medium", "low"),
        "fs.list": ("medium", "low"),
        "fs.write": ("high", "medium"),
        "process.exec": ("high", "high"),
    }
)
"""Risk by syscall: on a sensitive path, and on any other. A syscall that is not listed is high."""

SENSITIVE_PATHS = (
    ".env*",
    "!.env.example",
    ".ssh",
    ".aws",
    ".gnupg",
    "*.pem",
    "id_rsa*",
    "id_ed25519*",
    ".github",
    ".gitlab-ci.yml",
    "Dockerfile",
    "Makefile",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "*.lock",
    "*.sh",
)
"""Files whose content is secret, or decides what runs elsewhere."""


def risk_of(action: Action) -> Risk:
    """The table's word for this action."""
    sensitive, otherwise = RISK.get(action.syscall, ("high", "high"))
    if action.path is None:
        return otherwise
    matches = compile_globs(SENSITIVE_PATHS, fold_case=True)
    return sensitive if matches(fold(normalise(action.path))) else otherwise
