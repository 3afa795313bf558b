"""Finds the effect of one command, by the program's row, or by a function (a judge) for what a row cannot say
(CMD-05).

A judge returns None if the row decides. A program without a row is `unknown`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.policy.shell.catalogue.rows import Effect, JudgeName, Program, is_option, strongest
from remit_governance.policy.shell.effects.inline_code import (
    of_code,
    of_julia,
    of_node,
    of_perl,
    of_r,
    of_ruby,
    of_sql,
    of_sql_file,
)
from remit_governance.policy.shell.effects.program_row import Given, effect_in, in_every_reading, written_by
from remit_governance.policy.shell.effects.system import (
    of_activate,
    of_chmod,
    of_cloud,
    of_copy,
    of_curl,
    of_formula,
    of_fzf,
    of_git,
    of_kill,
    of_kubernetes,
    of_link,
    of_media,
    of_move,
    of_pager,
    of_places,
    of_printenv,
    of_remove,
    of_rsync,
    of_shell,
    of_sysctl,
    of_wget,
)
from remit_governance.policy.shell.effects.tasks import of_cargo, of_go_run, of_make, of_maven, of_tasks, of_tool_name

Words = Sequence[str]
Judge = Callable[[Words], Effect | None]

_VERSIONED = re.compile(r"([a-z+]+)-?\d+(?:\.\d+)*")
_WRAPPED_IN = re.compile(r"(?:\./)?(?:\.?venv/bin|node_modules/\.bin|vendor/bin|bin)/([a-z][\w.-]*)")
_PLAIN_WORD = re.compile(r"[a-z][a-z:-]*")
_RUNS_OTHERS = frozenset({"run", "exec", "x", "dlx"})


def plain_name(program: str) -> str:
    """Returns the name under which this program has a row: `python3.12` is `python`, `gcc-13` is `gcc`."""
    if _is_known(program):
        return program
    versioned = _VERSIONED.fullmatch(program)
    return versioned[1] if versioned and _is_known(versioned[1]) else program


def _is_known(program: str) -> bool:
    row = packaged(program)
    return row is not None and row.known


def effect_of(command: tuple[str, ...]) -> Effect:
    """Returns the effect of a command of at least one word. Of the program's path only the name counts, so the program
    has to be in a known place (`is_known_place`)."""
    program, arguments = plain_name(posixpath.basename(command[0])), command[1:]
    row = packaged(program)
    if row is None or not row.known:
        return "asks" if arguments in {("--version",), ("--help",)} else "unknown"
    said = _said_by(row, program, arguments)
    return strongest([said, "runs"]) if row.replaced_by else said


def _said_by(row: Program, program: str, arguments: Words) -> Effect:
    if arguments == ("--version",) or _asks_for_help(arguments):
        return "reads"
    judge = JUDGES.get(row.judge) if row.judge else None
    said = judge(arguments) if judge is not None else None
    return said or effect_in(row, program, arguments)


def has_one_effect(program: str) -> bool:
    """Returns whether a program has the effect `runs` whatever its words are: it has no judge, and its row names
    nothing that is in `_MORE`."""
    row = packaged(program)
    return (
        row is not None
        and row.judge is None
        and (row.unlisted or row.otherwise) == "runs"
        and not any(entry.effect in _MORE for entry in row.entries)
    )


_MORE: frozenset[Effect] = frozenset({"loses", "sends", "unknown"})


def files_of(program: str, arguments: Words) -> Iterator[str]:
    """Yields the files that a known program writes because an option names them."""
    name = plain_name(program)
    row = packaged(name)
    if row is not None:
        yield from written_by(row, name, arguments)


def effect_in_project(command: tuple[str, ...]) -> Effect:
    """Returns the effect of a command whose program is a file of the project, such as a build's wrapper or a tool that
    was installed there."""
    program = command[0].removeprefix("./")
    if program in {"configure", "bin/dev"}:
        return "runs"
    if program == "manage.py":
        return effect_of(("python", program, *command[1:]))
    if program in {"gradlew", "mvnw"}:
        return strongest([effect_of((program.removesuffix("w"), *command[1:])), "runs"])
    inner = _WRAPPED_IN.fullmatch(command[0])
    if inner is None or (command[0].removeprefix("./").startswith("bin/") and inner[1] not in _BIN_STUBS):
        return "unknown"
    return strongest([effect_of((inner[1], *command[1:])), "runs"])


_BIN_STUBS = frozenset({"rails", "rspec", "rake", "rubocop", "bundle"})
"""Programs that a project keeps in `bin` by convention."""


def _asks_for_help(arguments: Words) -> bool:
    *words, last = arguments or ("",)
    plain = len(words) < 3 and all(_PLAIN_WORD.fullmatch(word) for word in words)
    return last == "--help" and plain and _RUNS_OTHERS.isdisjoint(words)


_MODULES: Mapping[str, Effect] = MappingProxyType(
    {
        **dict.fromkeys(("site", "sysconfig", "platform", "calendar", "tabnanny", "tokenize", "ast", "dis"), "reads"),
        **dict.fromkeys(("py_compile", "compileall", "venv", "virtualenv"), "changes"),
        **dict.fromkeys(("unittest", "doctest", "build", "pydoc", "sphinx", "django.test", "twisted.trial"), "runs"),
    }
)


def _python(arguments: Words) -> Effect | None:
    words, letters = list(arguments), ""
    while words and re.fullmatch(r"-[BEIOPSsubvqdx]+|-W|-X", words[0]):
        letters += words[0] if words[0] not in {"-W", "-X"} else ""
        words = words[2:] if words[0] in {"-W", "-X"} else words[1:]
    match words:
        case ["-V" | "-VV" | "--version" | "-h" | "--help", *_]:
            return "reads"
        case ["-m", module, *rest]:
            # Without `-I` a module comes from the current folder or from `PYTHONPATH` if it is there.
            return strongest([_module(module, rest), "reads" if "I" in letters else "runs"])
        case ["-c", code, *_]:
            return of_code("python", code)
        case [script, *rest] if posixpath.basename(script) == "manage.py":
            return _in_row("python manage.py", rest)
        case [script, *rest] if posixpath.basename(script) == "setup.py":
            return _in_row("python setup.py", rest)
        case _:
            return "unknown"


def _module(module: str, rest: Words) -> Effect:
    """Returns what a module does with these words, if it is the one that its name promises."""
    program = module.replace("_", "-")
    if module == "json.tool":
        # The second operand is a file that it writes. The value of `--indent` counts as an operand too.
        return "reads" if sum(not is_option(word) for word in rest) <= 1 else "unknown"
    if module == "sysconfig" and rest:
        return "unknown"
    if program in {"zipfile", "tarfile"}:
        return "reads" if rest[:1] in (["-l"], ["--list"], ["-t"], ["--test"]) else "unknown"
    known = program in {"pip", "coverage", "pre-commit"} or _is_tool(program)
    return _MODULES.get(module) or (effect_of((program, *rest)) if known else "unknown")


def _pip(arguments: Words) -> Effect | None:
    return strongest([_in_row("pip", arguments), in_every_reading("pip", arguments, _of_installed)])


def _of_installed(given: Given) -> Effect:
    """Returns `fetches` if `pip install` has an option with an address, `runs` if the project names what is installed,
    and `reads` for any other subcommand."""
    if given.operands[:1] != ("install",):
        return "reads"
    return "fetches" if any("://" in value or "@" in value for _, value in given.values) else "runs"


def _uv(arguments: Words) -> Effect | None:
    match list(arguments):
        case ["pip", *rest]:
            return _pip(rest)
        case ["run", *rest]:
            return _run_tool(
                rest, frozenset({"--frozen", "--locked", "--no-sync", "-q", "--all-extras", "--dev", "--no-dev"})
            )
        case ["tool", "run", *rest]:
            return _run_tool(rest, frozenset())
        case _:
            return None


def _runner(*before: str, flags: str = "", own: frozenset[str] = frozenset()) -> Judge:
    """Returns a judge for calls such as `npx TOOL` and `poetry run TOOL`: the tool's effect, but at least `runs`."""

    def judge(arguments: Words) -> Effect | None:
        words = list(arguments)
        if words[: len(before)] != list(before):
            return None
        return _run_tool(words[len(before) :], frozenset(flags.split()), own)

    return judge


