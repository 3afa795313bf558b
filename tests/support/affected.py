"""Orders test files by how near they are to what has changed since the last commit: the changed ones, then those that import
a changed module, then those that reach one through others, then the rest."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "server", ROOT / "governance")
PACKAGES = ("remit_server", "remit_governance")
IMPORTS = re.compile(
    rf"^[ \t]*(?:from|import)[ \t]+((?:{'|'.join(PACKAGES)})[\w.]*)(?:[ \t]+import[ \t]+(\([^)]*\)|.*))?", re.MULTILINE
)


def nearness(changed: Iterable[Path]) -> dict[Path, int]:
    """Returns 0, 1 or 2 for each test file that the changed files reach; other test files are left out."""
    paths = frozenset(changed)
    modules = {name for path in paths if (name := module_of(path))}
    if not modules and not any(path.name.startswith("test_") for path in paths):
        return {}
    reached = _downstream(modules)
    ranks = {path: _rank(path, paths, modules, reached) for path in (ROOT / "tests").rglob("test_*.py")}
    return {path: rank for path, rank in ranks.items() if rank is not None}


def changed_files(commit: str = "HEAD") -> frozenset[Path]:
    """Returns the files that differ from a commit, and new ones; none if there is no git, or no such commit."""
    names = _git("diff", "--name-only", "--no-renames", "-z", commit) + _git(
        "ls-files", "--others", "-z", "--exclude-standard"
    )
    return frozenset(ROOT / name for name in names)


def _git(*arguments: str) -> list[str]:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [name for name in done.stdout.split("\0") if name]


def module_of(path: Path) -> str | None:
    """Returns the dotted name of a source file; None for any other file."""
    source = next((source for source in SOURCES if path.is_relative_to(source)), None)
    if source is None or path.suffix != ".py":
        return None
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _rank(path: Path, changed: frozenset[Path], modules: set[str], reached: set[str]) -> int | None:
    if path in changed:
        return 0
    imported = imports(path)
    if imported & modules:
        return 1
    return 2 if imported & reached else None


def _downstream(modules: set[str]) -> set[str]:
    """Returns these modules and all that import one of them, directly or not."""
    found: set[str] = set()
    new = set(modules)
    while new:
        found |= new
        new = {name for name, imported in _graph().items() if imported & new} - found
    return found


@cache
def _graph() -> dict[str, frozenset[str]]:
    paths = (
        path for source, package in zip(SOURCES, PACKAGES, strict=True) for path in (source / package).rglob("*.py")
    )
    return {name: imports(path) for path in paths if (name := module_of(path))}


def imports(path: Path) -> frozenset[str]:
    """Returns the names of Remit's modules that a file imports anywhere. It matches lines, because parsing a thousand
    files takes longer than most tests. A line that only looks like an import makes a file seem nearer than it is, which
    does no harm."""
    names: set[str] = set()
    for module, imported in IMPORTS.findall(path.read_text("utf-8")):
        plain = re.sub(r"#.*", "", imported).replace("(", "").replace(")", "")
        names |= {module, *(f"{module}.{part.split()[0]}" for part in plain.split(",") if part.strip())}
    return frozenset(names)
