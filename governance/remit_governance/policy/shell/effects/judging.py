"""What one command does: its row in a table, or a judge of its own where words alone decide
(CMD-05).

A judge returns None where the row decides. What is in no table is `unknown`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from remit_governance.policy.shell.effects.building import BUILDING
from remit_governance.policy.shell.effects.code.interpreters import of_julia, of_node, of_perl, of_r, of_ruby
from remit_governance.policy.shell.effects.code.languages import of_code, of_sql
from remit_governance.policy.shell.effects.files import FILES
from remit_governance.policy.shell.effects.git import GIT
from remit_governance.policy.shell.effects.network import of_curl, of_wget
from remit_governance.policy.shell.effects.program_row import (
    Effect,
    Given,
    Program,
    effect_in,
    in_every_reading,
    strongest,
    written_by,
)
from remit_governance.policy.shell.effects.services import SERVICES
from remit_governance.policy.shell.effects.system import (
    of_activate,
    of_chmod,
    of_cloud,
    of_copy,
    of_git,
    of_kill,
    of_kubernetes,
    of_link,
    of_media,
    of_move,
    of_pager,
    of_printenv,
    of_remove,
    of_rsync,
    of_shell,
    of_sysctl,
)
from remit_governance.policy.shell.effects.tasks import of_cargo, of_go_run, of_make, of_maven, of_tasks, of_tool_name

Words = Sequence[str]
Judge = Callable[[Words], Effect | None]

PROGRAMS: Mapping[str, Program] = MappingProxyType({**FILES, **BUILDING, **SERVICES, "git": GIT})
"""Every row, by program."""

_VERSIONED = re.compile(r"([a-z+]+)-?\d+(?:\.\d+)*")
_WRAPPED_IN = re.compile(r"(?:\./)?(?:\.?venv/bin|node_modules/\.bin|vendor/bin|bin)/([a-z][\w.-]*)")
_PLAIN_WORD = re.compile(r"[a-z][a-z:-]*")
_RUNS_OTHERS = frozenset({"run", "exec", "x", "dlx"})


def plain_name(program: str) -> str:
    """The name that a table has for this program: `python3.12` is `python`, `gcc-13` is `gcc`."""
    if program in PROGRAMS or program in JUDGES:
        return program
    versioned = _VERSIONED.fullmatch(program)
    return versioned[1] if versioned and (versioned[1] in PROGRAMS or versioned[1] in JUDGES) else program


def effect_of(command: tuple[str, ...]) -> Effect:
    """What a command does that is of known programs where they belong, by its words, at least one."""
    program, arguments = plain_name(posixpath.basename(command[0])), command[1:]
    if program not in PROGRAMS and program not in JUDGES:
        return "asks" if arguments in {("--version",), ("--help",)} else "unknown"
    if arguments == ("--version",) or _asks_for_help(arguments):
        return "reads"
    judge = JUDGES.get(program)
    said = judge(arguments) if judge is not None else None
    return said or (effect_in(PROGRAMS[program], program, arguments) if program in PROGRAMS else "unknown")


def has_one_effect(program: str) -> bool:
    """Whether a program builds or checks the project whatever its words are: nothing more can be made of it."""
    row = PROGRAMS.get(program)
    return (
        row is not None
        and program not in JUDGES
        and row.other == "runs"
        and not (row.loses or row.sends or row.unknown)
    )


def files_of(program: str, arguments: Words) -> Iterator[str]:
    """The files that a known program's options name to be written."""
    name = plain_name(program)
    if name in PROGRAMS:
        yield from written_by(PROGRAMS[name], name, arguments)


def effect_in_project(command: tuple[str, ...]) -> Effect:
    """What a command does whose program lies in the project: a build's wrapper, or a tool that was installed there."""
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
        **dict.fromkeys(
            ("json.tool", "site", "sysconfig", "platform", "calendar", "tabnanny", "tokenize", "ast", "dis"), "reads"
        ),
        **dict.fromkeys(("py_compile", "compileall", "venv", "virtualenv"), "changes"),
        **dict.fromkeys(("unittest", "doctest", "build", "pydoc", "sphinx", "django.test", "twisted.trial"), "runs"),
    }
)
_DJANGO = Program(
    runs="""
        check, test, makemigrations, showmigrations, sqlmigrate, diffsettings, help, findstatic, compilemessages,
        makemessages, version, migrate --plan|--check, runserver, collectstatic --dry-run|-n"""
)
_SETUP = Program(
    runs="build, build_ext, sdist, bdist_wheel, bdist, test, check, develop, egg_info",
    reads="--version|--name|--help|--classifiers",
)


