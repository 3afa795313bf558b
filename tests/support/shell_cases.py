"""The tricky command lines and the everyday ones, from `tests/cases/shell`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parents[1] / "cases" / "shell"
TRICKS: list[dict[str, Any]] = yaml.safe_load((CASES / "tricks.yaml").read_text("utf-8"))
HARMLESS = (CASES / "harmless.txt").read_text("utf-8").splitlines()


def name_of(trick: dict[str, Any]) -> str:
    """Returns a trick's name as a threat, such as THR-shell-sed-i for `sed -i`."""
    return "THR-shell-" + re.sub(r"[^a-z0-9]+", "-", trick["is"].lower()).strip("-")
