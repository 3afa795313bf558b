"""Carries out the recipes of docs/recipes.md in a copy of the packages (DOC-06)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recipes.md"
PACKAGES = ("governance/remit_governance", "server/remit_server")
_FENCE = re.compile(r"^```\w+\n# (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_HEAD = re.compile(r"(?P<file>[\w./-]+), (?:a new file|(?P<where>below|above|instead of) `(?P<line>.*)`)")


@dataclass(frozen=True, slots=True)
class Edit:
    """One piece of a recipe: a whole new file, or a piece and its place in an existing file."""

    file: str
    piece: str
    where: Literal["below", "above", "instead of"] | None = None
    line: str = ""

    def apply(self, text: str) -> str:
        """Returns the file's text with the piece in it. Exactly one line of the file must begin with `line`."""
        lines = text.splitlines(keepends=True)
        at = [number for number, each in enumerate(lines) if each.strip().startswith(self.line)]
        assert len(at) == 1, f"{len(at)} lines of {self.file} begin with `{self.line}`"
        start = at[0] + (self.where == "below")
        end = at[0] + (self.where != "above")
        gap = "\n\n" if self.where == "above" else ""  # between functions; formatters strip blank lines from the page
        return "".join([*lines[:start], self.piece, gap, *lines[end:]])


def recipe(title: str) -> list[Edit]:
    """Returns the edits of a recipe, in the order of the page."""
    section = re.split(rf"^## {re.escape(title)}$", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1]
    return list(_edits(re.split(r"^## ", section, flags=re.MULTILINE)[0]))


def _edits(section: str) -> Iterator[Edit]:
    for head, piece in _FENCE.findall(section):
        found = _HEAD.fullmatch(head)
        assert found is not None, head
        yield Edit(found["file"], piece, found["where"], found["line"] or "")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the packages, a workspace, and a person's folders."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """A folder to work in."""
        return self.folder / "shop"

    def cook(self, title: str) -> None:
        """Makes the edits of a recipe. Replaces each edited file, because other copies may have links to the old
        one."""
        for edit in recipe(title):
            file = self.folder / edit.file
            before = file if file.exists() else ROOT / edit.file
            text = edit.piece if edit.where is None else edit.apply(before.read_text("utf-8"))
            assert edit.where is not None or not before.exists(), f"{edit.file} is there"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            file.write_text(text, "utf-8")

    def environment(self, **more: str) -> Mapping[str, str]:
        """Returns the variables of a process, which finds the copy's modules and home, and none of this machine's
        settings."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("REMIT_", "XDG_"))}
        path = os.pathsep.join(str((self.folder / package).parent) for package in PACKAGES)
        return {**plain, "PYTHONPATH": path, "HOME": str(self.folder / "home"), **more}

    def command(self, *words: str) -> Sequence[str]:
        """Returns the command line of the copy's `remit`."""
        return [sys.executable, "-c", "from remit_server.cli.main import enter; enter()", *words]

    def remit(self, *words: str, said: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        """Runs `remit` in the workspace."""
        return subprocess.run(
            self.command(*words),
            cwd=self.workspace,
            env=self.environment(**more),
            input=said,
            capture_output=True,
            text=True,
            check=False,
        )

    def python(self, code: str, **more: str) -> str:
        """Runs a program with the copy's modules, and returns what it prints."""
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=self.workspace, env=self.environment(**more), capture_output=True, text=True, check=True
        ).stdout

    def told(self, *words: str, **more: str) -> list[Any]:
        """Returns the lines of JSON that a command prints; the command has to succeed."""
        done = self.remit(*words, "--json", **more)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def copy_packages(into: Path, source: Path = ROOT, *, link: bool = False) -> Copy:
    """Copies the packages with their compiled files."""
    for package in PACKAGES:
        shutil.copytree(source / package, into / package, copy_function=os.link if link else shutil.copy2)
    made = Copy(into)
    made.workspace.mkdir()
    (made.workspace / "a.py").write_text("total = 1\n")
    (into / "home").mkdir()
    return made
