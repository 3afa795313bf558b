"""Which runners a workspace's own files speak for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_PYTHON_TEST = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_test)\.py$")
_JS_TEST = re.compile(
    r"(?:\.|-|_)test\.[cm]?[jt]s$|(?:^|/)(?:test|test-[^/]*)\.[cm]?js$|(?:^|/)(?:test|__tests__)/[^/]+\.[cm]?[jt]sx?$"
)
_NODE_RUNS = re.compile(r"\.[cm]?js$")
_SPEAKS_PYTEST = re.compile(r"\[tool\.pytest|\[tool:pytest\]|\[pytest\]|\bpytest\b")
_FOR_PYTEST = re.compile(r"^\s*(?:import|from) pytest\b|^(?:async )?def test\w*\(", re.MULTILINE)
_IN_NODE = ("vitest", "jest", "node")
_BY_SUFFIX = {
    **dict.fromkeys((".py",), ("pytest", "unittest")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx"), _IN_NODE),
    **dict.fromkeys((".go",), ("go",)),
    **dict.fromkeys((".rs",), ("cargo",)),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a workspace shows: names at its top, its files' paths, and the texts that configure tests, by name.

    `for_pytest`: one of its tests imports pytest, or is a function of its own, which unittest would not find.
    """

    top: frozenset[str]
    files: tuple[str, ...]
    texts: dict[str, str]
    for_pytest: bool = False


def python_tests(files: Iterable[str]) -> tuple[str, ...]:
    """Those that pytest or unittest would look into."""
    return tuple(file for file in files if _PYTHON_TEST.search(file))


def written_for_pytest(text: str) -> bool:
    """Whether a file of tests is one that unittest would find nothing in, or could not import."""
    return _FOR_PYTEST.search(text) is not None


def node_tests(files: Iterable[str]) -> tuple[str, ...]:
    """Those that `node --test` would find by itself."""
    return tuple(file for file in files if _JS_TEST.search(file) and _NODE_RUNS.search(file))


def fitting(facts: Facts, suffix: str = "") -> tuple[str, ...]:
    """Names of the runners that fit, preferred ones first; with a file's suffix, those for it."""
    found = [*_of_python(facts), *_of_javascript(facts)]
    found += ["go"] if "go.mod" in facts.top else []
    found += ["cargo"] if "Cargo.toml" in facts.top else []
    return tuple(name for name in found if name in _BY_SUFFIX.get(suffix, tuple(found)))


def _of_python(facts: Facts) -> list[str]:
    configured = any(
        _SPEAKS_PYTEST.search(text)
        for name, text in facts.texts.items()
        if name.endswith((".toml", ".cfg", ".ini", ".txt"))
    )
    if configured or facts.for_pytest or facts.top & {"pytest.ini", "conftest.py"}:
        return ["pytest"]
    return ["unittest"] if python_tests(facts.files) else []


def _of_javascript(facts: Facts) -> list[str]:
    if any(name.startswith("vitest.config.") for name in facts.top) or _depends(facts, "vitest"):
        return ["vitest"]
    if any(name.startswith("jest.config.") for name in facts.top) or _depends(facts, "jest"):
        return ["jest"]
    return ["node"] if node_tests(facts.files) else []


def _depends(facts: Facts, package: str) -> bool:
    try:
        loaded: Any = json.loads(facts.texts.get("package.json", "{}"))
        return any(package in loaded.get(key, {}) for key in ("dependencies", "devDependencies"))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False
