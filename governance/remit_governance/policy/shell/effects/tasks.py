"""Judges for tasks that a project defines, such as `make` targets: they run the project's code, and only their names
tell whether they may reach further."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.rows import Effect, Program, strongest
from remit_governance.policy.shell.effects.program_row import Given, effect_in, in_every_reading, tells_unknown

_FAR_REACHING = frozenset(
    [
        *("apply", "delete", "deploy", "deployment", "destroy", "down", "drop", "erase", "flush", "install", "kill"),
        *("migrate", "nuke", "promote", "provision", "publish", "purge", "push", "release", "remove", "reset"),
        *("restore", "rm", "rollback", "rollout", "ship", "teardown", "truncate", "undeploy", "uninstall"),
        *("unpublish", "upload", "wipe"),
    ]
)
"""Words in a task's name that say that it may reach beyond the project, or destroy something for good."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TASK = re.compile(r"[\w.:/@+-]+")
_SETTING = re.compile(r"([A-Za-z_]\w*)[:?+]{0,2}=(.*)", re.DOTALL)
_PLAIN_VALUE = re.compile(r"[\w./:,+@%-]*(?: -[\w./:,+@%=-]+)*")

_BUILT_IN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "npm": frozenset(),
        "pnpm": frozenset(
            [
                *("add", "dlx", "deploy", "exec", "link", "import", "setup", "env", "store", "server", "patch"),
                *("patch-commit", "login", "logout", "create", "config", "set", "publish", "unlink"),
                *("approve-builds", "self-update", "init", "pack", "recursive", "owner", "c", "whoami", "token"),
                "profile",
            ]
        ),
        "yarn": frozenset(
            [
                *("add", "dlx", "npm", "exec", "create", "global", "link", "login", "logout", "config", "set"),
                *("plugin", "import", "up", "upgrade", "policies", "unplug", "patch", "patch-commit", "owner", "tag"),
                *("team", "publish", "self-update", "unlink", "access", "stage", "sdks"),
            ]
        ),
        "bun": frozenset(
            [
                *("add", "a", "x", "create", "c", "publish", "link", "upgrade", "repl", "patch", "pm", "exec"),
                *("update", "init"),
            ]
        ),
    }
)
"""Package manager → its own subcommands that no row allows; every other word is the name of a task."""


def of_task(name: str) -> Effect:
    """Returns the effect of a task of the project, by its name."""
    if not _TASK.fullmatch(name):
        return "unknown"
    if name.endswith((":status", ":check", ":dry-run", ":validate")):
        return "runs"
    return "unknown" if any(word.lower() in _FAR_REACHING for word in _WORD.findall(name)) else "runs"


def of_tasks(program: str, arguments: Sequence[str], table: Program) -> Effect:
    """Returns the effect of a package manager or a runner of tasks: what its row says, else what the names of the tasks
    say."""
    judge = _of_script if program in _BUILT_IN else _of_names
    said = effect_in(table, program, arguments)
    if said != (table.otherwise or "unknown") or tells_unknown(table, program, arguments):
        return said
    return in_every_reading(program, arguments, partial(judge, program))


def _of_names(program: str, given: Given) -> Effect:
    # A word `NAME=value` is no task. A task of sbt has its arguments in the same word.
    names = [word.split()[0] if program == "sbt" and word.strip() else word for word in given.operands]
    names = [name for name in names if not _SETTING.fullmatch(name)]
    return strongest(["runs", *map(of_task, names)])


def _of_script(program: str, given: Given) -> Effect:
    """Returns the effect of `npm run NAME`; the other managers also take the name alone."""
    names = given.operands
    if names[:1] == ("workspace",):
        names = names[2:]
    if names[:1] in (("run",), ("run-script",)) and len(names) > 1:
        return of_task(names[1])
    return of_task(names[0]) if program != "npm" and names and names[0] not in _BUILT_IN[program] else "unknown"


