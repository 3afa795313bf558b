"""One conversation of each skill that works on a line; every argument is a copy of what was asked or just shown."""

from __future__ import annotations

import random
from collections.abc import Callable

from remit_server.models.embedded.closing_text import (
    CHANGED,
    DELETED,
    IMPORTED,
    INSERTED,
    NOT_FOUND,
    NOT_RUN,
    REPLACED,
    TIMED_OUT,
    UNCHANGED,
    describe_definition,
    describe_exit,
)
from remit_server.models.embedded.closing_text import (
    DOCUMENTED as ADDED_DOCSTRING,
)
from remit_server.models.embedded.patterns import ASSIGNED, DEFINED, DOCUMENTED, IMPORT, fill_pattern
from training import identifiers, requests, results
from training.conversations import Conversation, Step, called
from training.world import World

REFUSED_SHARE = 0.12
"""Calls of each step that are refused in training."""


def replace(rng: random.Random, world: World) -> Conversation:
    """Replace the text of line N; its indentation stays."""
    line, given = world.line(rng), world.code(rng)
    new = {"old_text": line.strip(), "new_text": given}
    return _line_edit(rng, world, "replace", line, given, None if not line.strip() else new, REPLACED)


def delete(rng: random.Random, world: World) -> Conversation:
    """Delete line N with its line end."""
    line = world.line(rng)
    return _line_edit(rng, world, "delete", line, "", {"old_text": f"{line}\n", "new_text": ""}, DELETED)


def after(rng: random.Random, world: World) -> Conversation:
    """Insert a line after line N, indented like it."""
    line, given = world.line(rng), world.code(rng)
    new = f"{line}\n{_indent(line)}{given}\n"
    return _line_edit(rng, world, "after", line, given, {"old_text": f"{line}\n", "new_text": new}, INSERTED)


def before(rng: random.Random, world: World) -> Conversation:
    """Insert a line before line N, indented like it."""
    line, given = world.line(rng), world.code(rng)
    new = f"{_indent(line)}{given}\n{line}\n"
    return _line_edit(rng, world, "before", line, given, {"old_text": f"{line}\n", "new_text": new}, INSERTED)


def add_import(rng: random.Random, world: World) -> Conversation:
    """Add an import after the first one that stands on one line."""
    extension = world.extension(rng, "imports")
    path, given = world.path(rng, extension), world.import_line(rng, extension)
    there = world.import_line(rng, extension)
    number = rng.choice((1, 1, 2, 3, rng.randint(1, 40)))
    steps = _searched(rng, world, path, IMPORT, (number, there), many=True)
    if len(steps) == 1:
        edit = {"path": path, "old_text": f"{there}\n", "new_text": f"{there}\n{given}\n", "line": number}
        steps += _edit(rng, world, edit, IMPORTED)
    return _finished("import", requests.ask(rng, "import", world.held_out, f=path, g=given), steps, UNCHANGED)


def constant(rng: random.Random, world: World) -> Conversation:
    """Change the value that a name is given."""
    extension = world.extension(rng, "assignments")
    path, name = world.path(rng, extension), identifiers.identifier(rng, world.vocabulary)
    old, new = world.value(rng), world.value(rng)
    new = new if new != old else f"1{new}" if new[0].isdigit() else "17"
    there = world.assignment(rng, extension, name, old)
    number = rng.randint(1, 9) if rng.random() < 0.4 else rng.randint(1, 300)
    steps = _searched(rng, world, path, fill_pattern(ASSIGNED, name), (number, there), many=True)
    if len(steps) == 1:
        edit = {"path": path, "old_text": old, "new_text": new, "whole_word": True, "line": number}
        steps += _edit(rng, world, edit, CHANGED)
    request = requests.ask(rng, "constant", world.held_out, f=path, o=name, v=new)
    return _finished("constant", request, steps, UNCHANGED)


def docstring(rng: random.Random, world: World) -> Conversation:
    """Give a Python function or class a one-line docstring."""
    path, name = world.path(rng, "py"), identifiers.identifier(rng, world.vocabulary)
    given, there = world.sentence(rng), world.definition(rng, "py", name)
    number = rng.randint(1, 9) if rng.random() < 0.4 else rng.randint(1, 400)
    steps = _searched(rng, world, path, fill_pattern(DOCUMENTED, name), (number, there), many=rng.random() < 0.2)
    if len(steps) == 1:
        new = f'{there}\n{_indent(there)}    """{given}"""\n'
        edit = {"path": path, "old_text": f"{there}\n", "new_text": new, "line": number}
        steps += _edit(rng, world, edit, ADDED_DOCSTRING)
    request = requests.ask(rng, "docstring", world.held_out, f=path, o=name, g=given)
    return _finished("docstring", request, steps, UNCHANGED)