_SCRIPTS = frozenset(
    [
        *("build", "check", "cov", "coverage", "dev", "docs", "fmt", "format", "lint", "start", "style", "test"),
        *("tests", "types", "typing"),
    ]
)
"""Names that projects give their scripts, for runners of tools that can start these too."""


def _run_tool(words: Words, flags: frozenset[str], own: frozenset[str] = frozenset()) -> Effect:
    rest = list(words)
    while rest and (rest[0] in flags or rest[0] == "--" or rest[0] in _CHOOSES):
        rest = rest[2 if rest[0] in _CHOOSES else 1 :]
    while rest[:1] == ["cross-env"] or (rest and _SETS_MODE.fullmatch(rest[0])):
        rest = rest[1:]
    name = of_tool_name(rest[0]) if rest else None
    if name in own or (own and rest and rest[0].partition(":")[2] in own):
        return "runs"
    if name is None or not (_is_tool(name) or name in _TOOLS):
        return "fetches"
    return strongest([effect_of((name, *rest[1:])), "runs"])


_CHOOSES = frozenset({"--extra", "--group", "--python", "--package"})
"""Options of runners of tools with a value, which only choose among what the project names."""
_SETS_MODE = re.compile(r"(?:NODE_ENV|BABEL_ENV|CI|FORCE_COLOR|TZ)=\w+")

