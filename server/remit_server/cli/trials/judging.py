"""Judges what a request left: the files before and after it, and the answer (MOD-25). Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from math import sqrt

from pydantic import BaseModel, ConfigDict, Field, field_validator

Files = Mapping[str, str]
"""What files hold, by their paths."""
_Z = 1.96


class Right(BaseModel):
    """What has to hold after a request.

    `changed` are exactly the files that differ, new and deleted ones too; `answer` and `answer_lacks` are patterns over
    the answer, `file` and `file_lacks` over what a file holds then, and `gone` are files that are not there any more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    changed: tuple[str, ...] | None = None
    answer: str | None = None
    answer_lacks: str | None = None
    file: Mapping[str, str] = Field(default_factory=dict)
    file_lacks: Mapping[str, str] = Field(default_factory=dict)
    gone: tuple[str, ...] = ()

    @field_validator("answer", "answer_lacks")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            _compiled(pattern)
        return pattern

    @field_validator("file", "file_lacks")
    @classmethod
    def _are_patterns(cls, patterns: Mapping[str, str]) -> Mapping[str, str]:
        for pattern in patterns.values():
            _compiled(pattern)
        return patterns


def _compiled(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"`{pattern}` is not a valid regular expression: {error}") from error


def differing(before: Files, after: Files) -> frozenset[str]:
    """Returns the files that differ, new and deleted ones too."""
    return frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def missed(right: Right, before: Files, after: Files, answer: str) -> tuple[str, ...]:
    """Returns what does not hold, in words: nothing where the request came out right.

    Python and JSON that were changed have to parse as well.
    """
    changed = differing(before, after)
    said = list[str]()
    if right.changed is not None and changed != frozenset(right.changed):
        said.append(f"it changed {', '.join(sorted(changed)) or 'nothing'}")
    if right.answer is not None and not _says(right.answer, answer):
        said.append("its answer lacks the text")
    if right.answer_lacks is not None and _says(right.answer_lacks, answer):
        said.append("its answer says something wrong")
    said += [f"{path} is not as it should be" for path in sorted(_not_as_wanted(right, after))]
    said += [f"{path} is still there" for path in right.gone if path in after]
    said += [f"{path} does not parse" for path in sorted(changed) if path in after and not _parses(path, after[path])]
    return tuple(said)


def _not_as_wanted(right: Right, after: Files) -> set[str]:
    lacks = {path for path, pattern in right.file.items() if not _finds(pattern, after.get(path, ""))}
    return lacks | {path for path, pattern in right.file_lacks.items() if _finds(pattern, after.get(path, ""))}


def _says(pattern: str, answer: str) -> bool:
    return re.search(pattern, answer, re.IGNORECASE | re.DOTALL) is not None


def _finds(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.MULTILINE) is not None


_PARSERS: Mapping[str, Callable[[str], object]] = {"py": ast.parse, "json": json.loads}


def _parses(path: str, text: str) -> bool:
    parse = _PARSERS.get(path.rpartition(".")[2])
    try:
        if parse is not None:
            parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def interval(right: int, of: int) -> tuple[float, float]:
    """Returns Wilson's interval of a share, at 95 %."""
    if of == 0:
        return 0.0, 1.0
    share, weight = right / of, _Z * _Z / of
    middle = (share + weight / 2) / (1 + weight)
    half = _Z / (1 + weight) * sqrt(share * (1 - share) / of + weight / (4 * of))
    return max(0.0, middle - half), min(1.0, middle + half)
