"""Work that no test can come before, and what has to fit for it: asked for, never automatic (FLW-05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from remit_governance.globs import glob_expression, match_any
from remit_governance.policy.decision.implicit import IMPLICIT_FILES
from remit_governance.policy.matching.paths import compile_globs, fold
from remit_governance.visible import visible
from remit_governance.workflow.test_files import RUNNER_CONFIG_GLOBS, is_stand_in

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