_TOOLS = frozenset(
    [
        *("python", "node", "rake", "rails", "alembic", "pip", "cdk", "wrangler", "serverless", "sls", "knex"),
        *("sequelize", "sequelize-cli", "drizzle-kit", "firebase", "hardhat", "changeset", "gitleaks"),
    ]
)
"""Programs that a runner of tools may start, besides those for which `_is_tool` holds."""


def _npm(arguments: Words) -> Effect | None:
    match list(arguments):
        case ["exec" | "x", *rest]:
            return _run_tool(rest, frozenset({"--", "--no", "--no-install", "--yes", "-y"}))
        case _:
            return of_tasks("npm", arguments, _row("npm"))


def _manager(program: str) -> Judge:
    def judge(arguments: Words) -> Effect | None:
        match list(arguments):
            case ["exec" | "x", *rest]:
                return _run_tool(rest, frozenset({"--"}))
            case ["dlx", *rest]:
                return _run_tool(rest, frozenset({"-q", "--silent"}))
            case _:
                return of_tasks(program, arguments, _row(program))

    return judge


def _php(arguments: Words) -> Effect | None:
    match list(arguments):
        case ["-r", code]:
            return of_code("php", code)
        case ["artisan", *rest]:
            return strongest([_in_row("php artisan", rest), "runs"])
        case ["bin/phpunit", *_]:
            return "runs"
        case ["bin/console", *rest]:
            return _in_row("php bin/console", rest)
        case [script, *rest] if script.startswith("vendor/bin/"):
            return effect_in_project((script, *rest))
        case _:
            return None


def _row(name: str) -> Program:
    """Returns the row of a program that certainly has one."""
    row = packaged(name)
    assert row is not None
    return row


def _in_row(name: str, arguments: Words) -> Effect:
    return effect_in(_row(name), name, arguments)


def _is_tool(name: str) -> bool:
    """Returns whether a program only builds and checks projects, so that a runner of tools may start it."""
    row = packaged(name)
    return row is not None and row.subject in {"building", "checking"}


JUDGES: Mapping[JudgeName, Judge] = MappingProxyType(
    {
        "activate": of_activate,
        "bun": _manager("bun"),
        "bundle": _runner("exec"),
        "cargo": lambda arguments: of_cargo(arguments, _row("cargo")),
        "chmod": of_chmod,
        "cloud": of_cloud,
        "copy": of_copy,
        "curl": of_curl,
        "formula": of_formula,
        "fzf": of_fzf,
        "git": lambda arguments: of_git(arguments, _row("git")),
        "go": of_go_run,
        "gradle": lambda arguments: of_tasks("gradle", arguments, _row("gradle")),
        "julia": of_julia,
        "kill": of_kill,
        "kubernetes": of_kubernetes,
        "link": of_link,
        "make": of_make,
        "maven": of_maven,
        "media": of_media,
        "move": of_move,
        "node": of_node,
        "npm": _npm,
        "npx": _runner(flags="--no-install --no --yes -y -q --quiet --bun"),
        "pager": of_pager,
        "perl": of_perl,
        "php": _php,
        "pip": _pip,
        "places": of_places,
        "pnpm": _manager("pnpm"),
        "printenv": of_printenv,
        "project_run": _runner("run", own=_SCRIPTS),
        "project_tasks": lambda arguments: of_tasks("rake", arguments, _row("rake")),
        "python": _python,
        "r": of_r,
        "remove": of_remove,
        "rsync": of_rsync,
        "ruby": of_ruby,
        "sbt": lambda arguments: of_tasks("sbt", arguments, _row("sbt")),
        "shell": of_shell,
        "sql": of_sql,
        "sql_file": of_sql_file,
        "sysctl": of_sysctl,
        "tasks": lambda arguments: of_tasks("task", arguments, _row("task")),
        "uv": _uv,
        "uvx": _runner(),
        "wget": of_wget,
        "yarn": _manager("yarn"),
    }
)
"""The functions that decide what a row cannot say. Rows name them in `judge`."""
