"""Work that no test can come before, and what has to fit for it: asked for, never automatic (FLW-05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from remit_governance.globs import glob_expression, match_any
from remit_governance.workflow.test_files import is_stand_in

Category = Literal["config_change", "type_refactor", "documentation", "asset_update"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

DEFAULT_GLOBS: Mapping[Category, tuple[str, ...]] = MappingProxyType(
    {
        "config_change": ("*.json", "*.yaml", "*.yml", "*.toml", "*.ini", "*.cfg", "Dockerfile", ".github/**"),
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
    stands in for others where tests run.
    """
    expressions = (glob_expression(glob, below=False) for glob in globs.get(category, ()))
    fits = match_any(expression for expression in expressions if expression is not None)
    return tuple(path for path in paths if fits is None or not fits(path) or is_stand_in(path))