def _python(arguments: Words) -> Effect | None:
    words = list(arguments)
    while words and re.fullmatch(r"-[BEIOSsubvqdx]+|-W|-X", words[0]):
        words = words[2:] if words[0] in {"-W", "-X"} else words[1:]
    match words:
        case ["-V" | "-VV" | "--version" | "-h" | "--help", *_]:
            return "reads"
        case ["-m", module, *rest]:
            return _MODULES.get(module) or _module(module.replace("_", "-"), rest)
        case ["-c", code, *_]:
            return of_code("python", code)
        case [script, *rest] if posixpath.basename(script) == "manage.py":
            return effect_in(_DJANGO, "manage.py", rest)
        case [script, *rest] if posixpath.basename(script) == "setup.py":
            return effect_in(_SETUP, "setup.py", rest)
        case _:
            return "unknown"


def _module(program: str, rest: Words) -> Effect:
    if program in {"zipfile", "tarfile"}:
        return "reads" if rest[:1] in (["-l"], ["--list"], ["-t"], ["--test"]) else "unknown"
    known = program in {"pip", "coverage", "pre-commit"} or program in BUILDING
    return effect_of((program, *rest)) if known else "unknown"


_PIP = Program(
    reads="""
        list, freeze, show, check, --version, -V, help, debug, inspect, hash, config list, config get, config debug,
        cache dir, cache info, cache list""",
    asks="index versions, search, list -o, list --outdated",
    changes="uninstall, cache purge, cache remove, wheel -r $",
    runs="""
        install -r|--requirement|-e|--editable $, install . $, install .[dev]|.[test]|.[tests]|.[dev,test] $,
        install --upgrade pip|setuptools|wheel $, install --dry-run $, download -r $""",
    unknown="""
        -i|-f|--index-url|--extra-index-url|--find-links|--trusted-host|--config-settings|--global-option|--target|--root|--prefix""",
)


def _pip(arguments: Words) -> Effect | None:
    return strongest([effect_in(_PIP, "pip", arguments), in_every_reading("pip", arguments, _of_installed)])


def _of_installed(given: Given) -> Effect:
    """What the project names is its own; an address names somebody else's."""
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
    """A judge for `npx TOOL`, `poetry run TOOL`: what the tool does, and it is the project's own at least."""

    def judge(arguments: Words) -> Effect | None:
        words = list(arguments)
        if words[: len(before)] != list(before):
            return None
        return _run_tool(words[len(before) :], frozenset(flags.split()), own)

    return judge


_SCRIPTS = frozenset(
    [
        "build",
        "check",
        "cov",
        "coverage",
        "dev",
        "docs",
        "fmt",
        "format",
        "lint",
        "start",
        "style",
        "test",
        "tests",
        "types",
        "typing",
    ]
)
"""Names that projects give their scripts, where a runner of tools starts these, too."""


def _run_tool(words: Words, flags: frozenset[str], own: frozenset[str] = frozenset()) -> Effect:
    rest = list(words)
    while rest and (rest[0] in flags or rest[0] == "--" or rest[0] in _CHOOSES):
        rest = rest[2 if rest[0] in _CHOOSES else 1 :]
    while rest[:1] == ["cross-env"] or (rest and _SETS_MODE.fullmatch(rest[0])):
        rest = rest[1:]
    name = of_tool_name(rest[0]) if rest else None
    if name in own or (own and rest and rest[0].partition(":")[2] in own):
        return "runs"
    if name is None or (name not in BUILDING and name not in _TOOLS):
        return "fetches"
    return strongest([effect_of((name, *rest[1:])), "runs"])


_CHOOSES = frozenset({"--extra", "--group", "--python", "--package"})
"""Options of runners of tools that choose among what the project names."""
_SETS_MODE = re.compile(r"(?:NODE_ENV|BABEL_ENV|CI|FORCE_COLOR|TZ)=\w+")

_TOOLS = frozenset(
    [
        *("python", "node", "rake", "rails", "alembic", "pip", "cdk", "wrangler", "serverless", "sls", "knex"),
        *("sequelize", "sequelize-cli", "drizzle-kit", "firebase", "hardhat", "changeset", "gitleaks"),
    ]
)
"""Programs that a runner of tools may start beside those of the project's tables."""


def _npm(arguments: Words) -> Effect | None:
    match list(arguments):
        case ["exec" | "x", *rest]:
            return _run_tool(rest, frozenset({"--", "--no", "--no-install", "--yes", "-y"}))
        case _:
            return of_tasks("npm", arguments, PROGRAMS["npm"])


def _manager(program: str) -> Judge:
    def judge(arguments: Words) -> Effect | None:
        match list(arguments):
            case ["exec" | "x", *rest]:
                return _run_tool(rest, frozenset({"--"}))
            case ["dlx", *rest]:
                return _run_tool(rest, frozenset({"-q", "--silent"}))
            case _:
                return of_tasks(program, arguments, PROGRAMS[program])

    return judge


