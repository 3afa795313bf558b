"""Finds the runners that a workspace's own files call for, and the folder in which each runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

_PYTHON_TEST = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_test)\.py$")
_JS_TEST = re.compile(
    r"(?:\.|-|_)test\.[cm]?[jt]s$|(?:^|/)(?:test|test-[^/]*)\.[cm]?js$|(?:^|/)(?:test|__tests__)/.+\.[cm]?[jt]sx?$"
)
_NODE_RUNS = re.compile(r"\.[cm]?js$")
_SPEAKS_PYTEST = re.compile(r"\[tool\.pytest|\[tool:pytest\]|\[pytest\]|\bpytest\b")
_AS_MODULE = re.compile(r"""(?<!\w)-m["',\s]+pytest\b""")
_UNKNOWN_RUNNER = re.compile(
    r"(?<![\w@/-])(mocha|ava|tap|tape|uvu|jasmine|lab|karma|qunit|wtr|bun test|deno test|cypress|playwright)(?![\w-])"
)
_RUNS_DJANGO = re.compile(r"\b(?:django|django-admin|manage\.py)[\s\"',]+test\b")
_FOR_PYTEST = re.compile(r"^\s*(?:import|from) pytest\b|^(?:async )?def test\w*\(", re.MULTILINE)
_IN_PYTHON = ("pytest", "unittest")
_IN_NODE = ("vitest", "jest", "node")
_BY_SUFFIX = {
    **dict.fromkeys((".py",), _IN_PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx"), _IN_NODE),
    **dict.fromkeys((".go",), ("go",)),
    **dict.fromkeys((".rs",), ("cargo",)),
}
_MARKS = {
    **dict.fromkeys(("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini"), _IN_PYTHON),
    **dict.fromkeys(("package.json",), _IN_NODE),
    **dict.fromkeys(("go.mod",), ("go",)),
    **dict.fromkeys(("Cargo.toml",), ("cargo",)),
}
"""Files that make a folder a project, and the runners that such a project may have."""
_MAX_PROJECTS = 20


@dataclass(frozen=True, slots=True)
class Facts:
    """The relevant contents of a folder: names at its top, its files' paths, and the texts that configure tests, by
    name.

    The texts of folders above are included as `../NAME`.

    `for_pytest`: one of its tests imports pytest, or is a plain function, which unittest would not find.
    """

    top: frozenset[str]
    files: tuple[str, ...]
    texts: dict[str, str]
    for_pytest: bool = False


def python_tests(files: Iterable[str]) -> tuple[str, ...]:
    """Returns the files in which pytest or unittest would look for tests."""
    return tuple(file for file in files if _PYTHON_TEST.search(file))


def is_written_for_pytest(text: str) -> bool:
    """Returns whether unittest would find nothing in a file of tests, or could not import it."""
    return _FOR_PYTEST.search(text) is not None


def runs_as_module(facts: Facts) -> bool:
    """Returns whether the project's own files run pytest by `python -m`, so that its tests may import from the folder
    where it runs."""
    return any(_AS_MODULE.search(text) for text in facts.texts.values())


def unknown_runner(facts: Facts, runner: str) -> str | None:
    """Returns the runner that the project's own files use in place of this one, if Remit does not know that runner;
    else None."""
    if runner == "unittest":
        runs_django = "manage.py" in facts.top or any(_RUNS_DJANGO.search(text) for text in facts.texts.values())
        return "django" if runs_django else None
    if runner != "node":
        return None
    try:
        loaded: Any = json.loads(facts.texts.get("package.json", ""))
        found = _UNKNOWN_RUNNER.search(loaded["scripts"]["test"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found[1] if found else None


def node_tests(files: Iterable[str]) -> tuple[str, ...]:
    """Returns the files that `node --test` would find by itself."""
    return tuple(file for file in files if _JS_TEST.search(file) and _NODE_RUNS.search(file))


def fitting(facts: Facts, suffix: str = "") -> tuple[str, ...]:
    """Returns the names of the runners that fit, preferred ones first; with a file's suffix, only those for such
    files."""
    found = [*_python_runners(facts), *_javascript_runners(facts)]
    found += ["go"] if "go.mod" in facts.top else []
    found += ["cargo"] if "Cargo.toml" in facts.top else []
    return tuple(name for name in found if name in _BY_SUFFIX.get(suffix, tuple(found)))


@dataclass(frozen=True, slots=True)
class Place:
    """A runner and the folder that it runs in; "." is the workspace."""

    runner: str
    folder: str


def runners_of(suffix: str) -> tuple[str, ...]:
    """Returns the runners of files with this suffix."""
    return _BY_SUFFIX.get(suffix, ())


def projects(files: Iterable[str]) -> tuple[str, ...]:
    """Returns the folders below the workspace's own that one of `_MARKS` makes a project, upper ones first."""
    found = {str(PurePosixPath(file).parent) for file in files if PurePosixPath(file).name in _MARKS} - {"."}
    return tuple(sorted(found, key=lambda folder: (folder.count("/"), folder)))


def nearest(path: str, suffix: str, files: tuple[str, ...], facts_of: Callable[[str], Facts]) -> tuple[Place, ...]:
    """Returns the runners of the nearest project at or above a path that has one for it, preferred ones first.

    For a folder, a project whose runners find no tests there is passed over, if a project above has a runner that does.
    """
    others: tuple[Place, ...] = ()
    for folder in _projects_above(path, files):
        names = _marked_runners(fitting(facts_of(folder), suffix), folder, files)
        here = tuple(Place(name, folder) for name in names)
        below = {name for name in names if suffix or path == "." or _has_tests(name, path, files)}
        if below:
            return (*(place for place in here if place.runner in below), *(p for p in here if p.runner not in below))
        others = others or here
    return others


def home_of(runner: str, path: str, files: tuple[str, ...]) -> str | None:
    """Returns the nearest folder at or above a path that is a project of a runner; else the top, or None if the runner
    needs a project."""
    marked = (folder for folder in _projects_above(path, files) if runner in _runners_marked(folder, files))
    return next(marked, None if runner in {"go", "cargo"} else ".")


def elsewhere(runner: str, files: tuple[str, ...], facts_of: Callable[[str], Facts]) -> tuple[Place, ...]:
    """Returns the runners whose tests a run of everything leaves out: others of the workspace itself, and those of
    projects below."""
    top = [Place(name, ".") for name in fitting(facts_of(".")) if name != runner]
    kinds = {kind for name in (runner, *(place.runner for place in top)) for kind in _kind(name)}
    found: list[Place] = []
    for folder in projects(files)[:_MAX_PROJECTS]:
        names = _marked_runners(fitting(facts_of(folder)), folder, files)
        under = {kind for each in found if folder.startswith(f"{each.folder}/") for kind in _kind(each.runner)}
        found += [Place(name, folder) for name in names if not {*_kind(name)} & (kinds | under)]
    return (*top, *found)


def rival_of(place: Place, facts: Facts) -> str | None:
    """Returns the runner that a folder's own files call for in place of another one for the same language, or None."""
    return next((name for name in fitting(facts) if name != place.runner and name in _kind(place.runner)), None)


def _projects_above(path: str, files: tuple[str, ...]) -> list[str]:
    """Returns the projects at or above a path, the nearest first, and the workspace itself last."""
    there = set(projects(files))
    chain = [path, *map(str, PurePosixPath(path).parents)]
    return [*(folder for folder in chain if folder in there), "."]


def _runners_marked(folder: str, files: tuple[str, ...]) -> set[str]:
    marks = (PurePosixPath(file) for file in files)
    return {name for mark in marks if str(mark.parent) == folder for name in _MARKS.get(mark.name, ())}


def _marked_runners(names: tuple[str, ...], folder: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the runners that a folder is a project of; at the top, all. Below it, other tests belong to a project
    above."""
    allowed = set(names) if folder == "." else _runners_marked(folder, files)
    return tuple(name for name in names if name in allowed)


def _kind(runner: str) -> tuple[str, ...]:
    return next((kind for kind in (_IN_PYTHON, _IN_NODE) if runner in kind), (runner,))


def _has_tests(runner: str, path: str, files: tuple[str, ...]) -> bool:
    below = [file for file in files if path == "." or file.startswith(f"{path}/")]
    if runner in _IN_PYTHON:
        return bool(python_tests(below))
    if runner == "node":
        return bool(node_tests(below))
    if runner in _IN_NODE:
        return any(_JS_TEST.search(file) or ".spec." in file for file in below)
    return any(file.endswith("_test.go" if runner == "go" else ".rs") for file in below)


def _python_runners(facts: Facts) -> list[str]:
    configured = any(
        _SPEAKS_PYTEST.search(text)
        for name, text in facts.texts.items()
        if name.endswith((".toml", ".cfg", ".ini", ".txt"))
    )
    if configured or facts.for_pytest or facts.top & {"pytest.ini", "conftest.py"}:
        return ["pytest"]
    return ["unittest"] if python_tests(facts.files) else []


def _javascript_runners(facts: Facts) -> list[str]:
    if any(name.startswith("vitest.config.") for name in facts.top) or _depends(facts, "vitest"):
        return ["vitest"]
    if any(name.startswith("jest.config.") for name in facts.top) or _depends(facts, "jest"):
        return ["jest"]
    return ["node"] if node_tests(facts.files) else []


def _depends(facts: Facts, package: str) -> bool:
    texts = (text for name, text in facts.texts.items() if PurePosixPath(name).name == "package.json")
    return any(_names(text, package) for text in texts)


def _names(text: str, package: str) -> bool:
    try:
        loaded: Any = json.loads(text)
        return any(package in loaded.get(key, {}) for key in ("dependencies", "devDependencies"))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False
