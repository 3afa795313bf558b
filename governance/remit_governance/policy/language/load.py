"""Reads policy files from disk (effect): the person's own, the rules that are programs, the project's, and the packaged
default (POL-03).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from pydantic import RootModel

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.decision.extension import ExtensionRule, read_rule
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.document import OF_PROJECT, OWN
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.policy.matching.paths import FOLDS_CASE
from remit_governance.policy.rules import Policy
from remit_governance.policy.shell.catalogue.files import CommandForm, OwnProgramForm
from remit_governance.policy.shell.catalogue.rows import NO_ROWS, OwnRows, Program, Rows
from remit_governance.work_items import WorkItems, parse_work_items

MAX_BYTES = 4_000_000
MAX_RULE_BYTES = 200_000
MAX_RULES = 100
MAX_ITEMS_BYTES = 1_000_000
_RULE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def load_policy(
    person: Path | None = None,
    project: Path | None = None,
    own: Sequence[str] = (),
    work_items: WorkItems | None = None,
    programs: OwnRows = NO_ROWS,
    *,
    hooks: bool = False,
) -> Policy:
    """Returns the policy in force: the person's file or else the packaged default, tightened by the project's file, if
    given, and by the scopes of the work items. `hooks` says that the policy is for another agent's calls, which have a
    packaged default and rules of their own (HOK-03).

    A path that is given has to be readable; `own` and `programs` are as for `compile_policy`. Raises PolicyError with
    every problem found.
    """
    packaged = hook_default_source if hooks else default_source
    sources = [packaged() if person is None else read_source(person), workflow_source()]
    if hooks:
        sources.append(agent_tools_source())
    if project is not None:
        sources.append(read_source(project, project=True))
    return compile_policy(sources, FOLDS_CASE, own, work_items, programs)


def load_programs(person: Path | None = None, project: Path | None = None) -> OwnRows:
    """Returns the rows of programs in the person's file and in the project's, if these exist. Raises PolicyError."""
    mine = [] if person is None or not is_given(person) else [read_source(person)]
    theirs = [] if project is None or not is_given(project) else [read_source(project, project=True)]
    return own_rows([*mine, *theirs])


def load_work_items(file: Path) -> WorkItems | None:
    """Returns the work items of a workspace's file, or None if there is no such file. Raises PolicyError with every
    problem found."""
    if not is_given(file):
        return None
    return parse_work_items(str(file), read_source(file, project=True, most=MAX_ITEMS_BYTES).text)


def is_given(path: Path) -> bool:
    """Tells whether there is something at `path`. The answer is False only if it is certain that there is nothing.

    A link that leads nowhere counts as given, because somebody who made it wanted another policy than the default. So
    does a file in a folder that cannot be read or that is not a folder; reading the file then says what is wrong.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def load_rules(folder: Path) -> tuple[ExtensionRule, ...]:
    """Returns the rules in the `.py` files of the person's folder, by name; none if there is no such folder.

    Raises PolicyError with every problem found.
    """
    try:
        entries = os.listdir(folder) if is_given(folder) else []  # noqa: PTH208 an error here must not be hidden
    except OSError as error:
        raise _unreadable(folder, 1, f"the folder cannot be read: {_why(error)}", "make it readable") from None
    rules: list[ExtensionRule] = []
    problems: list[Problem] = []
    for name in sorted(entry for entry in entries if entry.endswith(".py")):
        try:
            rules.append(load_rule(folder / name))
        except PolicyError as error:
            problems.extend(error.problems)
    if len(rules) > MAX_RULES:
        fault = f"there are more than {MAX_RULES} rules"
        problems.append(Problem(str(folder), 1, 1, fault, "put several into one"))
    if problems:
        raise PolicyError(tuple(problems))
    return tuple(rules)


def load_rule(path: Path) -> ExtensionRule:
    """Returns the rule in one file. Raises PolicyError."""
    if not _RULE_NAME.fullmatch(path.stem):
        raise _unreadable(path, 1, f"`{path.stem}` cannot name a rule", "use letters, digits, `_` and `-`")
    source = read_source(path, most=MAX_RULE_BYTES)
    return read_rule(source.file, path.stem, source.text)


def default_source() -> Source:
    """Returns the packaged default policy."""
    path = files("remit_governance.policy") / "default.yaml"
    return Source(str(path), path.read_text(encoding="utf-8"))


def hook_default_source() -> Source:
    """Returns the packaged default policy for the calls of another agent (HOK-03)."""
    path = files("remit_governance.policy") / "hooks.yaml"
    return Source(str(path), path.read_text(encoding="utf-8"))


def agent_tools_source() -> Source:
    """Returns the packaged rules for tools that only another agent has (HOK-02)."""
    path = files("remit_governance.policy") / "agent_tools.yaml"
    return Source(str(path), path.read_text(encoding="utf-8"))


def workflow_source() -> Source:
    """Returns the packaged rules of the workflow (FLW-03)."""
    path = files("remit_governance.workflow") / "workflow.yaml"
    return Source(str(path), path.read_text(encoding="utf-8"), workflow=True)


def read_source(path: Path, project: bool = False, most: int = MAX_BYTES) -> Source:
    """Returns one policy file's text, of at most `most` bytes. Raises PolicyError if it cannot be read as UTF-8."""
    try:
        with open(path, "rb", opener=_of_project if project else None) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise _unreadable(path, 1, f"the file has more than {most} bytes", "split it")
        return Source(str(path), data.decode("utf-8-sig"), project)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, line, "the file is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        raise _unreadable(
            path, 1, f"the file cannot be read: {_why(error)}", "check its path and permissions"
        ) from None


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _of_project(path: str, flags: int) -> int:
    """Opens a file of a workspace, but no link and nothing that is not a regular file: opening a pipe might never
    return, and an error might show text of the file to which a link leads."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file")
    return fd


def _unreadable(path: Path, line: int, message: str, fix: str) -> PolicyError:
    return PolicyError((Problem(str(path), line, 1, message, fix),))


class _ProgramsForm(RootModel[tuple[OwnProgramForm, ...]]):
    root: tuple[OwnProgramForm, ...] = ()


def parse_programs(source: Source) -> Rows:
    """Returns the rows of a file, by the names of their programs. Raises PolicyError with every problem found."""
    if not source.text.strip():
        return {}
    most = OF_PROJECT if source.project else OWN
    document, form = parse_form(source.file, source.text, _ProgramsForm, {"": OwnProgramForm}, CommandForm, most=most)
    rows: dict[str, Program] = {}
    problems: list[Problem] = []
    for at, row in enumerate(form.root):
        program = row.program("project" if source.project else "person")
        for n, name in enumerate(row.programs):
            if name in rows:
                place = (at, "programs", n)
                problems.append(document.problem(place, f"`{name}` has two rows", "put them into one"))
            rows[name] = program
    if problems:
        raise PolicyError(tuple(problems))
    return rows


def own_rows(sources: Sequence[Source]) -> OwnRows:
    """Returns the rows of the person's file and of the project's, if given. Raises PolicyError with every problem."""
    problems: list[Problem] = []
    rows: dict[bool, Rows] = {}
    for source in sources:
        try:
            rows[source.project] = parse_programs(source)
        except PolicyError as error:
            problems.extend(error.problems)
    if problems:
        raise PolicyError(tuple(problems))
    texts = tuple((source.project, source.text) for source in sources)
    files = tuple(source.file for source in sources)
    return OwnRows(rows.get(False, {}), rows.get(True, {}), texts, files)
