"""Which files of tests a run wrote while it ran: it was judged by others than those that are there (FLW-04)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath

from remit_governance.workflow.proof.runs import MOST_NAMED, TestFiles, name_some
from remit_governance.workflow.test_files import is_locked_file

_PROGRAMS = re.compile(r"\.(?:py|py[co]|pth|[cm]?jsx?|[cm]?tsx?|go|rs|sh)$")
_COMPILED = re.compile(r"^(?P<stem>[^.]+)(?:\.[^/]*)?\.py[co]$")


def tests_written(
    written: Collection[str], before: TestFiles, is_locked: Callable[[str], bool], ignored: Collection[str]
) -> tuple[str, ...]:
    """Returns those of the paths that a run wrote by which tests were other ones than `before`: their files, what
    configures them, and what was compiled of them.

    What version control ignores may be made anew, as the results of a run are, but no `conftest.py` and no bytecode.
    """
    return tuple(sorted(path for path in written if _is_test(path, before, is_locked, ignored)))


def describe_written(paths: Sequence[str], before: TestFiles) -> str:
    """Says what a run wrote that it may not; of data what helps, where a test of the project's writes it itself."""
    said = f"it wrote files of tests while it ran, which nothing may, even where it puts them back: {name_some(paths)}"
    if any(_PROGRAMS.search(path) or is_locked_file(PurePosixPath(path).name) for path in paths):
        return said
    named = ", ".join(f'"{path}"' for path in paths[:MOST_NAMED])
    except_them = f"the person can name them in their policy file (`tdd_tests: {{except: [{named}]}}`)"
    new = [path for path in paths if path not in before.texts]
    ignore = f", or have git ignore what is made anew ({name_some(new)})" if new else ""
    return f"{said}; where a test of the project does so, {except_them}{ignore}"


def _is_test(path: str, before: TestFiles, is_locked: Callable[[str], bool], ignored: Collection[str]) -> bool:
    if (source := _source_of(path)) is not None:
        return is_locked(source)
    if any(known == path or known.startswith(f"{path}/") for known in before.texts):
        return True
    return is_locked(path) and (path not in ignored or PurePosixPath(path).name == "conftest.py")


def _source_of(path: str) -> str | None:
    """Returns the source that bytecode stands for; None for what is no bytecode."""
    here = PurePosixPath(path)
    found = _COMPILED.match(here.name)
    if found is None:
        return None
    folder = here.parent.parent if here.parent.name == "__pycache__" else here.parent
    return str(folder / f"{found['stem']}.py")
