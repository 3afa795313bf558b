"""Every imported package is a declared dependency: a dependency of a dependency may go, or be installed only with an
extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN = {"remit_server", "remit_governance"}
MLX, OTEL = {"dependencies", "mlx"}, {"dependencies", "otel"}
EXTRAS = {"models/local/host": MLX, "models/local/hub": MLX, "telemetry": OTEL}
"""Folders whose modules are imported only if an extra is installed."""
ELSEWHERE = {"pytest", "_typeshed", "pydantic_core"}
"""The project under test brings pytest; pydantic pins its core to the version that it needs."""


def declared() -> dict[str, set[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lists = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    return {name: {plain(re.split(r"[^\w.-]", each)[0]) for each in listed} for name, listed in lists.items()}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported() -> Iterator[tuple[Path, str]]:
    for file in [*ROOT.glob("server/remit_server/**/*.py"), *ROOT.glob("governance/**/*.py")]:
        if "demo" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Import(names):
                    yield from ((file, each.name.partition(".")[0]) for each in names)
                case ast.ImportFrom(str(module), level=0):
                    yield file, module.partition(".")[0]
                case _:
                    pass


def test_what_is_imported_is_declared_where_it_is_installed() -> None:
    lists, named = declared(), packages_distributions()
    missing = set()
    for file, module in imported():
        if module in sys.stdlib_module_names | OWN | ELSEWHERE:
            continue
        where = file.relative_to(ROOT).as_posix()
        held = next((held for part, held in EXTRAS.items() if f"remit_server/{part}/" in where), {"dependencies"})
        if not {plain(each) for each in named.get(module, [module])} & set().union(*(lists[each] for each in held)):
            missing.add(f"{module} in {where}")
    assert sorted(missing) == []
