"""What is said of a skill: the front matter of its `SKILL.md`, and the text below it (TOOL-19).

It gives nothing: what else it names, `allowed-tools` among it, is a wish of its author and is not looked at.
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
from remit_governance.visible import without_hidden
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.workspace.paths.kernel import open_exact

SKILL_FILE = "SKILL.md"
MAX_BYTES = 1 << 20
"""Of a file of a skill."""

MAX_NAME, MAX_DESCRIPTION = 64, 1_024
"""Of the standard. A longer description is cut, for some that people have are longer."""

NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
_FENCE = "---"


Origin = Literal["person", "project"]
SKILL_OF: Mapping[Origin, str] = {"person": "yours", "project": "the project's"}


def _words(value: Any) -> Any:
    """Returns a list, or what a text lists: values of `metadata` are texts by the standard."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


class Metadata(BaseModel):
    """What counts of `metadata`: with `remit-intents` the rest of a turn that reads the skill is for these alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    intents: Annotated[frozenset[Intent] | None, BeforeValidator(_words)] = Field(default=None, alias="remit-intents")


class SkillForm(BaseModel):
    """The front matter. It may say more, which does not count."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(max_length=MAX_NAME, pattern=NAME)
    description: str = Field(min_length=1, max_length=20_000)
    metadata: Metadata = Metadata()


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that counts. `folder` is where it really lies, `inside` the same relative to the workspace, where it lies
    in it: then each of its files is judged as a read of that file."""

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
    """Reads the front matter of a file, which lies in this folder. Raises SetupError with the line of what is wrong."""
    fix = f"begin it with `{_FENCE}`, `name:`, `description:` and another `{_FENCE}`"
    head = _head(text)
    if head is None:
        raise unusable(f"{file}:1: it has no front matter", fix)
    try:
        # An empty line in place of the first fence: what is wrong has the file's own line.
        document, form = parse_form(file, "\n".join(["", *head]), SkillForm, {"metadata": Metadata}, most=OF_PROJECT)
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error
    if form.name != folder:
        line, _ = document.mark(("name",))
        why = f"{file}:{line}: its name is `{form.name}`, and its folder `{folder}`"
        raise unusable(why, "give both the same name")
    return form


def body_of(text: str) -> str:
    """Returns what stands below the front matter."""
    head = _head(text)
    return text if head is None else "\n".join(text.split("\n")[len(head) + 2 :]).strip("\n")


def plain(text: str) -> str:
    """Returns a description as a model is told it: in one line, without hidden characters."""
    return " ".join(without_hidden(text).split())[:MAX_DESCRIPTION]


def read_below(folder: Path, names: Sequence[str]) -> bytes:
    """Returns the bytes of a regular file below a folder, `MAX_BYTES` and one more at most. No link below it is
    followed. Raises OSError."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = open_exact(here, names, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    finally:
        os.close(here)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise IsADirectoryError(f"{names[-1]} is no regular file")
        return file.read(MAX_BYTES + 1)


def _head(text: str) -> list[str] | None:
    """Returns the lines between the fences; None where there are none."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return None
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    return None if end is None else lines[1:end]
