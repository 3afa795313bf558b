"""Replays of small changes to packages that others wrote: the request, the calls of a model, and the result.

Only the changed lines are kept here; the package itself comes from its registry and is checked by its digest.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError

import pytest
import yaml
from bench_runtime import call, intent
from pydantic import BaseModel, ConfigDict, model_validator

CASES = Path(__file__).parent.parent / "cases" / "workflow_replays"
CACHE = Path(__file__).parent.parent.parent / ".cache" / "workflow-replays"

Way = Literal["tests", "exemption", "explore"]
Registry = Literal["pypi", "npm"]
Step = dict[str, Any]


class Form(BaseModel):
    """A part of a file of replays."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Edit(Form):
    """A file that is made of `content`, or in which `old` becomes `new`: once, or with `all` wherever it stands."""

    path: str
    content: str | None = None
    old: str | None = None
    new: str | None = None
    all: bool = False

    @model_validator(mode="after")
    def _is_one(self) -> Edit:
        if (self.content is None) == (self.old is None or self.new is None):
            raise ValueError("an edit has either `content`, or `old` and `new`")
        return self

    @property
    def is_new(self) -> bool:
        return self.content is not None

    def call(self) -> Step:
        if self.is_new:
            return call("write_file", path=self.path, content=self.content)
        return call("edit_file", path=self.path, old_text=self.old, new_text=self.new, replace_all=self.all)


class Change(Form):
    """One change, of a kind. `way` says how it is made in a strict session: tests first, by an exemption, or in
    `explore` mode, which the person chooses.
    """

    name: str
    kind: str
    way: Way = "tests"
    exemption: str | None = None
    request: str
    message: str
    tests: tuple[Edit, ...] = ()
    code: tuple[Edit, ...]

    @model_validator(mode="after")
    def _fits(self) -> Change:
        if (self.way == "tests") != bool(self.tests) or (self.way == "exemption") != bool(self.exemption):
            raise ValueError("`tests` are of the way `tests`, and `exemption` is of the way `exemption`")
        return self

    @property
    def edits(self) -> tuple[Edit, ...]:
        return (*self.tests, *self.code)

    @property
    def paths(self) -> list[str]:
        return sorted({edit.path for edit in self.edits})


class Package(Form):
    """A package as its registry has it: the SHA-256 of its archive, and globs of the files that are kept of it."""

    registry: Registry
    name: str
    version: str
    sha256: str
    keeps: tuple[str, ...]


class Replays(Form):
    """A file of `tests/cases/workflow_replays`."""

    package: Package
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A change to a package."""

    package: Package
    change: Change


def load_replays() -> list[Replay]:
    """Returns all replays, as their files have them."""
    files = [
        Replays.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted(CASES.glob("*.yaml"))
    ]
    return [Replay(file.package, change) for file in files for change in file.changes]


def steps_of(change: Change, *, strict: bool) -> list[Step]:
    """Returns the model's answers, step by step, as strict mode requires them or as they would be without it."""
    looked = [call("read_file", path=edit.path) for edit in _firsts(change.edits) if not edit.is_new]
    read = [_step("ANALYZE", looked)] if looked else []
    return [*read, *(_strict(change) if strict else [_write(change.edits), _RUN]), _commit(change), {"text": "done"}]


_RUN: Step = {"calls": [intent("EXECUTE"), call("run_tests")]}


def _strict(change: Change) -> list[Step]:
    match change.way:
        case "tests":
            plan = _step("PLAN", [call("plan_complete", plan=f"a failing test, then the code: {change.request}")])
            return [plan, _write(change.tests), _RUN, _write(change.code), _RUN]
        case "exemption":
            asked = {"category": change.exemption, "paths": change.paths, "reason": change.request}
            return [_step("PLAN", [call("workflow_request_exemption", **asked)]), _write(change.code), _RUN]
        case "explore":
            return [_write(change.edits), _RUN]


def _write(edits: Sequence[Edit]) -> Step:
    return _step("CODE", [edit.call() for edit in edits])


def _commit(change: Change) -> Step:
    return _step("EXECUTE", [call("git_commit", message=change.message, paths=change.paths)])


def _step(name: str, calls: list[Step]) -> Step:
    return {"calls": [intent(name), *calls]}


def _firsts(edits: Sequence[Edit]) -> list[Edit]:
    return list({edit.path: edit for edit in edits}.values())


def unpack(package: Package, folder: Path) -> None:
    """Puts the kept files into a folder, which becomes a repository with one commit. Skips the test if the archive
    cannot be fetched."""
    with tarfile.open(fileobj=io.BytesIO(_fetch(package))) as archive:
        for member in archive.getmembers():
            name = member.name.partition("/")[2]
            if member.isfile() and any(fnmatch(name, glob) for glob in package.keeps):
                file, read = folder / name, archive.extractfile(member)
                assert read is not None, "a file has contents"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(read.read())
    with (folder / ".gitignore").open("a") as ignored:
        ignored.write(".venv/\n__pycache__/\n")
    said = (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"])
    for words in (*said, ["commit", "-q", "-m", f"{package.name} {package.version}"]):
        git(folder, *words)


def git(folder: Path, *words: str) -> str:
    """Runs git, and returns what it prints."""
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def _fetch(package: Package) -> bytes:
    kept = CACHE / f"{package.sha256}.tgz"
    if kept.is_file():
        return kept.read_bytes()
    try:
        packed = _read(_address_of(package))
    except (URLError, TimeoutError) as error:
        pytest.skip(f"there is no {package.name} {package.version} to be had: {error}")
    found = hashlib.sha256(packed).hexdigest()
    assert found == package.sha256, f"{package.name} {package.version} is another archive: {found}"
    CACHE.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{hashlib.sha256(str(id(packed)).encode()).hexdigest()[:8]}")
    part.write_bytes(packed)
    part.replace(kept)
    return packed


def _address_of(package: Package) -> str:
    match package.registry:
        case "npm":
            file = f"{package.name.rpartition('/')[2]}-{package.version}.tgz"
            return f"https://registry.npmjs.org/{package.name}/-/{file}"
        case "pypi":
            listed = _read(f"https://pypi.org/simple/{package.name}/", "application/vnd.pypi.simple.v1+json")
            file = f"{package.name}-{package.version}.tar.gz"
            (url,) = (each["url"] for each in json.loads(listed)["files"] if each["filename"] == file)
            return str(url)


def _read(url: str, accept: str = "*/*") -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=60) as answer:
        packed: bytes = answer.read()
    return packed
