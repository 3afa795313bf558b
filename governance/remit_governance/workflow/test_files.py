"""Says which files are tests, which configure how tests run, and which stand in for others in a run (FLW-03); also the
exemptions for work that no test can precede, and the files that fit each: asked for, never automatic (FLW-05).

The packaged rules name the same globs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from remit_governance.policy.decision.implicit import IMPLICIT_FILES
from remit_governance.policy.matching.paths import compile_globs, fold, glob_expression, match_any
from remit_governance.visible import visible

TEST_GLOBS = (
    "tests/**",
    "test/**",
    "**/tests/**",
    "**/test/**",
    "**/__tests__/**",
    "**/__snapshots__/**",
    "**/__fixtures__/**",
    "**/__mocks__/**",
    "**/testdata/**",
    "test_*.py",
    "*_test.py",
    "tests.py",
    "test.py",
    "*_test.go",
    "*.test.*",
    "*.spec.*",
    "*.test-d.*",
    "*.tst.*",
)
RUNNER_CONFIG_GLOBS = (
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    ".coveragerc",
    ".coveragerc.toml",
    "vitest.config.*",
    "vitest.workspace.*",
    "vite.config.*",
    "jest.config.*",
    "babel.config.*",
    ".babelrc",
    ".babelrc.*",
    ".swcrc",
    "package.json",
    "tsconfig*.json",
    "jsconfig.json",
    "go.mod",
    "go.work",
    "Cargo.toml",
    "**/.cargo/**",
    "rust-toolchain*",
)
"""Files that configure runs of tests; they can be changed under an exemption, before tests are written."""
RUNNER_PROGRAM_GLOBS = (
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "vitest.setup.*",
    "jest.setup.*",
    "build.rs",
)
"""Programs that run with every test and can do anything there, so changing them is left to the person."""
STAND_IN_GLOBS = (
    "**/site-packages/**",
    "**/dist-packages/**",
    ".venv",
    "venv",
    "node_modules",
    ".yarn",
    ".pnp.*",
    "__pycache__",
    "*.pyc",
    "*.egg-info",
    "*.dist-info",
    "**/target/debug/**",
    "**/target/release/**",
)
"""Installed programs, metadata of what is installed, and compiled files: runs of tests use these in place of the files
that a review shows, or load the files that they name."""

is_stand_in = compile_globs(STAND_IN_GLOBS)


def locked_files(tests: Sequence[tuple[str, ...]] = (TEST_GLOBS,)) -> Callable[[str], bool]:
    """Returns a function that says whether a path is a test file or decides how tests run; `tests` are tuples of globs
    of test files."""
    matchers = tuple(map(compile_globs, (RUNNER_CONFIG_GLOBS, RUNNER_PROGRAM_GLOBS, *tests)))
    return lambda path: any(matches(path) for matches in matchers)


is_locked_file = locked_files()
"""Says whether a path is a locked file by the built-in globs."""


Category = Literal["config_change", "type_refactor", "documentation", "asset_update"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

DEFAULT_GLOBS: Mapping[Category, tuple[str, ...]] = MappingProxyType(
    {
        "config_change": (
            *("*.json", "*.yaml", "*.yml", "*.toml", "*.ini", "*.cfg", "Dockerfile", ".github/**"),
            *RUNNER_CONFIG_GLOBS,
        ),
        "type_refactor": ("*.d.ts", "*.pyi", "*.py", "*.ts", "*.tsx", "*.mts", "*.cts"),
        "documentation": ("*.md", "*.txt", "*.rst", "LICENSE", "CHANGELOG"),
        "asset_update": ("*.png", "*.jpg", "*.svg", "*.ico", "*.css", "*.scss"),
    }
)
"""The files of each category, unless the policy says otherwise. An edit under `type_refactor` may change only types."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A granted exemption: its category, and the paths for which it was granted."""

    category: Category
    paths: frozenset[str]


def unfit_paths(category: Category, paths: Sequence[str], globs: Mapping[Category, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the paths that do not fit the category; the request is denied if there is any.

    A glob matches files only, not what lies below a folder of such a name. A file also does not fit if it stands in for
    others when tests run, if its name has hidden characters, or, except under `config_change` and `type_refactor`, if
    it decides what runs, what is installed or what agents are told.
    """
    expressions = (glob_expression(glob, below=False) for glob in globs.get(category, ()))
    fits = match_any(expression for expression in expressions if expression is not None)
    return tuple(path for path in paths if fits is None or not fits(path) or _opens_behaviour(category, path))


def data_of_tests(category: Category, paths: Sequence[str], tests: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the paths of test files, by the globs of `tests`, that an exemption of this category may not open: none
    under `type_refactor`, else all but configuration of runs. Data that tests compare with can be changed only as tests
    can, with a failing test.
    """
    if category == "type_refactor":
        return ()
    matchers = tuple(map(compile_globs, tests))
    return tuple(path for path in paths if any(fits(path) for fits in matchers) and not _configures_runs(path))


_configures_runs = compile_globs(RUNNER_CONFIG_GLOBS)
_READ_BY_PROGRAMS: frozenset[Category] = frozenset({"config_change", "type_refactor"})
_takes_effect = compile_globs(tuple(glob for row in IMPLICIT_FILES for glob in row.globs), fold_case=True)


def _opens_behaviour(category: Category, path: str) -> bool:
    """Returns whether a change of the file may change how programs behave, although a glob of its category matches."""
    if is_stand_in(path) or visible(path, "show") != path:
        return True
    return category not in _READ_BY_PROGRAMS and _takes_effect(fold(path))
