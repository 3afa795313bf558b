"""Whole tasks for evaluation: real files, a request, and what must be there afterwards, worked out without Remit."""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.models.embedded import closing_text as endings
from training import generator, identifiers, requests
from training.world import UNSEEN as WORLD

Files = dict[str, str]
PROTECTED = "generated"
"""The folder that the policy of the evaluation lets nobody write to."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request in a workspace of `files`; the `answer`, the files that then differ, and the command to be run."""

    skill: str
    request: str
    files: Files
    answer: str
    after: Files = field(default_factory=dict[str, str])
    command: str | None = None
    approved: bool = True


def rename(rng: random.Random) -> Case:
    """A name that occurs on some lines, beside names that hold it."""
    names = [identifiers.identifier(rng, WORLD.vocabulary) for _ in range(rng.randint(2, 8))]
    old, new = names[0], identifiers.derived(rng, names[0], WORLD.vocabulary)
    lines = [_fill(rng, names) for _ in range(rng.randint(3, 40))]
    lines.insert(rng.randint(0, len(lines)), f"  {old}({names[-1]}, {identifiers.derived(rng, old, WORLD.vocabulary)})")
    path, text = _path(rng, "any"), "\n".join(lines) + "\n"
    changed = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)
    request = requests.rename_request(rng, old, new, path, held_out=True)
    return Case("rename", request, {path: text}, endings.RENAMED, {path: changed})


def replace(rng: random.Random) -> Case:
    """Replace line N, its indentation kept."""
    lines, number = _lines(rng, blank=False)
    given = _different(rng, lines[number - 1].strip())
    line = lines[number - 1]
    edited = [*lines[: number - 1], line[: len(line) - len(line.lstrip())] + given, *lines[number:]]
    return _line_case(rng, "replace", lines, number, given, edited, endings.REPLACED)


def delete(rng: random.Random) -> Case:
    """Delete line N."""
    lines, number = _lines(rng, blank=True)
    edited = [*lines[: number - 1], *lines[number:]]
    return _line_case(rng, "delete", lines, number, "", edited, endings.DELETED)


def after(rng: random.Random) -> Case:
    """Insert a line after line N, indented like it."""
    lines, number = _lines(rng, blank=True)
    given, line = WORLD.code(rng), lines[number - 1]
    new = line[: len(line) - len(line.lstrip())] + given
    return _line_case(rng, "after", lines, number, given, [*lines[:number], new, *lines[number:]], endings.INSERTED)


def before(rng: random.Random) -> Case:
    """Insert a line before line N, indented like it."""
    lines, number = _lines(rng, blank=True)
    given, line = WORLD.code(rng), lines[number - 1]
    new = line[: len(line) - len(line.lstrip())] + given
    edited = [*lines[: number - 1], new, *lines[number - 1 :]]
    return _line_case(rng, "before", lines, number, given, edited, endings.INSERTED)


def add_import(rng: random.Random) -> Case:
    """Add an import below the first one."""
    extension = WORLD.extension(rng, "imports")
    there = [WORLD.import_line(rng, extension) for _ in range(rng.randint(1, 4))]
    given = WORLD.import_line(rng, extension)
    head = ["" for _ in range(rng.choice((0, 0, 1, 3)))]
    rest = ["", *(f"  {_fill(rng, there)}" for _ in range(rng.randint(1, 20)))]
    edited = [*head, there[0], given, *there[1:], *rest]
    path = _path(rng, extension)
    request = requests.ask(rng, "import", True, f=path, g=given)
    files, changed = {path: _text([*head, *there, *rest])}, {path: _text(edited)}
    return Case("import", request, files, endings.IMPORTED, changed)


def constant(rng: random.Random) -> Case:
    """Give a name another value."""
    extension = WORLD.extension(rng, "assignments")
    name, value = identifiers.identifier(rng, WORLD.vocabulary), WORLD.value(rng)
    new = value
    while new == value:
        new = WORLD.value(rng)
    line = WORLD.assignment(rng, extension, name, value)
    while re.search(rf"(?<!\w){re.escape(value)}(?!\w)", line.replace(value, "", 1)):
        line = WORLD.assignment(rng, extension, name, value)  # a value that stands there twice is a refusal
    others = [
        WORLD.assignment(rng, extension, identifiers.identifier(rng, WORLD.vocabulary), WORLD.value(rng))
        for _ in range(rng.randint(0, 12))
    ]
    lines = [each for each in others if not identifiers.occurs(name, each)]
    at, uses = rng.randint(0, len(lines)), [f"  print({name})" for _ in range(rng.randint(0, 2))]
    start = line.rindex(value)
    edited = line[:start] + new + line[start + len(value) :]
    path = _path(rng, extension)
    request = requests.ask(rng, "constant", True, f=path, o=name, v=new)
    files = {path: _text([*lines[:at], line, *lines[at:], *uses])}
    changed = {path: _text([*lines[:at], edited, *lines[at:], *uses])}
    return Case("constant", request, files, endings.CHANGED, changed)


