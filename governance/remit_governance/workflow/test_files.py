"""Which files are tests, which decide how tests run, and which stand in for others in a run (FLW-03); and work
that no test can come before, with the files that fit it: asked for, never automatic (FLW-05).

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
"""What configures runs of tests: changed under an exemption, before tests are written."""
RUNNER_PROGRAM_GLOBS = (
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "vitest.setup.*",
    "jest.setup.*",
    "build.rs",
)
"""Programs that run with every test, which may do anything there: left to the person."""
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
"""Installed programs, what says that something is installed, and what was compiled: runs use these in place of what a
review shows, or load what they name."""

is_stand_in = compile_globs(STAND_IN_GLOBS)


def locked_files(tests: Sequence[tuple[str, ...]] = (TEST_GLOBS,)) -> Callable[[str], bool]:
    """Returns what tells whether a file is one that tests, or their runs, depend on; `tests` are the globs of tests."""
    matchers = tuple(map(compile_globs, (RUNNER_CONFIG_GLOBS, RUNNER_PROGRAM_GLOBS, *tests)))
    return lambda path: any(matches(path) for matches in matchers)


is_locked_file = locked_files()
"""Tells so by everybody's globs."""


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
"""What each category is for, where the policy says nothing else. An edit of `type_refactor` is held to types alone."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A granted exemption: its category, and the paths that it is for."""

    category: Category
    paths: frozenset[str]


def unfit_paths(category: Category, paths: Sequence[str], globs: Mapping[Category, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the paths that none of the category's globs fits: with one of them the request is denied.

    A glob stands for files alone: what lies below a folder of such a name is no file of the category. Nor is one that
    stands in for others where tests run, one whose name holds what nobody sees, and, except as configuration or for
    its types alone, one that decides what runs, what is installed or what agents are told.
    """
    expressions = (glob_expression(glob, below=False) for glob in globs.get(category, ()))
    fits = match_any(expression for expression in expressions if expression is not None)
    return tuple(path for path in paths if fits is None or not fits(path) or _opens_behaviour(category, path))


def data_of_tests(category: Category, paths: Sequence[str], tests: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the paths of files of tests, by the globs of `tests`, that an exemption may not open: all but what
    configures runs, and types. What tests compare with is changed as they are, with a failing one.
    """
    if category == "type_refactor":
        return ()
    matchers = tuple(map(compile_globs, tests))
    return tuple(path for path in paths if any(fits(path) for fits in matchers) and not _configures_runs(path))


_configures_runs = compile_globs(RUNNER_CONFIG_GLOBS)
_READ_BY_PROGRAMS: frozenset[Category] = frozenset({"config_change", "type_refactor"})
_takes_effect = compile_globs(tuple(glob for row in IMPLICIT_FILES for glob in row.globs), fold_case=True)


def _opens_behaviour(category: Category, path: str) -> bool:
    """Tells whether a change of the file may change what happens, whatever the glob of its category says."""
    if is_stand_in(path) or visible(path, "show") != path:
        return True
    return category not in _READ_BY_PROGRAMS and _takes_effect(fold(path))