def which(rng: random.Random, world: World) -> Conversation:
    """Answer which file defines a name."""
    extension = world.extension(rng, "definitions")
    path, name = world.path(rng, extension).removeprefix("./"), identifiers.identifier(rng, world.vocabulary)
    pattern = fill_pattern(DEFINED, name)
    request = requests.ask(rng, "which", world.held_out, o=name)
    number, there = rng.randint(1, 400), world.definition(rng, extension, name)
    total = 1 if rng.random() < 0.75 else rng.randint(2, 12)
    result, answer = results.found(pattern, ".", (path, number, there), total, min(total, rng.randint(1, 9))), ""
    if rng.random() < 0.15:
        result, answer = results.found(pattern, ".", None), NOT_FOUND
    elif rng.random() < REFUSED_SHARE:
        result, answer = results.error(rng, world.vocabulary, "search_files", path), NOT_FOUND
    else:
        answer = describe_definition(path, number, total)
    kind = "which" if answer != NOT_FOUND else "refused"
    step = called("ANALYZE", "search_files", {"pattern": pattern, "context_lines": 0, "max_results": 1}, result)
    return Conversation(kind, request, (step, Step(answer)))


def run(rng: random.Random, world: World) -> Conversation:
    """Run a command and say how it ended."""
    command = world.command(rng)
    request = requests.ask(rng, "run", world.held_out, g=command)
    code = 0 if rng.random() < 0.6 else rng.choice((1, 1, 2, 3, 4, 5, 101, 124, 126, 127, 130, rng.randint(6, 255)))
    result, answer, kind = results.ended(code, *world.output(rng)), describe_exit(code), "run"
    if rng.random() < REFUSED_SHARE:
        result, answer, kind = results.error(rng, world.vocabulary, "run_command", "."), NOT_RUN, "refused"
    elif rng.random() < 0.06:
        result = f"stopped after {rng.choice((60, 60, 10, 30, 600))} s, its time limit"
        answer = TIMED_OUT
    return Conversation(kind, request, (called("EXECUTE", "run_command", {"command": command}, result), Step(answer)))


SKILLS: dict[str, Callable[[random.Random, World], Conversation]] = {
    "replace": replace, "delete": delete, "after": after, "before": before, "import": add_import,
    "constant": constant, "docstring": docstring, "which": which, "run": run,
}  # fmt: skip


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _line_edit(
    rng: random.Random, world: World, kind: str, line: str, given: str, new: dict[str, str] | None, said: str
) -> Conversation:
    """Read line N alone, then edit it as `new` says; without `new` there is nothing to edit."""
    number = rng.randint(1, 9) if rng.random() < 0.3 else rng.randint(1, rng.choice((50, 400, 2000)))
    path = world.path(rng, world.extension(rng, "any"))
    request = requests.ask(rng, kind, world.held_out, f=path, l=str(number), g=given)
    total = number + rng.choice((0, 1, rng.randint(1, 400)))
    result = results.read(path, [line], number, total)
    refused = rng.random() < REFUSED_SHARE
    if refused:
        result = results.error(rng, world.vocabulary, "read_file", path)
        if rng.random() < 0.3:
            result = f"error invalid_arguments: cannot read `{path}` from line {number}: it has {number - 1} lines\n"
            result += f"fix: use an offset from 1 to {max(1, number - 1)}"
    steps = [called("READ_FILE", "read_file", {"path": path, "offset": number, "limit": 1}, result)]
    if refused or new is None:
        steps.append(Step(UNCHANGED))
    else:
        steps += _edit(rng, world, {"path": path, **new, "line": number}, said)
    return _finished(kind, request, steps, UNCHANGED)


def _searched(
    rng: random.Random, world: World, path: str, pattern: str, hit: tuple[int, str], *, many: bool
) -> list[Step]:
    """Search one file for the line to edit; refused or in vain, the turn ends with that."""
    total = rng.randint(2, 14) if many and rng.random() < 0.6 else 1
    chance = rng.random()
    result = results.found(pattern, path.removeprefix("./"), (path.removeprefix("./"), *hit), total)
    if chance < REFUSED_SHARE:
        result = results.error(rng, world.vocabulary, "search_files", path)
    elif chance < 2 * REFUSED_SHARE:
        result = results.found(pattern, path.removeprefix("./"), None)
    arguments = {"pattern": pattern, "path": path, "context_lines": 0, "max_results": 1}
    steps = [called("ANALYZE", "search_files", arguments, result)]
    return steps if chance >= 2 * REFUSED_SHARE else [*steps, Step(UNCHANGED)]


def _edit(rng: random.Random, world: World, arguments: dict[str, object], said: str) -> list[Step]:
    path = str(arguments["path"])
    if rng.random() < REFUSED_SHARE:
        result, said = results.error(rng, world.vocabulary, "edit_file", path), UNCHANGED
    else:
        result = results.edited(path.removeprefix("./"))
    return [called("CODE", "edit_file", arguments, result), Step(said)]


def _finished(kind: str, request: str, steps: list[Step], stopped: str) -> Conversation:
    return Conversation("refused" if steps[-1].expected == stopped else kind, request, tuple(steps))