def of_make(arguments: Sequence[str]) -> Effect:
    """Returns the effect of `make TARGET NAME=value`, by its targets. It is `unknown` if a setting chooses the shell or
    has an odd value, or if rules come from outside the project."""
    for word in arguments:
        setting = _SETTING.fullmatch(word)
        if setting and (setting[1] in _SHELL_SETTINGS or not _PLAIN_VALUE.fullmatch(setting[2])):
            return "unknown"
    return in_every_reading("make", arguments, _of_make)


_SHELL_SETTINGS = frozenset({"SHELL", "MAKEFLAGS", "MAKE", ".SHELLFLAGS"})


def _of_make(given: Given) -> Effect:
    rules = [value for name, value in given.values if name in {"--file", "--makefile", "-f"}]
    if any(word.startswith(("--ev", "-E")) for word in given.raw) or any(
        value == "-" or value.startswith(("/", "..")) for value in rules
    ):
        return "unknown"
    # A dry run still runs what the project's rules always run.
    return "runs" if "--dry-run" in given.options else _of_names("make", given)


_GOALS = re.compile(
    r"(?:clean|validate|compile|test-compile|test|package|verify|integration-test|site|help|install"
    r"|(?:dependency|help|versions|spotless|checkstyle|spotbugs|pmd|surefire|failsafe|jacoco|formatter|enforcer):[\w:-]+"
    r"|spring-boot:run|quarkus:dev|exec:java|wrapper:wrapper|archetype:generate)"
)


def of_maven(arguments: Sequence[str]) -> Effect | None:
    """Returns `runs` for listed goals of Maven, and `unknown` for others such as `deploy`, which may reach anywhere."""
    return in_every_reading("mvn", arguments, _of_goals)


def _of_goals(given: Given) -> Effect:
    return "runs" if all(map(_GOALS.fullmatch, given.operands)) else "unknown"


def of_cargo(arguments: Sequence[str], table: Program) -> Effect | None:
    """Returns the effect of `cargo +nightly fmt` as that of `cargo fmt`, and the effect of `cargo watch -x` by the
    commands of cargo that it runs; None for most other calls."""
    if arguments[:1] in (("watch",), ["watch"]):
        inner = [*arguments[2::2]] if all(word == "-x" for word in arguments[1::2]) and len(arguments) % 2 else []
        return strongest([*(effect_in(table, "cargo", text.split()) for text in inner), "runs"]) if inner else None
    if arguments[:1] in (("fmt",), ["fmt"]) and "--" in arguments:
        return effect_in(table, "cargo", [word for word in arguments if word != "--"])
    return effect_in(table, "cargo", arguments[1:]) if arguments and re.fullmatch(r"\+[\w.-]+", arguments[0]) else None


def of_go_run(arguments: Sequence[str]) -> Effect | None:
    """Returns `fetches` for `go run host/x@latest`, which runs somebody else's code, and None for `go run ./cmd/x`,
    which runs the project, and for other subcommands."""
    if arguments[:1] not in (("run",), ["run"], ("install",), ["install"]):
        return None
    operands = [word for word in arguments[1:] if not word.startswith("-")]
    own = bool(operands) and (operands[0].startswith("./") or operands[0] == "." or operands[0].endswith(".go"))
    return None if own or (arguments[0] == "install" and not operands) else "fetches"


_TOOL = re.compile(r"([a-z][\w.-]*)(?:@[\w.^~-]+)?")
_SCOPED: Mapping[str, str] = MappingProxyType(
    {
        "@biomejs/biome": "biome",
        "@playwright/test": "playwright",
        "@angular/cli": "ng",
        "@swc/cli": "swc",
        "@stoplight/spectral-cli": "spectral",
    }
)


def of_tool_name(word: str) -> str | None:
    """Returns the program that a runner of tools is asked for (`eslint` for `eslint@9`), or None if it is no name."""
    if word in _SCOPED:
        return _SCOPED[word]
    found = _TOOL.fullmatch(word)
    return found[1] if found else None
