"""Finds skills: the person's, and those of a project that the person trusts (TOOL-19)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Verdict
from remit_server.errors import RemitError, os_reason
from remit_server.harness.calls import tags_of
from remit_server.own_files import entries_of, stamp_of
from remit_server.runtime.own_files.folder_record import SKILLS
from remit_server.tools.external.declared import one_line
from remit_server.tools.skills.read_skill import READ_SKILL
from remit_server.tools.skills.skill_file import (
    MAX_BYTES,
    MAX_DESCRIPTION,
    SKILL_FILE,
    Origin,
    Skill,
    read_below,
    read_front,
    unusable,
)
from remit_server.workspace.content.files import read_image
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import Workspace

OWN_FOLDER = "skills"
"""The folder beside the person's policy."""

HOME_FOLDERS = (".agents/skills", ".claude/skills")
_MOST = 200
"""Skills of a folder that are looked at, at most."""


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """The skills that count, and what cannot be used, in words."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillFolders:
    """Finds skills. `trusts` returns whether the workspace's skills count, `may_read` whether policy lets a file of the
    workspace be read; a skill that it does not let be read is not mentioned at all."""

    person: Sequence[Path]
    workspace: Workspace
    trusts: Callable[[], bool]
    may_read: Callable[[str], bool] = field(default=lambda path: True)
    version: Callable[[], str] = field(default=str)

    def stamp(self) -> tuple[object, ...]:
        """Returns a value that changes with the skill files, the trust and the policy."""
        places = (place for _, place in self._places())
        return (self.trusts(), self.version(), *(stamp_of(place / SKILL_FILE) for place in places))

    def find(self) -> FoundSkills:
        """Reads the front matter of each skill. Of several with one name the first counts; the person's come first."""
        trusts, found, problems = self.trusts(), dict[str, Skill](), list[str]()
        seen: set[str] = set()
        for of, place in self._places():
            real = os.path.realpath(place)
            if real in seen or not os.path.lexists(place / SKILL_FILE):
                continue
            seen.add(real)
            inside = self._inside(real)
            if (of == "project" or inside is not None) and not trusts:
                continue
            try:
                skill = self._read(of, place, real, inside)
            except RemitError as error:
                problems.append(f"{error.what}: {error.why}; {error.fix}")
                continue
            if skill is not None and (other := found.setdefault(skill.name, skill)) is not skill:
                problems.append(
                    f"`{other.folder}` and `{place}` are both called `{skill.name}`; `{other.folder}` is used"
                )
        return FoundSkills(tuple(found.values()), tuple(problems))

    def _places(self) -> Iterator[tuple[Origin, Path]]:
        project = [self.workspace.root / name for name in SKILLS]
        groups: tuple[tuple[Origin, Sequence[Path]], ...] = (("person", self.person), ("project", project))
        return (
            (of, place)
            for of, folders in groups
            for folder in folders
            for place in entries_of(folder, Path.is_dir, _MOST)
        )

    def _inside(self, real: str) -> str | None:
        """Returns the path of a folder relative to the workspace, or None if it lies elsewhere."""
        root = str(self.workspace.root)
        inside = real == root or real.startswith(f"{root.rstrip('/')}/")
        return os.path.relpath(real, root) if inside else None

    def _read(self, of: Origin, place: Path, real: str, inside: str | None) -> Skill | None:
        """Returns a skill, or None if policy does not let it be read. Raises RemitError if it cannot be used."""
        if inside is not None:
            if not self.may_read(os.path.normpath(f"{inside}/{SKILL_FILE}")):
                return None
            text = self._text_inside(place, inside)
        elif of == "project":
            raise unusable(f"`{place}` leads out of the project", "put the skill itself there")
        else:
            text = _text_outside(place, Path(real))
        form = read_front(str(place / SKILL_FILE), text, place.name)
        return Skill(
            form.name, one_line(form.description, MAX_DESCRIPTION), of, Path(real), inside, form.metadata.intents
        )

    def _text_inside(self, place: Path, inside: str) -> str:
        named = os.path.normpath(f"{inside}/{SKILL_FILE}")
        path = self.workspace.resolve(named)
        if path.relative != named:
            raise unusable(f"`{place / SKILL_FILE}` is a link", "put the file itself there")
        return Text.decode(read_image(self.workspace, path, MAX_BYTES).data, named).content


def person_folders(config: Path) -> tuple[Path, ...]:
    """Returns the folders of the person's skills; a skill in an earlier one counts before one in a later one."""
    return (config / OWN_FOLDER, *(Path.home() / name for name in HOME_FOLDERS))


def policy_reads(policy: Callable[[], Policy]) -> Callable[[str], bool]:
    """Returns a function that tells whether policy, when called, lets a model read a path, if need be after asking."""
    tags = tags_of("model", READ_SKILL)

    def may_read(path: str) -> bool:
        asked = Action("fs.read", path, tool=READ_SKILL, caller_tags=tags)
        return evaluate(policy(), asked).verdict is not Verdict.DENY

    return may_read


def summed_up(problems: Sequence[str]) -> Iterable[str]:
    """Returns the problems to tell when a session begins: several as one, because a person may bring many skills."""
    if len(problems) <= 1:
        return problems
    return (f"{len(problems)} skills cannot be used; `remit skill list` says why",)


def _text_outside(place: Path, real: Path) -> str:
    file = place / SKILL_FILE
    try:
        data = read_below(real, (SKILL_FILE,))
    except OSError as error:
        raise unusable(f"`{file}`: {os_reason(error)}", "make it a readable file, not a link") from error
    if len(data) > MAX_BYTES:
        raise unusable(f"`{file}` is larger than {MAX_BYTES >> 20} MiB", "write less")
    return Text.decode(data, str(file)).content
