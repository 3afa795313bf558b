"""Tries a model on the requests of a YAML file: each in a folder of its own, through the whole of Remit, and judged by
the files and the answer that it left (MOD-25).
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import Field, ValidationError, field_validator

from remit_server.cli.commands.turns.ask import YesForThisSession
from remit_server.cli.new_ids import new_session, new_turn
from remit_server.cli.usage import first_problem
from remit_server.contract import RunRequest, TextInput, Wire
from remit_server.errors import SetupError, os_reason
from remit_server.own_files import read_at_most
from remit_server.runtime.opening import Shared, open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

Files = Mapping[str, str]
"""The contents of files, by path."""
_Z = 1.96


class Right(Wire):
    """What has to hold after a request.

    `changed` are exactly the files that differ, new and deleted ones too; `answer` and `answer_lacks` are patterns over
    the answer, `file` and `file_lacks` over what a file holds then, and `gone` are files that are not there any more.
    """

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
    """Returns what does not hold, in words; empty if the request came out right.

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


SHIPPED = Path(__file__).with_name("requests.yaml")
"""A packaged set of twelve everyday requests."""
MOST_BYTES = 1 << 20


class Request(Wire):
    """What is asked, and what is right then."""

    ask: str = Field(min_length=1)
    right: Right


class RequestSet(Wire):
    """The files of the project, by their paths, and the requests."""

    files: dict[str, str] = Field(min_length=1)
    requests: tuple[Request, ...] = Field(min_length=1)

    @field_validator("files")
    @classmethod
    def _stay_inside(cls, files: dict[str, str]) -> dict[str, str]:
        for path in files:
            parts = PurePosixPath(path)
            if parts.is_absolute() or ".." in parts.parts or not parts.name:
                raise ValueError(f"`{path}` is not a path in the project")
        return files


def read_requests(file: Path) -> RequestSet:
    """Reads a set of requests. Raises SetupError, which says what is wrong and where, if the file is not one."""
    what = f"`{file}` holds no requests"
    try:
        loaded: Any = yaml.safe_load(read_at_most(file, MOST_BYTES))
        return RequestSet.model_validate(loaded)
    except OSError as error:
        raise SetupError(what, os_reason(error), "name another file") from error
    except ValidationError as error:
        raise SetupError(what, first_problem(error), f"write it like {SHIPPED}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = f"it is not valid YAML: {str(error).splitlines()[0]}"
        raise SetupError(what, why, f"write it like {SHIPPED}") from error


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one request: what of it is not right, and how many files changed that should not have.

    `status` is how the turn ended, `answer` its last words, and `seconds` how long it took.
    """

    ask: str
    missed: tuple[str, ...]
    damage: int
    status: str
    answer: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether everything holds."""
        return not self.missed


async def run_trial(chosen: RequestSet, settings: Settings) -> AsyncGenerator[Outcome]:
    """Yields the outcome of each request, in order. Every question is answered yes, because the folders are scratch
    copies.

    Only the model and how it is asked are the person's; rules, sessions and audit log belong to the trial alone. Raises
    SetupError if a runtime cannot be opened.
    """
    shared = Shared()
    async with AsyncExitStack() as opened:
        place = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="remit-trial-")))
        before: Runtime | None = None
        for number, request in enumerate(chosen.requests):
            workspace = place / str(number) / "workspace"
            write_files(chosen.files, workspace)
            own = replace(
                settings,
                workspace=workspace,
                state=place / str(number) / "state",
                person_policy=place / "policy.yaml",
                data=place / str(number) / "data",
            ).with_config(model={"record": None})
            runtime = await open_runtime(own, NoDocuments(), shared=shared)
            opened.push_async_callback(runtime.close)
            if before is not None:  # only now, so that the shared model stays loaded
                await before.close()
            before = runtime
            yield await _outcome(runtime, request, chosen.files, workspace)


async def _outcome(runtime: Runtime, request: Request, before: Files, workspace: Path) -> Outcome:
    began = time.monotonic()
    message = RunRequest(session_id=new_session(), turn_id=new_turn(), input=(TextInput(text=request.ask),))
    result = await runtime.run(message, lambda _: None, YesForThisSession())
    after, answer = read_files(workspace), result.final_output or ""
    led_to = set(request.right.changed or ())
    return Outcome(
        request.ask,
        missed(request.right, before, after, answer),
        len(differing(before, after) - led_to),
        result.status,
        answer,
        time.monotonic() - began,
    )


def write_files(files: Files, folder: Path) -> None:
    """Writes the files of a set into a folder that is made for them."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def read_files(folder: Path) -> Files:
    """Returns the files in a folder, without `__pycache__`, which programs write for themselves."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", errors="replace") for path in found}
