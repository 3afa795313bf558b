"""Each threat of the table has a test that tries it, by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import yaml
from shell_cases import TRICKS, name_of

TESTS = Path(__file__).parents[1]
TABLE: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("threats.yaml").read_text("utf-8"))
NAME = re.compile(r"THR-[a-z0-9]+(?:-[a-z0-9]+)*")


def _named(source: str) -> set[str]:
    """The names that a module's tests go by: in a string (an id, a key, a docstring), or as a function's own name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(NAME.findall(node.value))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.lower().startswith("test_thr_"):
            found.add("THR-" + node.name.lower().removeprefix("test_thr_").replace("_", "-"))
    return found


def _missing() -> list[str]:
    there = {name_of(trick) for trick in TRICKS}
    for file in TESTS.rglob("test_*.py"):
        if file != Path(__file__):
            there |= _named(file.read_text("utf-8"))
    threats = [threat for group in TABLE.values() for threat in group]
    return [f"{threat['is']}: {name}" for threat in threats for name in threat["tests"] if name not in there]


def test_every_threat_has_the_tests_that_the_table_names() -> None:
    assert _missing() == []


def test_the_table_names_a_test_for_each_threat_and_says_each_once() -> None:
    assert list(TABLE) == [
        "Shell",
        "Paths",
        "Configuration and persistence",
        "Approvals",
        "Storage (audit)",
        "Sandbox (network)",
        "Sandbox (toolchains)",
    ]
    threats = [threat for group in TABLE.values() for threat in group]
    assert all(threat["tests"] for threat in threats)
    assert len({threat["is"] for threat in threats}) == len(threats)


def test_a_name_that_no_test_bears_is_missed() -> None:
    assert _named('def test_THR_a_b(): "THR-c-d: why"') == {"THR-a-b", "THR-c-d"}
    assert _named("# THR-a-b\nx = 1\n") == set()