def docstring(rng: random.Random) -> Case:
    """Give a function or class of a Python file a docstring."""
    name, given = identifiers.identifier(rng, WORLD.vocabulary), WORLD.sentence(rng)
    head = WORLD.definition(rng, "py", name)
    indent = head[: len(head) - len(head.lstrip())]
    body = [f"{indent}    return {identifiers.identifier(rng, WORLD.vocabulary)}", ""]
    before = [_fill(rng, ["x", "y_1"]) for _ in range(rng.randint(0, 20))]
    edited = [*before, head, f'{indent}    """{given}"""', *body]
    path = _path(rng, "py")
    request = requests.ask(rng, "docstring", True, f=path, o=name, g=given)
    files, changed = {path: _text([*before, head, *body])}, {path: _text(edited)}
    return Case("docstring", request, files, endings.DOCUMENTED, changed)


def which(rng: random.Random) -> Case:
    """One file of several defines the name; the others use it."""
    name, extension = identifiers.identifier(rng, WORLD.vocabulary), WORLD.extension(rng, "definitions")
    files: Files = {}
    for _ in range(rng.randint(1, 5)):
        uses = [_fill(rng, ["x", "y_1"]) for _ in range(rng.randint(1, 12))]
        files[_path(rng, extension)] = _text([*uses, f"  call({name})"])
    path = rng.choice(list(files))
    lines = files[path].splitlines()
    at = rng.randint(0, len(lines))
    files[path] = _text([*lines[:at], WORLD.definition(rng, extension, name), *lines[at:]])
    request = requests.ask(rng, "which", True, o=name)
    return Case("which", request, files, endings.describe_definition(path, at + 1))


def run(rng: random.Random) -> Case:
    """A command of the standard tools, or one that does not exist; its exit code is that of a trial run."""
    path, files = "", {}
    command = WORLD.command(rng)
    for path in re.findall(r"[\w./-]+/[\w./-]+\.\w+|[\w.-]+\.(?:java|lua|rb|kt|sql|rst|tex|ini|c)\b", command):
        if rng.random() < 0.8:
            files[path.removeprefix("./")] = _text(_lines(rng, blank=True)[0])
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), files)
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, timeout=10, check=False)
    answer = endings.describe_exit(done.returncode)
    return Case("run", requests.ask(rng, "run", True, g=command), files, answer, command=command)


def stopped(rng: random.Random) -> Case:
    """A task that cannot be done: forbidden, turned down, or what it names is not there. Nothing may change."""
    skill = rng.choice([skill for skill in SKILLS if skill != "run"])
    case = SKILLS[skill](rng)
    if skill == "which":
        return Case("stop", case.request, {"notes.md": "nothing here\n"}, endings.NOT_FOUND)
    ((path, text),) = case.files.items()
    hidden = f"{PROTECTED}/{path}"
    missing = {f"{path}.old": text} if skill in {"replace", "delete", "after", "before"} else {path: "# empty\n"}
    made = {
        "forbidden": Case("stop", case.request.replace(path, hidden), {hidden: text}, endings.UNCHANGED),
        "turned down": Case("stop", case.request, case.files, endings.UNCHANGED, approved=False),
        "no such file": Case("stop", case.request, {f"other/{path}": text}, endings.UNCHANGED),
        "not in it": Case("stop", case.request, missing, endings.UNCHANGED),
    }
    return made[rng.choice(list(made))]


def declined(rng: random.Random) -> Case:
    """A request for something else."""
    asked = generator.other(rng, WORLD)
    return Case("decline", asked.request, {"notes.md": "nothing here\n"}, endings.DECLINED)


SKILLS: dict[str, Callable[[random.Random], Case]] = {
    "rename": rename, "replace": replace, "delete": delete, "after": after, "before": before, "import": add_import,
    "constant": constant, "docstring": docstring, "which": which, "run": run,
}  # fmt: skip
CASES = SKILLS | {"stop": stopped, "decline": declined}


def write(folder: Path, files: Files) -> None:
    """Write a workspace's files below `folder`."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _path(rng: random.Random, section: str) -> str:
    extension = section if section in WORLD.languages else WORLD.extension(rng, "any")
    return WORLD.path(rng, extension).removeprefix("./")


def _fill(rng: random.Random, names: list[str]) -> str:
    return rng.choice(("{} = {}[0]", "    {}.add({})", "if ({} < {}) {{", "\treturn {} + {}", "-- {} {}")).format(
        rng.choice(names), rng.choice(names)
    )


def _lines(rng: random.Random, *, blank: bool) -> tuple[list[str], int]:
    """Lines of a file, and the number of one of them; blank ones are chosen only where `blank`."""
    lines = [WORLD.line(rng) for _ in range(rng.randint(2, 60))]
    number = rng.randint(1, len(lines))
    if not blank and not lines[number - 1].strip():
        lines[number - 1] = "x = 1"
    return lines, number


def _different(rng: random.Random, line: str) -> str:
    given = WORLD.code(rng)
    return given if given != line else f"{given} again"


def _line_case(
    rng: random.Random, skill: str, lines: list[str], number: int, given: str, edited: list[str], answer: str
) -> Case:
    path = _path(rng, "any")
    request = requests.ask(rng, skill, True, f=path, l=str(number), g=given)
    return Case(skill, request, {path: _text(lines)}, answer, {path: _text(edited)})