def _bundle(arguments: Words) -> Effect | None:
    return _run_tool(arguments[1:], frozenset()) if arguments[:1] in (("exec",), ["exec"]) else None


_ARTISAN = Program(
    reads="about, list, help, --version, env, inspire",
    runs="""
        test, route:list, migrate:status, config:show, event:list, schedule:list, model:show, optimize, view:cache,
        config:cache, route:cache, pint""",
    changes="""
        make:model, make:controller, make:migration, make:test, make:request, make:resource, make:command,
        cache:clear, config:clear, view:clear, route:clear, optimize:clear""",
)


_CONSOLE = Program(
    reads="list, about, --version",
    runs="""
        debug:router, debug:container, debug:config, debug:autowiring, debug:event-dispatcher, debug:twig, lint:yaml,
        lint:twig, lint:container, router:match, doctrine:schema:validate, doctrine:mapping:info,
        doctrine:migrations:status, doctrine:migrations:list, cache:warmup, config:dump-reference""",
)


def _php(arguments: Words) -> Effect | None:
    match list(arguments):
        case ["-r", code]:
            return of_code("php", code)
        case ["artisan", *rest]:
            return strongest([effect_in(_ARTISAN, "artisan", rest), "runs"])
        case ["bin/phpunit", *_]:
            return "runs"
        case ["bin/console", *rest]:
            return effect_in(_CONSOLE, "console", rest)
        case [script, *rest] if script.startswith("vendor/bin/"):
            return effect_in_project((script, *rest))
        case _:
            return None


def _gradle(arguments: Words) -> Effect | None:
    return of_tasks("gradle", arguments, _GRADLE)


_GRADLE = Program(
    runs="spotlessApply, ktlintFormat, --stop",
    reads="--version, -v, help",
    unknown="-I|--init-script|--include-build|--publish",
)


def _sbt(arguments: Words) -> Effect | None:
    return of_tasks("sbt", arguments, Program())


def _task_runner(arguments: Words) -> Effect | None:
    return of_tasks("task", arguments, _TASK_RUNNER)


_TASK_RUNNER = Program(
    reads="-l|-T|-P|--list|--list-all|--summary|--tasks|--version|--show|--dump|--evaluate|--choose",
    unknown="-c|--command|--shell|-r|-e|-E|--eval|--execute|--require",
)

JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        **dict.fromkeys(("aws", "gcloud", "az", "doctl", "oci"), of_cloud),
        **dict.fromkeys(("bash", "dash", "ksh", "sh", "zsh"), of_shell),
        **dict.fromkeys((".", "source"), of_activate),
        **dict.fromkeys(("convert", "ffmpeg", "ffprobe", "identify", "magick"), of_media),
        **dict.fromkeys(("bundle", "bundler"), _bundle),
        **dict.fromkeys(("bunx", "npx"), _runner(flags="--no-install --no --yes -y -q --quiet --bun")),
        **dict.fromkeys(("gradle",), _gradle),
        **dict.fromkeys(("just", "task", "rake", "invoke", "inv", "doit", "mage"), _task_runner),
        **dict.fromkeys(("less", "more"), of_pager),
        **dict.fromkeys(("make", "gmake", "bmake"), of_make),
        **dict.fromkeys(("mysql", "mariadb", "psql", "sqlite3", "sqlite", "duckdb"), of_sql),
        **dict.fromkeys(("node", "nodejs"), of_node),
        **dict.fromkeys(("pip", "pipx"), _pip),
        **dict.fromkeys(("poetry", "pdm", "rye", "pipenv", "hatch"), _runner("run", own=_SCRIPTS)),
        **dict.fromkeys(("rm", "unlink"), of_remove),
        **{name: _manager(name) for name in ("bun", "pnpm", "yarn")},
        "cargo": lambda arguments: of_cargo(arguments, PROGRAMS["cargo"]),
        "chmod": of_chmod,
        "cp": of_copy,
        "curl": of_curl,
        "git": of_git,
        "go": of_go_run,
        "julia": of_julia,
        "kill": of_kill,
        "kubectl": of_kubernetes,
        "ln": of_link,
        "mv": of_move,
        "printenv": of_printenv,
        "mvn": of_maven,
        "npm": _npm,
        "perl": of_perl,
        "php": _php,
        "python": _python,
        "rsync": of_rsync,
        "Rscript": of_r,
        "ruby": of_ruby,
        "sbt": _sbt,
        "sysctl": of_sysctl,
        "uv": _uv,
        "uvx": _runner(),
        "wget": of_wget,
    }
)
"""Program → what decides where words say more than a row can."""
