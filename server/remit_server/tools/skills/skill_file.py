"""A skill's description: the front matter of its `SKILL.md`, and the text below it (TOOL-19).

A skill grants nothing: other keys, such as `allowed-tools`, are only wishes of its author and are ignored.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from remit_governance.errors import PolicyError
from remit_governance.policy.language.document import OF_PROJECT
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.values import Intent
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.machine.descriptors import closing_fd
from remit_server.workspace.paths.kernel import open_exact

SKILL_FILE = "SKILL.md"
MAX_BYTES = 1 << 20
"""Limit for a file of a skill."""

MAX_NAME, MAX_DESCRIPTION = 64, 1_024
"""Limits of the standard. A longer description is cut, because some existing skills have one."""

NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
_FENCE = "---"


Origin = Literal["person", "project"]
SKILL_OF: Mapping[Origin, str] = {"person": "yours", "project": "the project's"}


def _words(value: Any) -> Any:
    """Returns the words of a text, or the value itself, because the standard makes all values of `metadata` texts."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


class Metadata(BaseModel):
    """The keys of `metadata` that are used. `remit-intents` limits the rest of a turn that reads the skill to these
    intents."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    intents: Annotated[frozenset[Intent] | None, BeforeValidator(_words)] = Field(default=None, alias="remit-intents")


class SkillForm(BaseModel):
    """The front matter. Further keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(max_length=MAX_NAME, pattern=NAME)
    description: str = Field(min_length=1, max_length=20_000)
    metadata: Metadata = Metadata()


@dataclass(frozen=True, slots=True)
class Skill:
    """A usable skill. `folder` is its real path, `inside` the same path relative to the workspace, if it lies in it;
    then each of its files is judged as a read of that file."""

    name: str
    description: str
    of: Origin
    folder: Path
    inside: str | None = None
    intents: frozenset[Intent] | None = None


def unusable(why: str, fix: str) -> SetupError:
    """Returns the error of a skill that cannot be used."""
    return SetupError("a skill cannot be used", why, fix, code=ErrorCode.INVALID_REQUEST)


def read_front(file: str, text: str, folder: str) -> SkillForm:
    """Reads the front matter of a file that lies in this folder. Raises SetupError with the line of a mistake."""
    fix = f"begin it with `{_FENCE}`, `name:`, `description:` and another `{_FENCE}`"
    head = _head(text)
    if head is None:
        raise unusable(f"{file}:1: it has no front matter", fix)
    try:
        # Put an empty line in place of the first fence, so that line numbers in errors are those of the file.
        document, form = parse_form(file, "\n".join(["", *head]), SkillForm, {"metadata": Metadata}, most=OF_PROJECT)
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error
    if form.name != folder:
        line, _ = document.mark(("name",))
        why = f"{file}:{line}: its name is `{form.name}`, and its folder `{folder}`"
        raise unusable(why, "give both the same name")
    return form


def body_of(text: str) -> str:
    """Returns the text below the front matter."""
    head = _head(text)
    return text if head is None else "\n".join(text.split("\n")[len(head) + 2 :]).strip("\n")


def read_below(folder: Path, names: Sequence[str]) -> bytes:
    """Returns at most `MAX_BYTES` + 1 bytes of a regular file below a folder. Follows no link below the folder. Raises
    OSError."""
    with closing_fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as here:
        fd = open_exact(here, names, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise IsADirectoryError(f"{names[-1]} is not a regular file")
        return file.read(MAX_BYTES + 1)


def _head(text: str) -> list[str] | None:
    """Returns the lines between the fences, or None if there are no fences."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return None
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    return None if end is None else lines[1:end]
