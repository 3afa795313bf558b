"""Judges one request to an agent by the workspace and the answer that it left.

A set of requests is YAML: `package`, a package of PyPI whose wheel is the workspace, and `requests`, each with `id`,
`ask`, `kind`, what is `right`, and a `solution` that shows that it is possible. Every line of `right` must hold:
`changed` (exactly these files differ), `answer` and `answer_lacks` (patterns over the answer), `file` and `file_lacks`
(patterns over a file), `gone`, and `python`, which must end with 0 in a copy of the workspace. Changed Python and JSON
files must still parse.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Right = Mapping[str, Any]
_IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
_NOT_COUNTED = ("__pycache__", ".pytest_cache")


def git(folder: Path, *words: str) -> str:
    command = ["git", *_IDENTITY, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def unpack(package: str, folder: Path, cache: Path) -> None:
    """Makes `folder` a repository with the contents of the wheel of `package`, and the package's description as
    README.md."""
    place = cache / package.replace("==", "-")
    if not list(place.glob("*.whl")):
        place.mkdir(parents=True, exist_ok=True)
        wanted = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", package]
        subprocess.run([*wanted, "-d", str(place)], check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    folder.mkdir(parents=True)
    shutil.unpack_archive(wheel, folder, "zip")
    for about in folder.glob("*.dist-info"):
        _, _, text = (about / "METADATA").read_text().partition("\n\n")
        if text.strip() and not (folder / "README.md").exists():
            (folder / "README.md").write_text(text)
        shutil.rmtree(about)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")


def changed(folder: Path) -> frozenset[str]:
    """Returns the files that differ from the commit, also new and deleted ones."""
    said = git(folder, "status", "--porcelain", "--untracked-files=all", "--no-renames").splitlines()
    return frozenset(line[3:].strip().strip('"') for line in said if not any(part in line for part in _NOT_COUNTED))


def wrong(right: Right, folder: Path, answer: str) -> list[str]:
    """Returns the lines of `right` that do not hold."""
    missed = [name for name, holds in _CHECKS.items() if name in right and not holds(right[name], folder, answer)]
    return [*missed, *(f"{path} does not parse" for path in sorted(changed(folder)) if not _parses(folder, path))]


def _parses(folder: Path, path: str) -> bool:
    parse = {"py": ast.parse, "json": json.loads}.get(path.rpartition(".")[2])
    try:
        if parse is not None and (folder / path).exists():
            parse(_text(folder, path))
    except (SyntaxError, ValueError):
        return False
    return True


def damage(right: Right, folder: Path) -> int:
    """Returns the number of changed files that the request did not call for."""
    return len(changed(folder) - set(right.get("changed", ())))


def _text(folder: Path, path: str) -> str:
    try:
        return (folder / path).read_text()
    except OSError:
        return ""


def _says(pattern: str, answer: str) -> bool:
    return re.search(pattern, answer, re.IGNORECASE | re.DOTALL) is not None


def _finds(pattern: str, folder: Path, path: str) -> bool:
    return re.search(pattern, _text(folder, path), re.MULTILINE) is not None


def _runs(code: str, folder: Path) -> bool:
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "workspace"
        shutil.copytree(folder, copy)
        try:
            command = [sys.executable, "-B", "-c", code]
            return subprocess.run(command, check=False, cwd=copy, capture_output=True, timeout=20).returncode == 0
        except subprocess.TimeoutExpired:
            return False


_CHECKS: Mapping[str, Callable[[Any, Path, str], bool]] = {
    "changed": lambda wanted, folder, _: changed(folder) == set(wanted),
    "answer": lambda wanted, _, answer: _says(wanted, answer),
    "answer_lacks": lambda wanted, _, answer: not _says(wanted, answer),
    "file": lambda wanted, folder, _: all(_finds(pattern, folder, path) for path, pattern in wanted.items()),
    "file_lacks": lambda wanted, folder, _: not any(_finds(pattern, folder, path) for path, pattern in wanted.items()),
    "gone": lambda wanted, folder, _: not any((folder / path).exists() for path in wanted),
    "python": lambda wanted, folder, _: _runs(wanted, folder),
}
