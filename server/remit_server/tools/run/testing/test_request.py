"""Turns the arguments of `run_tests` into a runner, a folder and the tests to run, by looking at the workspace."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.run.testing.finding import (
    Facts,
    Place,
    elsewhere,
    home_of,
    is_written_for_pytest,
    nearest,
    python_tests,
    rival_of,
    runners_of,
    runs_as_module,
    unknown_runner,
)
from remit_server.tools.run.testing.rerunning import Id, is_run_by, read_id
from remit_server.tools.run.testing.runners import RUNNERS, Runner, RunnerAsk
from remit_server.tools.spec import ToolContext
from remit_server.workspace.content.files import read_image
from remit_server.workspace.trees.walk import Limits, walk

_MAX_TEXT_BYTES = 256 * 1024
_MAX_LOOKED_AT = 20
_JEST_APART = 29
_ONE_FOLDER = frozenset({"unittest", "go", "cargo"})
_TEXTS = (
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "package.json",
    "requirements.txt",
    "requirements-dev.txt",
    "Makefile",
    "noxfile.py",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The arguments of a call: a path or a test's id or None, a part of the tests' names, a runner, whether to measure
    lines, and further paths.
    """

    path: str | None
    part: str | None
    runner: str | None
    coverage: bool
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The runner and what it is asked to run, in a folder of the workspace. `others` are runners whose tests this run
    leaves out. `rival` is the runner that the folder's files are written for, if the call named another one for the
    same language. `unknown` is a runner that the project's files use and that Remit does not know.

    `files` are the workspace's files, so that a path that a runner reports can be recognised as one of them.
    """

    runner: Runner
    ask: RunnerAsk
    folder: str = "."
    files: frozenset[str] = frozenset()
    others: tuple[Place, ...] = ()
    rival: str | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class _Spot:
    path: str
    is_folder: bool
    test: str = ""

    @property
    def suffix(self) -> str:
        return "" if self.is_folder else PurePosixPath(self.path).suffix


def choose(wanted: Wanted, ctx: ToolContext) -> Choice:
    """Returns the runner, and what it is asked to run. Raises ToolError if no runner fits, or if the runner could not
    run exactly that."""
    files = tuple(walk(ctx.workspace, ctx.resolve("."), Limits()))
    known: dict[str, Facts] = {}

    def facts_of(folder: str) -> Facts:
        if folder not in known:
            known[folder] = _facts(folder, files, ctx)
        return known[folder]

    def ask_more(path: str) -> RunnerAsk:
        also = replace(wanted, path=path)
        further = _spot(also, ctx)
        _refuse_apart((wanted.path, path), (spot, further), (place, _place(also, further, files, facts_of)))
        return _ask(also, further, place, files, ctx)

    spot = _spot(wanted, ctx)
    place = _place(wanted, spot, files, facts_of)
    runner = _row(place)
    if wanted.coverage and runner.coverage is None:
        raise ToolError("cannot measure coverage", f"{runner.name} does not measure it", "leave `coverage` out")
    ask = _ask(wanted, spot, place, files, ctx)
    ask = replace(ask, more=tuple(map(ask_more, wanted.more)))
    ask = replace(ask, as_module=place.runner == "pytest" and runs_as_module(facts_of(place.folder)))
    others = elsewhere(place.runner, files, facts_of) if wanted.path is None else ()
    facts = facts_of(place.folder)
    unknown = unknown_runner(facts, place.runner)
    return Choice(runner, ask, place.folder, frozenset(files), others, rival_of(place, facts), unknown)


def _row(place: Place) -> Runner:
    return next(each for each in RUNNERS if each.name == place.runner)


def _spot(wanted: Wanted, ctx: ToolContext) -> _Spot:
    """Returns where the tests are. A text that is no existing path may be the id of a test below an existing one."""
    if wanted.path is None:
        return _Spot(".", True)
    path = ctx.resolve(wanted.path)
    if os.path.exists(path.absolute):  # noqa: PTH110  which is false of names too long, too
        return _Spot(path.relative, path.absolute.is_dir())
    found = read_id(
        wanted.path, lambda text: _is(text, ctx, os.path.isfile), lambda text: _is(text, ctx, os.path.isdir)
    )
    kinds = (wanted.runner,) if wanted.runner else tuple(runner.name for runner in RUNNERS)
    if found is None or not any(is_run_by(kind, found) for kind in kinds):
        raise _missing(path.relative)
    if wanted.part:
        raise ToolError("cannot filter a single test", "`path` is the id of a test", "leave `filter` out")
    return _Spot(ctx.resolve(found.path).relative, not found.is_file, found.test)


def _is(text: str, ctx: ToolContext, check: Callable[[str], bool]) -> bool:
    try:
        return check(str(ctx.resolve(text).absolute))
    except ToolError:
        return False


def _missing(path: str) -> ToolError:
    return ToolError(f"cannot test `{path}`", "there is no such file", "find it with list_files")


def _place(wanted: Wanted, spot: _Spot, files: tuple[str, ...], facts_of: Callable[[str], Facts]) -> Place:
    if wanted.runner:
        home = home_of(wanted.runner, spot.path, files)
        found: tuple[Place, ...] = () if home is None else (Place(wanted.runner, home),)
    elif spot.suffix or spot.is_folder:
        found = nearest(spot.path, spot.suffix, files, facts_of) if spot.is_folder or runners_of(spot.suffix) else ()
    else:
        found = ()
    if spot.test:
        test = Id(spot.path, spot.test, not spot.is_folder)
        found = tuple(place for place in found if is_run_by(place.runner, test))
        if not found:
            raise _missing(spot.test)
    if not found:
        raise _unfit(wanted, spot, elsewhere("", files, facts_of))
    return found[0]


def _unfit(wanted: Wanted, spot: _Spot, others: tuple[Place, ...]) -> ToolError:
    where = "" if spot.path == "." else f" at or above `{spot.path}`"
    if wanted.runner:
        why = f"there is no {wanted.runner} project{where}"
    elif spot.is_folder:
        why = f"no runner is configured for them{where}, and no files look like tests"
    else:
        why = f"no runner runs a file such as `{spot.path}`"
    below = ", ".join(f"`{each.folder}` ({each.runner})" for each in others if each.folder != ".")
    known = f"name a `runner` ({', '.join(runner.name for runner in RUNNERS)}), or use run_command"
    fix = f"name a `path`: {below}" if below else known if spot.is_folder else "name a file or a folder of tests"
    return ToolError("cannot run tests", why, fix, code=ErrorCode.NOT_FOUND)


def _ask(wanted: Wanted, spot: _Spot, place: Place, files: tuple[str, ...], ctx: ToolContext) -> RunnerAsk:
    runner, folder = _row(place), place.folder
    path = str(PurePosixPath(spot.path).relative_to(folder))
    narrowed: tuple[str, ...] = ()
    if runner.narrow and path != "." and not (spot.test and runner.name != "node"):
        before = "" if folder == "." else f"{folder}/"
        below = tuple(file.removeprefix(before) for file in files if file.startswith(before))
        narrowed = runner.narrow(path, spot.is_folder, below, lambda name: _text(f"{before}{name}", ctx))
    # A path that begins with one of these signs would be read as an option or as the name of a file of options.
    named = None if path == "." else f"./{path}" if path[0] in "-@+" else path
    provider = runner.name != "vitest" or _has_provider(folder, ctx)
    apart = runner.name == "jest" and _is_newer_jest(folder, ctx)
    return RunnerAsk(named, spot.is_folder, wanted.part, wanted.coverage, narrowed, spot.test, provider, apart)


def _refuse_apart(paths: tuple[str | None, str], spots: tuple[_Spot, _Spot], runners: tuple[Place, Place]) -> None:
    """Raises ToolError if one run cannot cover both paths."""
    what = f"cannot test `{paths[0]}` and `{paths[1]}` at once"
    if any(spot.test for spot in spots):
        raise ToolError(what, "one of them is the id of a test", "name test files, or a single id")
    if runners[0] != runners[1]:
        raise ToolError(what, "they are tests of two runners, or of two projects", "run them one after the other")
    name = runners[0].runner
    if name in _ONE_FOLDER and any(spot.is_folder for spot in spots):
        raise ToolError(what, f"{name} takes one folder only", "name test files, or one folder")


def _has_provider(folder: str, ctx: ToolContext) -> bool:
    """Returns whether Vitest has a coverage provider; without one it would run no test if asked for coverage."""
    packages = [modules / "@vitest" for modules in _modules_above(folder, ctx)]
    return any((package / f"coverage-{kind}").is_dir() for package in packages for kind in ("v8", "istanbul"))


def _is_newer_jest(folder: str, ctx: ToolContext) -> bool:
    """Returns whether Jest knows `--workerIdleMemoryLimit`; older versions refuse to start with it."""
    for modules in _modules_above(folder, ctx):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            version = json.loads((modules / "jest" / "package.json").read_text(encoding="utf-8"))["version"]
            return int(version.partition(".")[0]) >= _JEST_APART
    return False


def _modules_above(folder: str, ctx: ToolContext) -> list[Path]:
    """Returns the folders where Node looks for packages, nearest first."""
    above = dict.fromkeys((folder, *map(str, PurePosixPath(folder).parents)))
    return [ctx.workspace.root / each / "node_modules" for each in above]


def _facts(folder: str, files: tuple[str, ...], ctx: ToolContext) -> Facts:
    before = "" if folder == "." else f"{folder}/"
    below = tuple(file.removeprefix(before) for file in files if file.startswith(before))
    tests = python_tests(below)[:_MAX_LOOKED_AT]
    # At the top, ignored files count too, because a person would look for configuration there.
    top = (
        [entry.name for entry in os.scandir(ctx.workspace.root)]
        if folder == "."
        else [file.partition("/")[0] for file in below]
    )
    return Facts(
        top=frozenset(top),
        files=below,
        texts=_texts(folder, ctx),
        for_pytest=any(is_written_for_pytest(_text(f"{before}{name}", ctx)) for name in tests),
    )


def _texts(folder: str, ctx: ToolContext) -> dict[str, str]:
    """Returns the configuration texts of the folder and of each folder above it, which apply below them too."""
    found: dict[str, str] = {}
    for depth, above in enumerate(dict.fromkeys((folder, *map(str, PurePosixPath(folder).parents)))):
        for name in _TEXTS:
            if (ctx.workspace.root / above / name).is_file():
                found["../" * depth + name] = _text(str(PurePosixPath(above, name)), ctx)
    return found


def _text(relative: str, ctx: ToolContext) -> str:
    with contextlib.suppress(ToolError):
        return read_image(ctx.workspace, ctx.resolve(relative), _MAX_TEXT_BYTES).data.decode(errors="replace")
    return ""
